"""Whether a file lies on another machine: there, file locks may not hold."""

from __future__ import annotations

import os
import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_TYPES = frozenset(
    (
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "fuse",
        "gfs2",
        "glusterfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "prl_fs",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
        "vmhgfs",
    )
)
# Layers over local directories, as containers without privileges have them.
_LOCAL_FUSE = frozenset(("fuse.fuse-overlayfs", "fuse.lxcfs"))
_OCTAL = re.compile(r"\\([0-7]{3})")


def notices(path: Path) -> tuple[str, ...]:
    """Return what a person should know about the place of a database, a sentence each."""
    try:
        table = _MOUNTS.read_text("utf-8", "surrogateescape")
    except OSError:  # not Linux
        return ()
    kind = network_type(path, table)
    if kind is None:
        return ()
    return (
        f"{path} is on a network file system ({kind}): locks may not hold; choose a local disk.",
    )


def network_type(path: Path, table: str) -> str | None:
    """Return the type of the network file system that ``path`` lies on, None if on none.

    Args:
        path: absolute and without links.
        table: as ``/proc/self/mountinfo`` (proc(5)): a later mount hides an earlier one.
    """
    found, depth = "", -1
    for line in table.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = Path(os.fsdecode(_unescaped(fields[4])))
        if path.is_relative_to(point) and len(point.parts) >= depth:
            found, depth = after.split(" ")[0], len(point.parts)
    is_network = found in _TYPES or (found.startswith("fuse.") and found not in _LOCAL_FUSE)
    return found if is_network else None


def _unescaped(field: str) -> bytes:
    text = field.encode("utf-8", "surrogateescape").decode("latin-1")
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text).encode("latin-1")

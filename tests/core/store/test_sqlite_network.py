"""Whether a database lies on another machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.store import open_sqlite
from core.store.sqlite._network import network_type
from tests.core.store.builders import seal

MOUNTS = r"""
22 1 0:20 / / rw,relatime - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw shared:5 - proc proc rw
30 22 0:40 / /home rw,relatime shared:1 master:2 - nfs4 server:/home rw,vers=4.2
31 30 8:17 / /home/ada/local rw - xfs /dev/sdb1 rw
32 22 0:41 / /mnt/with\040space rw - cifs //server/share rw
33 22 0:42 / /mnt/ssh rw - fuse.sshfs ada@host: rw
34 22 0:43 / /mnt/layers rw - fuse.fuse-overlayfs fuse-overlayfs rw
35 22 0:44 / /mnt/stick rw - fuseblk /dev/sdc1 rw
36 22 0:45 / /mnt/twice rw - nfs server:/x rw
37 36 8:18 / /mnt/twice rw - ext4 /dev/sdd1 rw
38 22 0:46 / /mnt/host rw - 9p share rw
a line that is none
39 22 0:47 / /mnt/m\303\274ll rw - virtiofs share rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/x.db", None),
        ("/homes/x.db", None),
        ("/home/x.db", "nfs4"),
        ("/home/ada/x.db", "nfs4"),
        ("/home/ada/local/a/b/x.db", None),
        ("/mnt/with space/x.db", "cifs"),
        ("/mnt/ssh/x.db", "fuse.sshfs"),
        ("/mnt/layers/x.db", None),
        ("/mnt/stick/x.db", None),
        ("/mnt/twice/x.db", None),
        ("/mnt/host/x.db", "9p"),
        ("/mnt/müll/x.db", "virtiofs"),
    ],
)
def test_the_mount_that_a_path_lies_on_decides(path: str, kind: str | None) -> None:
    assert network_type(Path(path), MOUNTS) == kind


async def test_a_store_says_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "mountinfo"
    path = tmp_path / "x.db"
    monkeypatch.setattr("core.store.sqlite._network._MOUNTS", table)
    for kind in ("ext4", "nfs"):
        table.write_text(f"22 1 0:20 / {tmp_path} rw - {kind} server:/x rw\n")
        store = await open_sqlite(path, seal=seal)
        told = store.notices
        await store.close()
        assert bool(told) is (kind == "nfs")
    assert told == (
        f"{path} is on a network file system (nfs): locks may not hold; choose a local disk.",
    )
    table.unlink()
    store = await open_sqlite(path, seal=seal)
    assert store.notices == ()
    await store.close()

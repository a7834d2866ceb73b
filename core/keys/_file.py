"""The master key in a file of its owner's."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from core.config import config_folder
from core.errors import SecretUnavailable
from core.keys._master import KEY_BYTES, MasterKey

KEY_FILE_VARIABLE = "PLAYGROUND_KEY_FILE"
_MAX_FILE_BYTES = 1024


class FileKeyProvider:
    """Reads the master key from a file, which it can make.

    The file holds 32 bytes as 64 hex digits and belongs to its owner alone (mode 0600).
    It must not lie beside the database: whoever copies that folder would have both.

    Args:
        path: the file; by default what ``PLAYGROUND_KEY_FILE`` names, else
            ``stepbrake/master.key`` in the user's configuration directory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or _default_path()
        self._key: MasterKey | None = None

    def master_key(self, *, make: bool = False) -> MasterKey:
        """Return the master key; the file is read once.

        Args:
            make: make the key if there is no file.

        Raises:
            SecretUnavailable: there is no file and none may be made, it can be read by
                others, or it holds no key.
        """
        if self._key is None:
            key = self._read()
            if key is None and make:
                self._make()
                key = self._read()
            if key is None:
                raise self._unavailable(
                    "There is no master key",
                    f"Restore the file, or name the right one with {KEY_FILE_VARIABLE}: "
                    "without it secrets and the log's proof are lost.",
                )
            self._key = key
        return self._key

    def _read(self) -> MasterKey | None:
        try:
            # Non-blocking: a FIFO in the file's place must not hang the program.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unavailable(
                f"The master key file cannot be read: {error.strerror}", "Check its permissions."
            ) from None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise self._unavailable(
                    "The master key file is no regular file", "Name the right key file."
                )
            if status.st_mode & 0o077:
                raise self._unavailable(
                    "The master key file can be read by others", f"Run `chmod 600 {self.path}`."
                )
            data = os.read(descriptor, _MAX_FILE_BYTES)
        finally:
            os.close(descriptor)
        try:
            return MasterKey(bytes.fromhex(data.decode("ascii")))
        except ValueError:
            raise self._unavailable(
                "The master key file does not hold 64 hex digits",
                "Restore it from a backup; secrets are lost without it.",
            ) from None

    def _make(self) -> None:
        """Create the file whole or not at all; of two that race the first one stays."""
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(descriptor, "w", encoding="ascii") as file:
                    file.write(secrets.token_bytes(KEY_BYTES).hex() + "\n")
                    file.flush()
                    os.fsync(descriptor)
                os.link(temporary, self.path)
                _sync_directory(self.path.parent)
            except FileExistsError:
                return
            finally:
                temporary.unlink()
        except OSError as error:
            raise self._unavailable(
                f"The master key file cannot be made: {error.strerror}",
                f"Set {KEY_FILE_VARIABLE} to a place that can be written.",
            ) from None

    def _unavailable(self, what: str, hint: str) -> SecretUnavailable:
        return SecretUnavailable(what, where=str(self.path), hint=hint)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _default_path() -> Path:
    named = os.environ.get(KEY_FILE_VARIABLE)
    if named:
        return Path(named)
    return config_folder(KEY_FILE_VARIABLE) / "master.key"

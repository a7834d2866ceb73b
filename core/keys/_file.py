"""The master key in a file of its owner's."""

from __future__ import annotations

import os
from pathlib import Path

from core.config import config_folder
from core.keys._master import MasterKey
from core.keys._private_file import PrivateFile
from core.keys._ring import format_keys, key_called, parse_keys

KEY_FILE_VARIABLE = "PLAYGROUND_KEY_FILE"


class FileKeyProvider:
    """Reads the master key from a file, which it can make.

    The file holds 32 bytes as 64 hex digits and belongs to its owner alone (mode 0600);
    keys that were in use before stand below, for databases that still need them. It must
    not lie beside the database: whoever copies that folder would have both.

    Args:
        path: the file; None: what ``PLAYGROUND_KEY_FILE`` names, else ``default``.
        default: None: ``stepbrake/master.key`` in the user's configuration directory.
    """

    def __init__(self, path: Path | None = None, *, default: Path | None = None) -> None:
        named = os.environ.get(KEY_FILE_VARIABLE)
        self.path = path or (Path(named) if named else default or _default_path())
        self._file = PrivateFile(
            self.path, what="master key file", elsewhere=f"set {KEY_FILE_VARIABLE}"
        )
        self._keys: tuple[MasterKey, ...] = ()

    @property
    def place(self) -> str:
        """Return where the key is, for a person."""
        return str(self.path)

    @property
    def present(self) -> bool:
        """Return whether there is a key already."""
        return self.path.exists()

    def master_key(self, *, make: bool = False) -> MasterKey:
        """Return the key in use; the file is read once.

        Args:
            make: make the key if there is no file.

        Raises:
            SecretUnavailable: there is no file and none may be made, it can be read by
                others, or it holds no key.
        """
        if not self._keys:
            self._read()
        if not self._keys and make:
            self._file.create(format_keys((MasterKey.random(),)))
            self._read()
        return self._in_use()

    def find(self, key_id: str) -> MasterKey | None:
        """Return the key of this id; the file is read anew for one that is not known.

        Raises:
            SecretUnavailable: the file can be read by others, or it holds no key.
        """
        found = key_called(key_id, self._keys)
        if found is None:
            self._read()
            found = key_called(key_id, self._keys)
        return found

    def renew(self, key_id: str) -> MasterKey:
        """Return the key that follows ``key_id``; a new one goes on the file's first line.

        Raises:
            SecretUnavailable: there is no key, or the file cannot be written.
        """
        self.master_key()
        with self._file.locked():
            self._file.sweep()
            self._read()
            if self._in_use().key_id == key_id:
                keys = (MasterKey.random(), *self._keys)
                self._file.replace(format_keys(keys))
                self._keys = keys
        return self._in_use()

    def _in_use(self) -> MasterKey:
        if not self._keys:
            raise self._file.unavailable(
                "There is no master key",
                f"Restore the file, or name the right one with {KEY_FILE_VARIABLE}: "
                "without it secrets and the log's proof are lost.",
            )
        return self._keys[0]

    def _read(self) -> None:
        text = self._file.read()
        try:
            self._keys = () if text is None else parse_keys(text)
        except ValueError:
            raise self._file.unavailable(
                "The master key file does not hold 64 hex digits",
                "Restore it from a backup; secrets are lost without it.",
            ) from None


def _default_path() -> Path:
    return config_folder(KEY_FILE_VARIABLE) / "master.key"

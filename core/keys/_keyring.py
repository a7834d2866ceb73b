"""The master key in the operating system's keyring."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from core.config import config_folder
from core.errors import SecretUnavailable
from core.keys._master import MasterKey
from core.keys._private_file import PrivateFile
from core.keys._ring import format_keys, key_called, parse_keys

# A keyring may ask a person for a password, or a bus that never answers.
PATIENCE_S = 30.0

T = TypeVar("T")


class KeyringKeyProvider:
    """Keeps the master key in the keyring, through the package ``keyring`` (not required).

    Args:
        service: the entry's service.
        username: the entry's user name.
    """

    def __init__(self, service: str = "stepbrake", username: str = "master-key") -> None:
        self._service = service
        self._username = username
        self._keys: tuple[MasterKey, ...] = ()

    @property
    def place(self) -> str:
        """Return where the key is, for a person."""
        return f"keyring: {self._service}/{self._username}"

    @property
    def present(self) -> bool:
        """Return whether there is a key already.

        Raises:
            SecretUnavailable: the keyring is missing, locked or silent.
        """
        self._read()
        return bool(self._keys)

    def master_key(self, *, make: bool = False) -> MasterKey:
        """Return the key in use; the keyring is asked once.

        Args:
            make: make the key if there is no entry.

        Raises:
            SecretUnavailable: there is no entry and none may be made, it holds no key, or
                the keyring is missing, locked or silent.
        """
        if not self._keys:
            self._read()
        if not self._keys and make:
            with self._locked():
                self._read()
                if not self._keys:
                    self._write((MasterKey.random(),))
        return self._in_use()

    def find(self, key_id: str) -> MasterKey | None:
        """Return the key of this id; the keyring is asked anew for one that is not known.

        Raises:
            SecretUnavailable: as ``master_key``.
        """
        found = key_called(key_id, self._keys)
        if found is None:
            self._read()
            found = key_called(key_id, self._keys)
        return found

    def renew(self, key_id: str) -> MasterKey:
        """Return the key that follows ``key_id``.

        Raises:
            SecretUnavailable: as ``master_key``.
        """
        with self._locked():
            self._read()
            if self._in_use().key_id == key_id:
                self._write((MasterKey.random(), *self._keys))
        return self._in_use()

    def _in_use(self) -> MasterKey:
        if not self._keys:
            raise self._unavailable(
                "There is no master key in the keyring",
                "Restore the entry: without it secrets and the log's proof are lost.",
            )
        return self._keys[0]

    def _read(self) -> None:
        text = self._ask(lambda keyring: keyring.get_password(self._service, self._username))
        try:
            self._keys = () if text is None else parse_keys(text)
        except ValueError:
            raise self._unavailable(
                "The keyring's entry does not hold 64 hex digits",
                "Restore it; secrets are lost without it.",
            ) from None

    def _write(self, keys: tuple[MasterKey, ...]) -> None:
        text = format_keys(keys)
        self._ask(lambda keyring: keyring.set_password(self._service, self._username, text))
        self._read()
        if key_called(keys[0].key_id, self._keys) is None:
            raise self._unavailable(
                "The keyring did not keep the new key", "Check which keyring is in use."
            )

    def _locked(self) -> Any:
        """Return a lock: a keyring knows no compare-and-set."""
        folder = config_folder("XDG_CONFIG_HOME")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return PrivateFile(folder / "keyring", what="lock", elsewhere="set HOME").locked()

    def _ask(self, question: Callable[[Any], T]) -> T:
        answers: list[T] = []
        faults: list[str] = []

        def ask() -> None:
            try:
                answers.append(question(import_module("keyring")))
            except ImportError:
                faults.append("The package 'keyring' is not installed")
            except Exception as error:
                # Its text may come from a bus or a helper program: the class is enough.
                faults.append(f"The keyring refused ({type(error).__name__})")

        thread = threading.Thread(target=ask, name="keyring", daemon=True)
        thread.start()
        thread.join(PATIENCE_S)
        if answers:
            return answers[0]
        what = faults[0] if faults else f"The keyring was silent for {PATIENCE_S:.0f} s"
        raise self._unavailable(
            what,
            "`pip install keyring`, unlock it, or choose another provider in [keys].",
        )

    def _unavailable(self, what: str, hint: str) -> SecretUnavailable:
        return SecretUnavailable(what, code="secret_locked", where=self.place, hint=hint)

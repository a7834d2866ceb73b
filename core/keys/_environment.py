"""The master key in the environment."""

from __future__ import annotations

import os

from core.errors import SecretUnavailable
from core.keys._master import MasterKey
from core.keys._ring import key_called, parse_keys

MASTER_KEY_VARIABLE = "PLAYGROUND_MASTER_KEY"


class EnvironmentKeyProvider:
    """Takes the master key from ``PLAYGROUND_MASTER_KEY``: 64 hex digits.

    Keys that were in use before may follow it, separated by spaces or line breaks. Whoever
    sets the variable stores the keys; nothing is made or written here.
    """

    place = MASTER_KEY_VARIABLE

    @property
    def present(self) -> bool:
        """Return whether the variable is set."""
        return bool(os.environ.get(MASTER_KEY_VARIABLE))

    def master_key(self, *, make: bool = False) -> MasterKey:
        """Return the key in use.

        Raises:
            SecretUnavailable: the variable is not set, or holds no key.
        """
        return self._keys()[0]

    def find(self, key_id: str) -> MasterKey | None:
        """Return the key of this id, None if the variable does not hold it.

        Raises:
            SecretUnavailable: the variable is not set, or holds no key.
        """
        return key_called(key_id, self._keys())

    def renew(self, key_id: str) -> MasterKey:
        """Return the key in use if it is another than ``key_id``.

        Raises:
            SecretUnavailable: it is not: this provider cannot store a new one.
        """
        key = self.master_key()
        if key.key_id == key_id:
            raise _unavailable(
                "A new master key cannot be stored in the environment",
                "Put a new one before it, with a space between them, and run this again: "
                f'`export {MASTER_KEY_VARIABLE}="$(openssl rand -hex 32) '
                f'${MASTER_KEY_VARIABLE}"`.',
            )
        return key

    def _keys(self) -> tuple[MasterKey, ...]:
        text = os.environ.get(MASTER_KEY_VARIABLE, "")
        if not text.strip():
            raise _unavailable(
                "There is no master key in the environment",
                f"Set {MASTER_KEY_VARIABLE} to 64 hex digits, e.g. of `openssl rand -hex 32`.",
            )
        try:
            return parse_keys("\n".join(text.split()))
        except ValueError:
            raise _unavailable(
                "The master key in the environment has other than 64 hex digits",
                f"Set {MASTER_KEY_VARIABLE} to the key that was used before.",
            ) from None


def _unavailable(what: str, hint: str) -> SecretUnavailable:
    return SecretUnavailable(what, code="secret_locked", where=MASTER_KEY_VARIABLE, hint=hint)

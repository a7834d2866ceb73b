"""Which key seals the next row."""

from __future__ import annotations

import time

from core.errors import StepbrakeError
from core.model.audit import AuditEntry
from core.model.words import AuditAction
from core.store.protocol import Seal, Sealer

_ASK_AGAIN_S = 10.0
_PROBE = AuditEntry(at_us=0, action=AuditAction.AUDIT_OUTAGE, success=False, actor="store")


class Sealing:
    """This process's seal. Once it is made only the writer's thread uses it.

    Another process may rotate the key while this one lives: then this one asks for the new
    key, and again every ten seconds while it cannot be had.

    Args:
        sealer: gives the seals.
        database_id: the database.
        sealed_by: the key in use there, None for a log without rows.

    Attributes:
        key_id: the key of this process's seal.
    """

    def __init__(self, sealer: Sealer, database_id: str, sealed_by: str | None) -> None:
        self._sealer = sealer
        self._database_id = database_id
        self._seal = sealer(database_id, sealed_by)
        self.key_id = key_id_of(self._seal)
        self._offered: dict[str, Seal] = {}
        self._asked: dict[str, float] = {}

    def offer(self, seal: Seal) -> None:
        """Keep the seal of a new key; it is used once the log says that the key is in use."""
        self._offered[key_id_of(seal)] = seal

    def seal(self, key_id: str | None = None) -> Seal:
        """Return what seals the next row.

        Args:
            key_id: the key in use by the log, None if it does not say.
        """
        if key_id is not None and key_id != self.key_id:
            found = self._offered.get(key_id) or self._ask(key_id)
            if found is not None:
                self._seal, self.key_id = found, key_id
        return self._seal

    def _ask(self, key_id: str) -> Seal | None:
        now = time.monotonic()
        if now < self._asked.get(key_id, now):
            return None
        self._asked = {key_id: now + _ASK_AGAIN_S}
        try:
            seal = self._sealer(self._database_id, key_id)
        except (StepbrakeError, OSError):
            # Rows are verified by the key they name, so sealing goes on with the key we have:
            # a person's stop must not wait for a key.
            return None
        return seal if key_id_of(seal) == key_id else None


def key_id_of(seal: Seal) -> str:
    """Return which key a seal seals with."""
    return seal(None, 1, _PROBE).key_id

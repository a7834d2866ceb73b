"""The chain's key."""

from __future__ import annotations

from core.audit._chain import Chain
from core.keys import KeyProvider, MasterKey, derive
from core.store.protocol import Seal, Sealer

_LABEL = "stepbrake audit chain v1"


def open_chain(master: MasterKey, database_id: str) -> Chain:
    """Return the chain of one database's log; its key is derived and named by ``master``."""
    return Chain(derive(master, _LABEL, database_id), master.key_id, database_id)


def sealer(keys: KeyProvider) -> Sealer:
    """Return what seals a database's log; a key is made only for a log without rows."""

    def seal_for(database_id: str, sealed_by: str | None) -> Seal:
        return open_chain(keys.master_key(make=sealed_by is None), database_id).seal

    return seal_for

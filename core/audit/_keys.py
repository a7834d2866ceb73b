"""The chain's key."""

from __future__ import annotations

from collections.abc import Callable

from core.audit._chain import Chain
from core.keys import KeyProvider, MasterKey, derive
from core.store.protocol import Seal

_LABEL = "stepbrake audit chain v1"


def open_chain(master: MasterKey, database_id: str) -> Chain:
    """Return the chain of one database's log; its key is derived and named by ``master``."""
    return Chain(derive(master, _LABEL, database_id), master.key_id, database_id)


def sealer(keys: KeyProvider) -> Callable[[str], Seal]:
    """Return what makes the seal of a database's log from its id; the key is asked for then."""

    def seal_for(database_id: str) -> Seal:
        return open_chain(keys.master_key(), database_id).seal

    return seal_for

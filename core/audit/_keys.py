"""The chain's key."""

from __future__ import annotations

from core.audit._chain import Chain
from core.keys import MasterKey, derive

_LABEL = "stepbrake audit chain v1"


def open_chain(master: MasterKey, database_id: str) -> Chain:
    """Return the chain of one database's log; its key is derived and named by ``master``."""
    return Chain(derive(master, _LABEL, database_id), master.key_id, database_id)

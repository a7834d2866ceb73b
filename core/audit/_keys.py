"""The chain's keys: the one in use, and those that earlier master keys gave."""

from __future__ import annotations

from collections.abc import Sequence

from core.audit._chain import Chain, Mac
from core.errors import SecretUnavailable
from core.keys import KeyProvider, MasterKey, derive, unwrap_key, wrap_key
from core.model.secrets import ChainKeyRecord
from core.store.protocol import Seal, Sealer

_LABEL = "stepbrake audit chain v1"
_WRAP_LABEL = "stepbrake chain key wrapping key v1"
_TAG = b"stepbrake chain key v1\x00"


def open_chain(master: MasterKey, database_id: str) -> Chain:
    """Return the chain of one database's log; its key is derived and named by ``master``."""
    return Chain(derive(master, _LABEL, database_id), master.key_id, database_id)


def sealer(keys: KeyProvider) -> Sealer:
    """Return what seals a database's log, with the key that sealed it so far if it is there.

    A key is made only for a log without rows.
    """

    def seal_for(database_id: str, sealed_by: str | None) -> Seal:
        if sealed_by is None:
            return open_chain(keys.master_key(make=True), database_id).seal
        key = keys.find(sealed_by) or keys.master_key()
        return open_chain(key, database_id).seal

    return seal_for


def retire_key(before: MasterKey, after: MasterKey, database_id: str) -> ChainKeyRecord:
    """Return the chain key of ``before``, to be kept under ``after``."""
    return _wrap(derive(before, _LABEL, database_id), before.key_id, after, database_id)


def rewrap_key(
    record: ChainKeyRecord, before: MasterKey, after: MasterKey, database_id: str
) -> ChainKeyRecord:
    """Return a retired chain key under another master key.

    Raises:
        SecretUnavailable: with code ``secret_damaged``: it was changed, or ``before`` is not
            the key that it is under.
    """
    key = _unwrap(record, before, database_id)
    if key is None:
        raise SecretUnavailable(
            "A retired key of the audit log was changed outside the vault",
            code="secret_damaged",
            where=record.key_id,
            hint="Restore the database from a copy.",
        )
    return _wrap(key, record.key_id, after, database_id)


class ChainKeys:
    """The keys that rows of one log may name, found by their ids.

    Args:
        keys: where master keys are.
        database_id: the database.
        retired: its chain keys of earlier master keys.
    """

    def __init__(
        self, keys: KeyProvider, database_id: str, retired: Sequence[ChainKeyRecord] = ()
    ) -> None:
        self._keys = keys
        self._database_id = database_id
        self._retired = {record.key_id: record for record in retired}

    def mac(self, key_id: str) -> Mac | None:
        """Return what computes the macs of rows that name ``key_id``; None: no such key."""
        record = self._retired.get(key_id)
        if record is not None:
            master = self._keys.find(record.wrapped_by)
            key = None if master is None else _unwrap(record, master, self._database_id)
            if key is not None:
                return Mac(key)
        master = self._keys.find(key_id)
        return None if master is None else open_chain(master, self._database_id).mac


def _wrap(key: bytes, key_id: str, master: MasterKey, database_id: str) -> ChainKeyRecord:
    bound = _bound(key_id, master.key_id)
    return ChainKeyRecord(
        key_id=key_id,
        wrapped_by=master.key_id,
        wrapped_key=wrap_key(key, bound, master=master, label=_WRAP_LABEL, database_id=database_id),
    )


def _unwrap(record: ChainKeyRecord, master: MasterKey, database_id: str) -> bytes | None:
    try:
        return unwrap_key(
            record.wrapped_key,
            _bound(record.key_id, master.key_id),
            master=master,
            label=_WRAP_LABEL,
            database_id=database_id,
        )
    except (ValueError, TypeError, AttributeError):
        return None  # changed outside, or another master key


def _bound(key_id: str, wrapped_by: str) -> bytes:
    return _TAG + key_id.encode() + b"\x00" + wrapped_by.encode()

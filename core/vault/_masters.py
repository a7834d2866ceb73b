"""Master keys, asked for without holding up the loop."""

from __future__ import annotations

import asyncio

from core.errors import SecretUnavailable
from core.keys import KeyProvider, MasterKey
from core.store.protocol import AuditQuery
from core.vault._ports import SecretRows


class Masters:
    """The master keys that the secrets of one database are under.

    Args:
        keys: where they come from; it may block, so it is asked in a thread, and once.
        store: the database.
    """

    def __init__(self, keys: KeyProvider, store: SecretRows) -> None:
        self._keys = keys
        self._store = store
        self._known: dict[str, MasterKey] = {}

    async def find(self, key_id: str) -> MasterKey | None:
        """Return the key of this id, None if it is not there.

        Raises:
            SecretUnavailable: the keys may not be used as they are.
        """
        known = self._known.get(key_id)
        if known is None:
            known = await asyncio.to_thread(self._keys.find, key_id)
            if known is not None:
                self._known[key_id] = known
        return known

    async def of(self, key_id: str, where: str) -> MasterKey:
        """Return the key of this id.

        Args:
            key_id: the key.
            where: what is encrypted under it, for the error.

        Raises:
            SecretUnavailable: with code ``secret_locked``: it is not there.
        """
        key = await self.find(key_id)
        if key is None:
            raise SecretUnavailable(
                "The secret is encrypted under another master key",
                code="secret_locked",
                where=where,
                hint=f"Use the key file of key {key_id}, or set the secret again.",
            )
        return key

    async def in_use(self) -> MasterKey:
        """Return the key that new secrets go under.

        While a rotation is under way that is still the database's, not the newest one: so
        everything is under one key at any time.

        Raises:
            SecretUnavailable: there is no key.
        """
        key_id = await self.key_id_in_use()
        key = None if key_id is None else await self.find(key_id)
        return await asyncio.to_thread(self._keys.master_key) if key is None else key

    async def key_id_in_use(self) -> str | None:
        """Return which key the database is under; None: nothing is sealed yet."""
        for record in await self._store.chain_keys():
            return record.wrapped_by
        newest = await self._store.audit_page(AuditQuery(), limit=1)
        return newest[0].key_id if newest else None

    async def after(self, key_id: str) -> MasterKey:
        """Return the key that everything under ``key_id`` goes to.

        Raises:
            SecretUnavailable: there is none, or a new one cannot be stored.
        """
        return await asyncio.to_thread(self._keys.renew, key_id)

"""Putting a database under another master key: all of it or nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.audit import open_chain, retire_key, rewrap_key
from core.clock import Clock
from core.errors import SecretUnavailable, StoreUnavailable
from core.keys import MasterKey
from core.model.audit import AuditEntry
from core.model.secrets import SecretRecord
from core.model.words import AuditAction
from core.store.protocol import KeyRotation
from core.vault._envelope import rewrap, seal, unseal
from core.vault._masters import Masters
from core.vault._ports import SecretRows

_MOST_TRIES = 50


@dataclass(frozen=True, slots=True)
class Rotated:
    """What a rotation of the master key did.

    Attributes:
        key_id: the key that everything is under now.
        rewrapped: how many secrets were put under it.
    """

    key_id: str
    rewrapped: int


@dataclass(frozen=True, slots=True)
class Rotation:
    """One rotation of a database's master key.

    The new key is stored before anything uses it, and earlier keys stay where they are, so
    nothing is unreadable at any moment. One that was killed is gone on with by the next, with
    the key that is stored already.

    Attributes:
        store: the database.
        masters: the master keys.
        clock: says when.
        actor: who does it.
    """

    store: SecretRows
    masters: Masters
    clock: Clock
    actor: str

    async def run(self) -> Rotated:
        """Store a new master key, then put every secret and every chain key under it.

        Raises:
            SecretUnavailable: there is no master key, a new one cannot be stored, or
                something cannot be read with the key it is under; nothing was changed.
            StoreUnavailable: the store does not take writes now, or others do not stop
                changing secrets; the new key is stored, so run it again.
        """
        before = await self._key_before()
        after = await self.masters.after(before.key_id)
        for _ in range(_MOST_TRIES):
            rotation = await self._prepared(before, after)
            if rotation is not None and await self.store.rotate_key(rotation):
                return Rotated(after.key_id, len(rotation.secrets))
            in_use = await self._key_before()
            if in_use.key_id != before.key_id:
                return Rotated(in_use.key_id, 0)  # somebody else was faster
        raise StoreUnavailable(
            "Others do not stop changing secrets",
            where="rotate-key",
            hint="Run it again: it goes on with the new key.",
        )

    async def _key_before(self) -> MasterKey:
        """Return the key that everything is under."""
        key_id = await self.masters.key_id_in_use()
        if key_id is None:
            return await self.masters.in_use()
        key = await self.masters.find(key_id)
        if key is None:
            raise SecretUnavailable(
                "The master key that the database is under is not there",
                code="secret_locked",
                where=key_id,
                hint="Put it back beside the new one: earlier keys are needed until this is done.",
            )
        return key

    async def _prepared(self, before: MasterKey, after: MasterKey) -> KeyRotation | None:
        """Return what is to be stored; None if what was read is out of date."""
        retired, secrets = await self.store.chain_keys(), await self.store.list_secrets()
        if await self.masters.key_id_in_use() not in (None, before.key_id):
            return None  # somebody else's rotation came between: what was read is of two times
        strays = [record for record in secrets if record.key_id != before.key_id]
        for stray in strays:
            await self._bring_back(stray, before)
        if strays:
            return None
        database_id = self.store.database_id
        chain_keys = [
            rewrap_key(record, before, after, database_id)
            for record in retired
            if record.key_id != before.key_id
        ]
        return KeyRotation(
            before=before.key_id,
            secrets=tuple(rewrap(record, before, after, database_id) for record in secrets),
            chain_keys=(*chain_keys, retire_key(before, after, database_id)),
            entry=AuditEntry(
                at_us=self.clock.now_us(),
                action=AuditAction.MASTER_KEY_ROTATED,
                success=True,
                actor=self.actor,
                message="Everything was put under a new master key",
            ),
            seal=open_chain(after, database_id).seal,
        )

    async def _bring_back(self, stray: SecretRecord, before: MasterKey) -> None:
        """Put a secret under the database's key that a writer put under another meanwhile."""
        master = await self.masters.of(stray.key_id, stray.name)
        database_id = self.store.database_id
        value = unseal(stray, master, database_id)
        now = self.clock.now_us()
        newer = replace(stray, version=stray.version + 1, updated_us=now)
        entry = AuditEntry(
            at_us=now,
            action=AuditAction.SECRET_UPDATED,
            success=True,
            credential=stray.name,
            actor=self.actor,
            message="Put under the database's master key",
        )
        # Where somebody is faster there is a newer version, which is looked at next.
        await self.store.put_secret(seal(newer, value.reveal(), before, database_id), entry)

"""The vault: what can be done with secrets."""

from __future__ import annotations

from typing import Protocol

from core.clock import Clock
from core.config import (
    AllowList,
    is_header_name,
    is_header_value,
    is_reserved_header,
    is_secret_name,
)
from core.errors import SecretUnavailable, UsageError
from core.keys import KeyProvider
from core.model.audit import AuditEntry
from core.model.secrets import SecretRecord
from core.model.words import AuditAction
from core.vault._envelope import seal, unseal
from core.vault._secret import Credential, Secret, SecretInfo

_MAX_VALUE = 16_384


class SecretRows(Protocol):
    """The part of a store that the vault needs."""

    @property
    def database_id(self) -> str:
        """Return the id that the database got when it was made."""

    async def put_secret(self, record: SecretRecord, entry: AuditEntry) -> bool:
        """Insert a secret, or replace its version before, with its audit row.

        False (and no row) if another version is there.
        """

    async def get_secret(self, name: str) -> SecretRecord | None:
        """Return one secret, None if there is none."""

    async def list_secrets(self) -> list[SecretRecord]:
        """Return all secrets by name."""

    async def delete_secret(self, name: str, entry: AuditEntry) -> bool:
        """Delete a secret, with its audit row; False (and no row) if there is none."""


class Vault:
    """Secrets by name.

    Every change writes its audit row in the same transaction: neither is there without
    the other. A value is decrypted only by ``read``.

    Args:
        store: where the encrypted records lie.
        keys: gives the master key, asked for when a value is written or read.
        clock: says when.
    """

    def __init__(self, store: SecretRows, keys: KeyProvider, clock: Clock) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        self._known: dict[str, Credential] = {}

    async def set(
        self,
        name: str,
        value: str,
        *,
        hosts: tuple[str, ...] = (),
        header: str | None = None,
        actor: str,
    ) -> bool:
        """Store a secret, replacing what the name held: value, placement and hosts.

        Args:
            name: ``[a-z0-9][a-z0-9._-]{0,63}``.
            value: 1 to 16,384 characters that a header can carry: printable ASCII.
            hosts: allow entries it is bound to; none: no list.
            header: the header that carries the bare value; None: ``Authorization: Bearer``.
            actor: who does it.

        Returns:
            True if the name is new.

        Raises:
            UsageError: name, value, host or header is invalid; nothing was written.
            SecretUnavailable: there is no master key.
            StoreUnavailable: the store does not take writes now.
        """
        _check(name, value, hosts, header)
        while True:
            known = await self._store.get_secret(name)
            now = self._clock.now_us()
            record = SecretRecord(
                name=name,
                version=known.version + 1 if known else 1,
                placement="bearer" if header is None else "header",
                field="Authorization" if header is None else header,
                hosts=tuple(host.lower() for host in hosts),
                key_id="",
                wrapped_key=b"",
                nonce=b"",
                ciphertext=b"",
                created_us=known.created_us if known else now,
                updated_us=now,
            )
            record = seal(record, value, self._keys.master_key(), self._store.database_id)
            action = AuditAction.SECRET_UPDATED if known else AuditAction.SECRET_CREATED
            if await self._store.put_secret(record, self._entry(action, name, actor)):
                self._known[name] = _credential(record)
                return known is None
            # Somebody else was faster: what is there now has another version.

    async def read(self, name: str) -> Secret:
        """Return a secret's value for injection; that leaves no audit row of its own.

        Raises:
            SecretUnavailable: there is no such secret, or it cannot be decrypted.
        """
        record = await self._get(name)
        return unseal(record, self._keys.master_key(), self._store.database_id)

    async def credential(self, name: str) -> Credential:
        """Return how a secret is used; its value is not decrypted.

        Raises:
            SecretUnavailable: there is no such secret.
        """
        self._known[name] = found = _credential(await self._get(name))
        return found

    def known(self, name: str) -> Credential:
        """Return how a secret is used, from what this vault last read or wrote; no I/O.

        Raises:
            SecretUnavailable: it has seen no such secret.
        """
        if name not in self._known:
            raise _missing(name)
        return self._known[name]

    async def delete(self, name: str, *, actor: str) -> bool:
        """Delete a secret; False if there is none.

        Raises:
            StoreUnavailable: the store does not take writes now.
        """
        entry = self._entry(AuditAction.SECRET_DELETED, name, actor)
        deleted = await self._store.delete_secret(name, entry)
        self._known.pop(name, None)
        return deleted

    async def list(self) -> tuple[SecretInfo, ...]:
        """Return what is known about all secrets, by name; nothing is decrypted."""
        records = await self._store.list_secrets()
        self._known = {record.name: _credential(record) for record in records}
        return tuple(
            SecretInfo(
                credential=_credential(record),
                version=record.version,
                created_us=record.created_us,
                updated_us=record.updated_us,
            )
            for record in records
        )

    async def _get(self, name: str) -> SecretRecord:
        record = await self._store.get_secret(name)
        if record is None:
            raise _missing(name)
        return record

    def _entry(self, action: AuditAction, name: str, actor: str) -> AuditEntry:
        return AuditEntry(
            at_us=self._clock.now_us(), action=action, success=True, credential=name, actor=actor
        )


def _missing(name: str) -> SecretUnavailable:
    return SecretUnavailable(
        "There is no such secret", where=name, hint=f"Run `playground secret set {name}`."
    )


def _credential(record: SecretRecord) -> Credential:
    return Credential(record.name, record.placement, record.field, record.hosts)


def _check(name: str, value: str, hosts: tuple[str, ...], header: str | None) -> None:
    if not is_secret_name(name):
        raise UsageError(
            "A secret's name has 1 to 64 of a-z, 0-9, '.', '_', '-', and starts with a letter "
            "or digit",
            where="name",
        )
    if not value.strip() or len(value) > _MAX_VALUE:
        raise UsageError(
            "A secret's value has 1 to 16,384 characters, not all of them blank", where=name
        )
    if "\t" in value or not is_header_value(value):
        raise UsageError(
            "A secret's value holds line breaks, control characters or others that are not ASCII",
            where=name,
            hint="It travels in a header.",
        )
    if header is not None and not is_header_name(header):
        raise UsageError("This is not a header's name", where=header)
    if header is not None and is_reserved_header(header):
        raise UsageError(
            "This header is the client's own",
            where=header,
            hint="Name the header that the server expects the secret in.",
        )
    AllowList.of(hosts)

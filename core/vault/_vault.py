"""The vault: what can be done with secrets."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from core.clock import Clock
from core.config import DEFAULT_FIELDS, AllowList, Placement
from core.errors import ConfigError, SecretUnavailable, UsageError
from core.keys import KeyProvider
from core.model.audit import AuditEntry
from core.model.secrets import SecretRecord
from core.model.words import AuditAction
from core.text import KnownSecrets
from core.vault._envelope import seal, unseal
from core.vault._masters import Masters
from core.vault._ports import SecretRows
from core.vault._rotation import Rotated, Rotation
from core.vault._secret import Credential, Secret, SecretInfo
from core.vault._values import check_name, check_place, check_rest, check_value


class Vault:
    """Secrets by name.

    Every change writes its audit row in the same transaction: neither is there without
    the other. A value is decrypted only to be injected (``read``), for somebody who is
    named in the log (``get``), and to be encrypted anew.

    Args:
        store: where the encrypted records lie.
        keys: gives the master keys, asked for when a value is written or read.
        clock: says when.
        known: learns every value that is written or read, to mask it wherever it turns up.
    """

    def __init__(
        self,
        store: SecretRows,
        keys: KeyProvider,
        clock: Clock,
        known: KnownSecrets | None = None,
    ) -> None:
        self._values = known or KnownSecrets()
        self._store = store
        self._masters = Masters(keys, store)
        self._clock = clock
        self._known: dict[str, Credential] = {}

    async def set(
        self,
        name: str,
        value: str,
        *,
        hosts: tuple[str, ...] = (),
        header: str | None = None,
        placement: Placement | None = None,
        field: str | None = None,
        expires_us: int | None = None,
        description: str = "",
        actor: str,
    ) -> bool:
        """Store a secret, replacing all that the name held.

        Args:
            name: ``[a-z0-9][a-z0-9._-]{0,63}``.
            value: 1 to 16,384 characters: printable ASCII where it travels in a header,
                else any printable text.
            hosts: allow entries it is bound to; none: no list.
            header: the header that carries the bare value: short for placement ``header``
                with that field.
            placement: how it travels; None: ``bearer``.
            field: the header, query parameter or body field; None: the placement's own.
            expires_us: UTC microseconds from which on it is refused, None: never.
            description: a line for a person.
            actor: who does it.

        Returns:
            True if the name is new.

        Raises:
            UsageError: an argument is invalid; nothing was written.
            SecretUnavailable: there is no master key.
            StoreUnavailable: the store does not take writes now.
        """
        placement, field = _place(header, placement, field)
        check_name(name)
        check_place(placement, field)
        check_value(name, value, placement)
        check_rest(hosts, expires_us, description)
        self._learn(value, placement)
        while True:
            known = await self._store.get_secret(name)
            now = self._clock.now_us()
            record = SecretRecord(
                name=name,
                version=known.version + 1 if known else 1,
                placement=placement,
                field=field,
                hosts=tuple(host.lower() for host in hosts),
                expires_us=expires_us,
                description=description,
                key_id="",
                wrapped_key=b"",
                nonce=b"",
                ciphertext=b"",
                created_us=known.created_us if known else now,
                updated_us=now,
            )
            action = AuditAction.SECRET_UPDATED if known else AuditAction.SECRET_CREATED
            if await self._put(record, value, self._entry(action, name, actor)):
                return known is None
            # Somebody else was faster: what is there now has another version.

    async def rotate(self, name: str, value: str, *, actor: str) -> int:
        """Give a secret a new value; all else that is known of it stays.

        Returns:
            The new version.

        Raises:
            UsageError: the value cannot travel as the secret does; nothing was written.
            SecretUnavailable: there is no such secret, or no master key.
            StoreUnavailable: the store does not take writes now.
        """
        while True:
            known = await self._get(name)
            check_value(name, value, known.placement)
            self._learn(value, known.placement)
            record = replace(known, version=known.version + 1, updated_us=self._clock.now_us())
            entry = self._entry(AuditAction.SECRET_ROTATED, name, actor)
            if await self._put(record, value, entry):
                return record.version

    async def read(self, name: str, *, host: str, port: int) -> Secret:
        """Return a secret's value for injection; that leaves no audit row of its own.

        Args:
            name: the secret.
            host: where it is about to be sent, in its canonical spelling.
            port: the port there.

        Raises:
            SecretUnavailable: see its ``code``; unless that is ``secret_locked`` or
                ``secret_damaged``, nothing was decrypted.
        """
        record = await self._get(name)
        self._check_expiry(record)
        _check_host(record, host, port)
        return await self._unseal(record)

    async def get(self, name: str, *, actor: str) -> Secret:
        """Return a secret's value to a person or a program, who is named in the log first.

        Raises:
            SecretUnavailable: see its ``code``.
            AuditUnavailable: the log cannot say that it was read, so it is not.
        """
        record = await self._get(name)
        try:
            self._check_expiry(record)
            secret = await self._unseal(record)
        except SecretUnavailable as error:
            entry = self._entry(AuditAction.SECRET_READ, name, actor)
            await self._store.append_audit(replace(entry, success=False, message=error.what))
            raise
        await self._store.append_audit(self._entry(AuditAction.SECRET_READ, name, actor))
        return secret

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
                description=record.description,
                created_us=record.created_us,
                updated_us=record.updated_us,
            )
            for record in records
        )

    async def unlock(self) -> None:
        """Ask for the master keys that secrets are under, so that no call waits for them.

        A key that cannot be had is no error here; reading what is under it is.
        """
        for key_id in {record.key_id for record in await self._store.list_secrets()}:
            with suppress(SecretUnavailable):
                await self._masters.find(key_id)

    async def rotate_key(self, *, actor: str) -> Rotated:
        """Put everything under a new master key; killed halfway, the next one goes on.

        Raises:
            SecretUnavailable: there is no master key, a new one cannot be stored, or
                something cannot be read; nothing was changed.
            StoreUnavailable: the store does not take writes now; run it again.
        """
        return await Rotation(
            self._store, self._masters, self._clock, self._values.mask(actor)
        ).run()

    async def key_in_use(self) -> str | None:
        """Return the id of the master key that the database is under; None: none yet."""
        return await self._masters.key_id_in_use()

    async def _put(self, record: SecretRecord, value: str, entry: AuditEntry) -> bool:
        master = await self._masters.in_use()
        record = seal(record, value, master, self._store.database_id)
        stored = await self._store.put_secret(record, entry)
        if stored:
            self._known[record.name] = _credential(record)
        return stored

    async def _get(self, name: str) -> SecretRecord:
        record = await self._store.get_secret(name)
        if record is None:
            raise _missing(name)
        return record

    async def _unseal(self, record: SecretRecord) -> Secret:
        master = await self._masters.of(record.key_id, record.name)
        secret = unseal(record, master, self._store.database_id)
        self._learn(secret.reveal(), record.placement)
        return secret

    def _learn(self, value: str, placement: str) -> None:
        self._values.add(value)
        if placement == "basic":
            # A server may tell the password without the user.
            self._values.add(value.partition(":")[2])

    def _check_expiry(self, record: SecretRecord) -> None:
        if record.expires_us is not None and self._clock.now_us() >= record.expires_us:
            raise SecretUnavailable(
                "The secret has expired",
                code="secret_expired",
                where=record.name,
                hint=f"Run `playground secret set {record.name}` with a new one.",
            )

    def _entry(self, action: AuditAction, name: str, actor: str) -> AuditEntry:
        return AuditEntry(
            at_us=self._clock.now_us(),
            action=action,
            success=True,
            credential=name,
            actor=self._values.mask(actor),
        )


def _place(
    header: str | None, placement: Placement | None, field: str | None
) -> tuple[Placement, str]:
    if header is not None:
        if field is not None or placement not in (None, "header"):
            raise UsageError("A header and another place cannot both be named", where=header)
        return "header", header
    placement = placement or "bearer"
    if placement not in (*DEFAULT_FIELDS, "header"):
        raise UsageError("There is no such placement", where="placement")
    field = DEFAULT_FIELDS.get(placement, "") if field is None else field
    return placement, field


def _check_host(record: SecretRecord, host: str, port: int) -> None:
    try:
        admitted = AllowList.of(record.hosts).admits(host, port)
    except ConfigError:
        admitted = False  # altered outside the vault: it goes nowhere
    if not admitted:
        raise SecretUnavailable(
            "The secret is not bound to this host",
            code="secret_not_for_host",
            where=record.name,
            hint=f"Run `playground secret set {record.name}` with --host to bind it anew.",
        )


def _missing(name: str) -> SecretUnavailable:
    return SecretUnavailable(
        "There is no such secret",
        code="secret_missing",
        where=name,
        hint=f"Run `playground secret set {name}`.",
    )


def _credential(record: SecretRecord) -> Credential:
    return Credential(
        record.name, record.placement, record.field, record.hosts, expires_us=record.expires_us
    )

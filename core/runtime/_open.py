"""Puts a runtime together, and takes it apart in the right order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from core.clock import Clock, SystemClock
from core.config import Config, load_config
from core.ids import Ids, RandomIds
from core.keys import FileKeyProvider, KeyProvider
from core.runtime._facade import Runtime, current_user
from core.runtime._planning import Parts
from core.tools.base import Tool

if TYPE_CHECKING:
    from core.http import Resolver, Transport
    from core.providers import Provider
    from core.store.protocol import Store


@asynccontextmanager
async def open_runtime(
    store: str | Path,
    *,
    tools: Iterable[Tool] = (),
    config: Config | str | Path | None = None,
) -> AsyncIterator[Runtime]:
    """Open a runtime on a database; leaving the block ends the runs it drives.

    Args:
        store: the database's path; it is made if there is none.
        tools: offered beside the built-in ones.
        config: a configuration, or its file; None: the environment's or the user's file.

    Raises:
        StoreError: the database cannot be used.
        ConfigError: the configuration is invalid.
        SecretUnavailable: there is no usable master key.
    """
    from core.audit import sealer
    from core.store import database_file, open_sqlite

    keys = FileKeyProvider()
    if not isinstance(config, Config):
        config = load_config(config)
    clock = SystemClock()
    path = database_file(store)
    opened = await open_sqlite(path, seal=sealer(keys), clock=clock)
    async with assemble(
        opened, keys=keys, tools=tools, config=config, clock=clock, path=path
    ) as runtime:
        yield runtime


@asynccontextmanager
async def assemble(
    store: Store,
    *,
    keys: KeyProvider,
    tools: Iterable[Tool] = (),
    config: Config | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
    path: Path | None = None,
    transport: Transport | None = None,
    resolver: Resolver | None = None,
    providers: Mapping[str, Provider] | None = None,
) -> AsyncIterator[Runtime]:
    """Wire a runtime around an open store, which it closes.

    The seams are here: tests pass their own store, clock, ids, transport and providers.
    """
    from core.audit import AuditLog, Verification, verify
    from core.http import AddressPolicy, CurlTransport, ThreadResolver, VaultHttpClient
    from core.runtime._audit import AuditTap, AuditView
    from core.runtime._demo import Demo
    from core.runtime._models import ModelDirectory
    from core.tools import builtin_tools
    from core.vault import Vault

    clock = clock or SystemClock()
    ids = ids or RandomIds()
    config = config or Config()

    def verify_all() -> Verification:
        if path is None:
            raise AssertionError("only a store on disk can be verified")
        return verify(path, keys.master_key())

    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        vault = Vault(store, keys, clock)
        await vault.list()
        view = AuditView(store, verify_all)
        policy = AddressPolicy()
        curl: CurlTransport | None = None
        if transport is None:
            transport = curl = CurlTransport(policy=policy)
        client = VaultHttpClient(
            transport=transport,
            resolver=resolver or ThreadResolver(),
            policy=policy,
            audit=AuditTap(AuditLog(store), view),
            secrets=vault,
            clock=clock,
            ids=ids,
        )
        # Closing the transport ends calls, and each of them still has its row to write.
        stack.push_async_callback(client.drain)
        if curl is not None:
            stack.callback(curl.close)
        demo = Demo(vault, current_user())
        runtime = Runtime(
            Parts(
                store=store,
                clock=clock,
                ids=ids,
                vault=vault,
                demo=demo,
                models=ModelDirectory(config, vault, demo, clock, providers or {}),
                tools=(*builtin_tools(), *tools),
                http=client,
                audit=view,
                notices=_notices(store),
            )
        )
        stack.push_async_callback(runtime.close)
        await runtime.open()
        yield runtime


def _notices(store: Store) -> tuple[str, ...]:
    if store.read_only:
        return ("This database was made by a later version: it is open for reading only.",)
    return ()

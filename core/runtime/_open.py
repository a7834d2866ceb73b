"""Puts a runtime together, and takes it apart in the right order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from core.clock import Clock, SystemClock
from core.config import Config, load_config
from core.ids import Ids, RandomIds
from core.keys import KeyProvider
from core.runtime._facade import Runtime, current_user
from core.runtime._keys import key_provider
from core.runtime._planning import Parts
from core.text import KnownSecrets
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
    keys: KeyProvider | None = None,
    known: KnownSecrets | None = None,
) -> AsyncIterator[Runtime]:
    """Open a runtime on a database; leaving the block ends the runs it drives.

    Args:
        store: the database's path; it is made if there is none.
        tools: offered beside the built-in ones.
        config: a configuration, or its file; None: the environment's or the user's file.
        keys: where the master key comes from; None: what the configuration names.
        known: learns the secrets that the runtime reads or writes, so that the caller can
            mask them too; None: the runtime keeps its own.

    Raises:
        StoreError: the database cannot be used.
        ConfigError: the configuration is invalid.
        SecretUnavailable: there is no usable master key.
    """
    from core.audit import sealer
    from core.store import database_file, open_sqlite

    if not isinstance(config, Config):
        config = load_config(config)
    if keys is None:
        keys = key_provider(config)
    clock = SystemClock()
    path = database_file(store)
    opened = await open_sqlite(path, seal=sealer(keys), clock=clock)
    async with assemble(
        opened, keys=keys, tools=tools, config=config, clock=clock, path=path, known=known
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
    known: KnownSecrets | None = None,
) -> AsyncIterator[Runtime]:
    """Wire a runtime around an open store, which it closes.

    The seams are here: tests pass their own store, clock, ids, transport and providers.
    """
    from core.audit import AuditLog, Verification, verify_log
    from core.http import AddressPolicy, CurlTransport, ThreadResolver, VaultHttpClient
    from core.runtime._audit import AuditView
    from core.runtime._demo import Demo
    from core.runtime._models import ModelDirectory
    from core.tools import ToolSet, builtin_tools
    from core.vault import Vault

    clock = clock or SystemClock()
    ids = ids or RandomIds()
    config = config or Config()
    known = known or KnownSecrets()

    def verify_all() -> Verification:
        if path is None:
            raise AssertionError("only a store on disk can be verified")
        return verify_log(path, keys)

    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        vault = Vault(store, keys, clock, known)
        await vault.list()
        await vault.unlock()
        view = AuditView(store, verify_all)
        policy = AddressPolicy()
        curl: CurlTransport | None = None
        if transport is None:
            transport = curl = CurlTransport(policy=policy)
        client = VaultHttpClient(
            transport=transport,
            resolver=resolver or ThreadResolver(),
            policy=policy,
            audit=AuditLog(store, known.mask),
            secrets=vault,
            clock=clock,
            ids=ids,
            known=known,
        )
        # Closing the transport ends calls, and each of them still has its row to write.
        stack.push_async_callback(client.drain)
        if curl is not None:
            stack.callback(curl.close)
        demo = Demo(vault, current_user())
        builtin, tools = builtin_tools(), tuple(tools)
        ToolSet((*builtin, *tools), ())  # Two of a name are found now, not at the first run.
        runtime = Runtime(
            Parts(
                store=store,
                clock=clock,
                ids=ids,
                vault=vault,
                demo=demo,
                models=ModelDirectory(
                    config, vault, demo, clock, providers=providers or {}, mask=known.mask
                ),
                builtin=builtin,
                tools=(*builtin, *tools),
                http=client,
                audit=view,
                known=known,
                notices=store.notices,
            )
        )
        stack.push_async_callback(runtime.close)
        await runtime.open()
        yield runtime

"""What a command works with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from core.cli._globals import Globals
from core.cli._output import Output
from core.text import KnownSecrets

if TYPE_CHECKING:
    from core.runtime import OwnKeyProvider, Runtime


@dataclass(frozen=True, slots=True)
class Session:
    """One command line being run."""

    options: Globals
    out: Output
    known: KnownSecrets = field(default_factory=KnownSecrets)

    @property
    def database(self) -> str:
        """Return the store to use.

        Raises:
            StoreError: it is a URL, or no path.
        """
        from core.config import database_path
        from core.store import database_file

        return str(database_file(database_path(self.options.db)))

    def keys(self) -> OwnKeyProvider:
        """Return where the master key comes from.

        Raises:
            ConfigError: the configuration is invalid.
        """
        from core.config import load_config
        from core.runtime import key_provider

        return key_provider(load_config(self.options.config))

    @asynccontextmanager
    async def runtime(self) -> AsyncIterator[Runtime]:
        """Open the runtime, and tell the person what it has to say."""
        from core.runtime import open_runtime

        async with open_runtime(
            self.database, config=self.options.config, known=self.known
        ) as runtime:
            for notice in runtime.notices:
                self.out.note(f"note: {notice}")
            yield runtime


def session(context: typer.Context) -> Session:
    """Return the session that a command belongs to."""
    found = context.obj
    if not isinstance(found, Session):
        raise TypeError("a command needs the session of its command line")
    return found

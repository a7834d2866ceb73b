"""What ``doctor`` looks at. A check reports; it neither raises nor changes anything."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from core.cli._session import Session
from core.errors import StepbrakeError

if TYPE_CHECKING:
    from core.keys import KeyProvider
    from core.store import SqliteStore
    from core.vault import SecretInfo

OK: Literal["ok"] = "ok"
WARN: Literal["warn"] = "warn"
FAIL: Literal["fail"] = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding.

    Attributes:
        check: what was looked at.
        status: ``ok``, ``warn`` or ``fail``.
        detail: what was seen.
        hint: what to do about it, empty if nothing.
    """

    check: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    hint: str = ""


def run_checks(current: Session) -> Iterator[Check]:
    """Yield every finding, each as soon as it is known."""
    checks: dict[str, Callable[[Session], Check]] = {
        "python": _python,
        "sqlite": _sqlite,
        "libcurl": _libcurl,
        "config": _config,
        "key": _key,
        "database": _database,
        "secrets": _secrets,
        "audit": _audit,
        "demo": _demo,
        "terminal": _terminal,
        "locale": _locale,
    }
    for name, check in checks.items():
        try:
            yield check(current)
        except StepbrakeError as error:
            where = f" ({error.where})" if error.where else ""
            yield Check(name, FAIL, f"{error.what}{where}", error.hint)
        except ImportError as error:
            yield Check(name, FAIL, f"{error.name} cannot be imported", "Install it again.")
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            yield Check(name, FAIL, f"{place}{error.strerror or 'system error'}")


def _python(_: Session) -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("python", OK, f"{version} ({sys.executable})")


def _sqlite(_: Session) -> Check:
    from core.store.sqlite import driver_fixed, driver_note

    if driver_fixed():
        return Check("sqlite", OK, driver_note())
    return Check("sqlite", WARN, driver_note(), "`pip install pysqlite3` brings a fixed one.")


def _libcurl(_: Session) -> Check:
    import pycurl

    from core.http import CurlTransport

    CurlTransport().close()
    facts = pycurl.version_info()
    return Check("libcurl", OK, f"{facts[1]}, {facts[5]}")


def _config(current: Session) -> Check:
    from core.config import load_config

    config = load_config(current.options.config)
    if config.path is None:
        return Check("config", OK, "no file: the demo is all there is")
    models = ", ".join(config.models) or "no models"
    return Check("config", OK, f"{config.path}: {models}")


def _key(current: Session) -> Check:
    from core.config import database_path
    from core.keys import EnvironmentKeyProvider

    keys = current.keys()
    path: Path | None = getattr(keys, "path", None)
    if keys.present or isinstance(keys, EnvironmentKeyProvider):
        mode = "" if path is None else ", mode 0600"
        detail = f"{keys.place}: key {keys.master_key().key_id}{mode}"
    else:
        detail = f"{keys.place}: made on first use"
    database = Path(database_path(current.options.db))
    if path is not None and path.resolve().parent == database.resolve().parent:
        hint = "Whoever copies the database's folder has both: set PLAYGROUND_KEY_FILE."
        return Check("key", WARN, f"{detail}, beside the database", hint)
    return Check("key", OK, detail)


def _database(current: Session) -> Check:
    path = Path(current.database)
    if not path.exists():
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            detail = f"{path}: no file can be made in {folder}"
            return Check("database", FAIL, detail, "Choose another place with --db.")
        return Check("database", OK, f"{path}: made on first use")
    found, notices = asyncio.run(_quick_check(path, current.keys()))
    if found:
        return Check(
            "database", FAIL, f"{path}: {'; '.join(found)}", "Restore the database from a copy."
        )
    if notices:
        return Check("database", WARN, f"{path}: intact", " ".join(notices))
    return Check("database", OK, f"{path}: intact")


async def _quick_check(path: Path, keys: KeyProvider) -> tuple[list[str], tuple[str, ...]]:
    async with _store(path, keys) as store:
        return await store.check(), store.notices


@asynccontextmanager
async def _store(path: Path, keys: KeyProvider) -> AsyncIterator[SqliteStore]:
    """Open the database; unlike elsewhere no key is made."""
    from core.audit import open_chain
    from core.store import Seal, open_sqlite

    def seal_for(database_id: str, sealed_by: str | None) -> Seal:
        key = None if sealed_by is None else keys.find(sealed_by)
        return open_chain(key or keys.master_key(), database_id).seal

    store = await open_sqlite(path, seal=seal_for)
    try:
        yield store
    finally:
        await store.close()


def _secrets(current: Session) -> Check:
    from core.clock import SystemClock

    path, keys = Path(current.database), current.keys()
    if not path.exists():
        return Check("secrets", OK, "none yet")
    secrets, sealed_by = asyncio.run(_vault_facts(path, keys))
    in_use = keys.master_key().key_id
    if sealed_by not in (None, in_use):
        detail = f"under key {sealed_by}, the one in use is {in_use}"
        return Check("secrets", WARN, detail, "Run `playground secret rotate-key` to finish.")
    now_us = SystemClock().now_us()
    ends = {info.credential.name: info.credential.expires_us for info in secrets}
    expired = [name for name, end in ends.items() if end is not None and end <= now_us]
    if expired:
        detail = f"{len(expired)} of {len(ends)} expired: {', '.join(expired)}"
        return Check("secrets", WARN, detail, "`playground secret set` with new values.")
    return Check("secrets", OK, f"{len(ends)}, none expired")


async def _vault_facts(path: Path, keys: KeyProvider) -> tuple[tuple[SecretInfo, ...], str | None]:
    from core.clock import SystemClock
    from core.vault import Vault

    async with _store(path, keys) as store:
        vault = Vault(store, keys, SystemClock())
        return await vault.list(), await vault.key_in_use()


def _audit(current: Session) -> Check:
    from core.audit import verify_log

    if not Path(current.database).exists():
        return Check("audit", OK, "no rows yet")
    result = verify_log(current.database, current.keys())
    if result.ok:
        return Check("audit", OK, f"{result.rows} rows, chain intact")
    first = result.findings[0]
    return Check(
        "audit",
        FAIL,
        f"{len(result.findings)} findings, the first: row {first.seq} {first.reason}",
        "`playground audit verify` lists them.",
    )


def _demo(_: Session) -> Check:
    status, url = asyncio.run(_ask_demo())
    if status.startswith("HTTP/1.1 200"):
        return Check("demo", OK, f"answers at {url}")
    return Check(
        "demo",
        FAIL,
        f"no answer at {url}",
        "Is loopback blocked? Does PLAYGROUND_DEMO_URL name a server that runs?",
    )


async def _ask_demo() -> tuple[str, str]:
    from core.demo import DemoServer, url_from_environment
    from core.http import parse_url

    shared = url_from_environment()
    if shared is not None:
        url = parse_url(shared, ("127.0.0.1", "localhost", "[::1]"))
        return await _status_line(url.host, url.port), shared
    server = DemoServer(pace=0)
    await server.start()
    try:
        own = parse_url(server.url, ("127.0.0.1",))
        return await _status_line(own.host, own.port), server.url
    finally:
        await server.close()


async def _status_line(host: str, port: int) -> str:
    """Return the first line of the answer to ``GET /_stats``, empty if none came in 5 s."""
    try:
        async with asyncio.timeout(5):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(f"GET /_stats HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            line = await reader.readline()
            writer.close()
            return line.decode("latin-1").strip()
    except (OSError, TimeoutError):
        return ""


def _terminal(current: Session) -> Check:
    from shutil import get_terminal_size

    kind = os.environ.get("TERM", "")
    if not (sys.stdin and sys.stdin.isatty() and current.out.on_terminal):
        return Check("terminal", OK, f"none here (TERM={kind or 'unset'}): commands only")
    size = get_terminal_size()
    detail = f"TERM={kind or 'unset'}, {size.columns}x{size.lines}"
    if kind in ("", "dumb"):
        return Check("terminal", WARN, detail, "The app needs a terminal that can move its cursor.")
    if size.columns < 60 or size.lines < 20:
        return Check("terminal", WARN, detail, "The app needs at least 60x20.")
    return Check("terminal", OK, detail)


def _locale(current: Session) -> Check:
    encoding = current.out.encoding
    if encoding.lower().replace("-", "") == "utf8":
        return Check("locale", OK, encoding)
    return Check("locale", WARN, encoding, "Set LANG to a UTF-8 locale, or PYTHONUTF8=1.")

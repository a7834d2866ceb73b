"""A transport for httpx, and so for every SDK that is built on it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any
from weakref import WeakSet

from core.adapters._httpx_errors import translated
from core.adapters._httpx_request import as_request, lowered
from core.errors import HttpError, UsageError
from core.http import ResponseStream, VaultHttpClient

# httpx2 is httpx's successor: another package with the same interface.
_LIBRARIES = ("httpx", "httpx2")
# The rest of an error's answer that is read on, so that the call does not count as stopped.
_REST_BYTES = 64 * 1024
_REST_SECONDS = 1.0


def httpx_transport(client: VaultHttpClient) -> Any:
    """Return a transport for an ``httpx.AsyncClient`` that sends through ``client``.

    It serves clients of ``httpx`` and of ``httpx2``, and is an ``AsyncBaseTransport`` of
    those that the program has imported, else of the one that is installed. (Neither is a
    dependency of ours, hence the return type.) It is used as any such transport is, with
    these differences:

    * If ``client`` has a credential, the caller's own keys are dropped: the header that
      the credential travels in, ``Authorization``, ``X-API-Key``, ``API-Key`` and
      ``X-Goog-API-Key``. An SDK that wants a key gets any placeholder. Headers that the
      client writes itself (``Host``, ``Content-Length``, ``Accept-Encoding`` and the like)
      are dropped too.
    * Each send is a call of its own, with its own audit row; a retry is another one. A
      response that is closed, dropped or cancelled before its end is a stopped call.
      What ``client`` was never asked (a body over 64 MiB, an extension) leaves no row.
    * The only extension is ``timeout``, and it only lowers the client's bounds.
    * A redirect is handed back, never followed: the caller decides who gets a credential.
    * Exceptions are httpx's and ours at once: ``httpx.ConnectError`` and
      ``core.errors.TransportFailed``, say, with ``code``. ``SecretUnavailable`` and
      ``AuditUnavailable`` are no matter of transport and come as they are.
    * Closing it stops what it has open; ``client`` stays usable.

    Raises:
        UsageError: neither library is installed, or ``client`` is no ``VaultHttpClient``.
    """
    if not isinstance(client, VaultHttpClient):
        raise UsageError(
            "The httpx transport sends through a VaultHttpClient only",
            hint="Take one from Runtime.http().",
        )
    return _transport_class(_loaded())(client)


class _Transport:
    def __init__(self, client: VaultHttpClient) -> None:
        self._client = client
        self._open: WeakSet[_Body] = WeakSet()

    async def handle_async_request(self, request: Any) -> Any:
        """Send ``request`` and return the answer, its body still to be read."""
        library = _library_of(request)
        opened: AbstractAsyncContextManager[ResponseStream]
        try:
            bounds = lowered(self._client.bounds, request.extensions)
            wanted = await as_request(request, self._client.credential_field)
            opened = self._client.with_bounds(bounds).stream(wanted)
            stream = await opened.__aenter__()
        except HttpError as error:
            failure = translated(error, library)
        else:
            return self._response(library, opened, stream)
        try:
            raise failure
        finally:
            del failure  # its traceback holds this frame, and so the request

    async def aclose(self) -> None:
        """Stop what is open; the client stays usable."""
        for body in list(self._open):
            await body.aclose()

    def _response(
        self,
        library: ModuleType,
        opened: AbstractAsyncContextManager[ResponseStream],
        stream: ResponseStream,
    ) -> Any:
        body_class, response_class = _answer_classes(library)
        body = body_class(library, opened, stream)
        self._open.add(body)
        headers = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in stream.headers]
        return response_class(stream.status, headers=headers, stream=body)

    def __repr__(self) -> str:
        return f"HttpxTransport({self._client!r})"


class _Body:
    """The answer's body; it leaves the client's block when it ends, however that is.

    A body that is dropped takes the block with it, which then ends as closed early.
    """

    def __init__(
        self,
        library: ModuleType,
        opened: AbstractAsyncContextManager[ResponseStream],
        stream: ResponseStream,
    ) -> None:
        self._library = library
        self._opened: AbstractAsyncContextManager[ResponseStream] | None = opened
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while chunk := await self._next():
                yield chunk
        finally:
            await self._leave(None)

    async def aclose(self) -> None:
        """Stop the call, unless it has ended."""
        if self._stream.status >= 400 and self._opened is not None:
            await self._read_rest()
        await self._leave(None)

    async def _next(self) -> bytes:
        try:
            return await anext(self._stream, b"")
        except HttpError as error:
            failure = translated(error, self._library)
        except asyncio.CancelledError as stopped:
            await self._leave(stopped)
            raise
        try:
            await self._leave(failure)
            raise failure
        finally:
            del failure  # its traceback holds this frame

    async def _read_rest(self) -> None:
        # SDKs close an error's answer unread before they try again.
        size = 0
        try:
            async with asyncio.timeout(_REST_SECONDS):
                while size <= _REST_BYTES and (chunk := await anext(self._stream, b"")):
                    size += len(chunk)
        except (HttpError, TimeoutError, RuntimeError):  # the last: somebody else is reading
            return
        except asyncio.CancelledError as stopped:
            await self._leave(stopped)
            raise

    async def _leave(self, error: BaseException | None) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            kind = None if error is None else type(error)
            await opened.__aexit__(kind, error, None if error is None else error.__traceback__)


class _Response:
    # A redirect is another call: it would carry the credential on.
    has_redirect_location = False


@cache
def _transport_class(libraries: tuple[ModuleType, ...]) -> Any:
    bases = tuple(library.AsyncBaseTransport for library in libraries)
    return type("HttpxTransport", (_Transport, *bases), {"__module__": __name__})


@cache
def _answer_classes(library: ModuleType) -> tuple[Any, Any]:
    body = type("HttpxBody", (_Body, library.AsyncByteStream), {"__module__": __name__})
    response = type("HttpxResponse", (_Response, library.Response), {"__module__": __name__})
    return body, response


def _loaded() -> tuple[ModuleType, ...]:
    found = tuple(sys.modules[name] for name in _LIBRARIES if sys.modules.get(name) is not None)
    for name in () if found else _LIBRARIES:
        try:
            return (import_module(name),)
        except ImportError:
            continue
    if not found:
        raise UsageError(
            "The httpx transport needs httpx, which is not installed",
            where="httpx",
            hint="Install httpx, or httpx2, beside this package.",
        )
    return found


def _library_of(request: object) -> ModuleType:
    for library in _loaded():
        if isinstance(request, library.Request):
            return library
    raise TypeError("the request is one of neither httpx nor httpx2")

"""Nothing that a caller gets hold of leads to a handle, a transfer, options, a future or a secret.

Two walks: one over types (what annotations promise), one over objects in use (what is there).
Frames are not followed: who reads frames reads everything.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import types
import typing
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Any

import pytest

import core.http
from core.adapters import httpx_transport
from core.errors import HttpError
from core.http import (
    Bounds,
    CancelSignal,
    Request,
    Response,
    ResponseStream,
    VaultHttpClient,
)
from core.vault import Secret
from tests.core.http.rig import SECRET
from tests.core.http.server import Seen, answer, serve
from tests.core.http.wire import Wire, curl
from tests.fakes.http_ports import FakeCredential

PLAIN = {bool, bytes, float, int, str, tuple, type(None)}
# What a caller may get, however often it asks on. A new one is a decision.
MAY_LEAVE = PLAIN | {
    AbstractAsyncContextManager,
    Bounds,
    Response,
    ResponseStream,
    VaultHttpClient,
}
INNER_MODULES = ("_asyncio", "_socket", "asyncio", "pycurl", "socket")
INNER_PARTS = (
    *("core.store", "core.vault", "core.http._call", "core.http._curl", "core.http._exchange"),
    *("core.http._oauth", "core.http._pin", "core.http._placements", "core.http._rows"),
    "core.http._seam",
)
INNER = (
    asyncio.Future,
    asyncio.AbstractEventLoop,
    core.http.CurlTransport,
    core.http.ThreadResolver,
    Secret,
)


# ---- types


def public(cls: type) -> Iterator[tuple[str, Any]]:
    """Give the public attributes of a class, and the protocols that calling code uses."""
    shown = {"__aenter__", "__aiter__", "__anext__", "__await__", "__call__", "__getitem__"}
    for name in dir(cls):
        if not name.startswith("_") or name in shown:
            yield name, inspect.getattr_static(cls, name)


def function_of(member: Any) -> Any:
    if isinstance(member, property):
        return member.fget
    if isinstance(member, staticmethod | classmethod):
        return member.__func__
    if isinstance(member, functools.cached_property):
        return member.func
    return member if inspect.isfunction(member) else None


def classes_in(annotation: Any) -> Iterator[Any]:
    origin = typing.get_origin(annotation)
    if annotation is None:
        yield type(None)
    elif origin is None:
        yield annotation
    elif origin is typing.Literal:
        yield from {type(value) for value in typing.get_args(annotation)}
    else:
        if origin not in (typing.Union, types.UnionType):
            yield origin
        for part in typing.get_args(annotation):
            if part is not Ellipsis:
                yield from classes_in(part)


def given_out(cls: type) -> set[Any]:
    """Return every type that a public attribute of ``cls`` is, or returns."""
    found: set[Any] = set()
    # What an instance holds, said in its class; slots have no annotation of their own.
    for name, annotation in typing.get_type_hints(cls).items():
        if not name.startswith("_"):
            found.update(classes_in(annotation))
    for _, member in public(cls):
        function = function_of(member)
        if function is None:
            continue
        hints = typing.get_type_hints(function, vars(core.http) | function.__globals__)
        found.update(classes_in(hints.get("return", Any)))
    return found


def reachable(*begin: type) -> set[Any]:
    """Return all types that come out of ``begin`` and of what comes out of those."""
    found: set[Any] = set()
    todo = list(begin)
    while todo:
        for cls in given_out(todo.pop()) - found:
            found.add(cls)
            if isinstance(cls, type) and cls.__module__.startswith("core."):
                todo.append(cls)
    return found


def methods() -> Iterator[Any]:
    for cls in (VaultHttpClient, ResponseStream, Response):
        for name, member in public(cls):
            function = function_of(member)
            if function is not None:
                yield pytest.param(function, id=f"{cls.__name__}.{name}")


def test_only_plain_values_and_the_clients_own_types_come_out() -> None:
    found = reachable(VaultHttpClient, ResponseStream, Response)
    assert found - MAY_LEAVE == set()
    assert {Response, ResponseStream, VaultHttpClient, bytes} <= found


@pytest.mark.parametrize("function", methods())
def test_no_method_takes_options(function: Any) -> None:
    hints = typing.get_type_hints(function, vars(core.http) | function.__globals__)
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        for cls in classes_in(hints[parameter.name]):
            assert cls not in (Any, object)
            assert not (isinstance(cls, type) and issubclass(cls, Mapping))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("send", ["request"]),
        ("send_cancellable", ["request", "signal"]),
        ("stream", ["request", "signal"]),
    ],
)
def test_a_send_takes_the_request_and_the_signal_and_nothing_else(
    name: str, parameters: list[str]
) -> None:
    assert list(inspect.signature(getattr(VaultHttpClient, name)).parameters)[1:] == parameters


@pytest.mark.parametrize("leak", [asyncio.Future, Secret, core.http.Transfer, Any, dict[str, Any]])
def test_a_type_that_got_out_would_be_found(leak: Any) -> None:
    def method(self: object) -> None: ...

    def holder(self: object) -> None: ...

    method.__annotations__ = {"return": tuple[leak, ...] | None}
    inner = type("Inner", (), {"get": method, "__module__": "core.http._inner"})
    holder.__annotations__ = {"return": inner}
    outer = type("Outer", (), {"inner": property(holder), "__module__": "core.http._outer"})
    assert reachable(outer) - MAY_LEAVE - {inner} != set()


@pytest.fixture(params=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> Any:
    return import_module(request.param)


def test_the_adapter_has_the_librarys_own_names_only(library: Any) -> None:
    cls = type(httpx_transport(object.__new__(VaultHttpClient)))
    assert {name for name, _ in public(cls)} - {"__aenter__"} == {"aclose", "handle_async_request"}
    assert list(inspect.signature(httpx_transport).parameters) == ["client"]
    handle = inspect.signature(cls.handle_async_request)
    assert list(handle.parameters) == ["self", "request"]
    assert list(inspect.signature(cls.aclose).parameters) == ["self"]
    assert {name for name in dir(library.AsyncBaseTransport) if name[0] != "_"} == {
        "aclose",
        "handle_async_request",
    }


# ---- objects in use


def parts(thing: Any) -> Iterator[tuple[str, Any]]:
    """Give what can be had from an object without a private name."""
    if isinstance(thing, Mapping):
        for key, value in thing.items():
            yield f"[{key!r}]", value
            yield "[key]", key
    elif isinstance(thing, list | tuple | set | frozenset):
        for value in thing:
            yield "[]", value
    elif isinstance(thing, types.MethodType):
        yield ".__self__", thing.__self__
        yield ".__func__", thing.__func__
    elif isinstance(thing, types.FunctionType):
        yield ".__defaults__", thing.__defaults__
        yield ".__kwdefaults__", thing.__kwdefaults__
        yield ".__dict__", vars(thing)
        for cell in thing.__closure__ or ():
            yield ".__closure__", cell.cell_contents
    elif isinstance(thing, functools.partial):
        yield ".args", (thing.func, thing.args, thing.keywords)
    else:
        if isinstance(thing, BaseException):
            yield ".__cause__", thing.__cause__
            yield ".__context__", thing.__context__
        for name in dir(thing):
            if not name.startswith("_"):
                try:
                    value = getattr(thing, name)
                except Exception:  # e.g. a body that was not read yet
                    continue
                yield f".{name}", value


ENDS = (
    *(bool, float, int, type(None), type, types.ModuleType, types.BuiltinFunctionType),
    *(types.CodeType, types.FrameType, types.TracebackType, types.AsyncGeneratorType),
)


def is_inner(thing: Any) -> bool:
    module = type(thing).__module__
    if isinstance(thing, INNER) or module.split(".")[0] in INNER_MODULES:
        return True
    return module.startswith(INNER_PARTS)


def leaks(*begin: Any) -> list[str]:
    """Return the ways from ``begin`` to something inner, or to the secret's text."""
    found: list[str] = []
    kept: dict[int, Any] = {}  # holds on to what was seen, so that no id is used twice
    todo = [(type(one).__name__, one) for one in begin]
    while todo:
        way, thing = todo.pop()
        if isinstance(thing, str | bytes | bytearray):
            text = thing if isinstance(thing, str) else bytes(thing).decode("latin-1")
            if SECRET in text:
                found.append(f"{way}: the secret")
            continue
        if isinstance(thing, ENDS) or id(thing) in kept:
            continue
        kept[id(thing)] = thing
        if is_inner(thing):
            found.append(f"{way}: {type(thing).__module__}.{type(thing).__name__}")
            continue
        if SECRET in repr(thing):
            found.append(f"{way}: the secret in its repr")
        todo += [(way + step, part) for step, part in parts(thing)]
        assert len(kept) < 50_000
    return found


async def half(seen: Seen, writer: asyncio.StreamWriter) -> None:
    """Answer a path ``/whole``; begin an answer to every other, and never end it."""
    if seen.path == "/whole":
        writer.write(answer(b"whole"))
        return
    writer.write(b"HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n")
    await asyncio.Event().wait()


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    with curl() as transport:
        yield Wire(transport, credential=FakeCredential(hosts=("127.0.0.1",)))


async def test_a_client_in_use_leads_nowhere(wire: Wire) -> None:
    signal = CancelSignal()
    async with serve(half) as server:
        whole = await wire.client.send(Request("GET", server.url("/whole")))
        pending = asyncio.create_task(
            wire.client.send_cancellable(Request("GET", server.url()), signal)
        )
        opened = wire.client.stream(Request("GET", server.url()), signal)
        async with opened as stream:
            assert await anext(stream) == b"some"
            clone = wire.client.with_timeout(5)
            assert leaks(wire.client, clone, whole, stream, opened) == []
            signal.set()
            with pytest.raises(HttpError) as stopped:
                await anext(stream)
            assert leaks(stopped.value, stream, signal) == []
        with pytest.raises(HttpError) as other:
            await pending
        assert leaks(other.value, wire.client) == []
    assert [seen.all("authorization") for seen in server.requests] == [[f"Bearer {SECRET}"]] * 3


async def test_an_adapter_in_use_leads_nowhere(library: Any, wire: Wire) -> None:
    transport = httpx_transport(wire.client)
    http = library.AsyncClient(transport=transport)
    async with serve(half) as server, http:
        whole = await http.get(server.url("/whole"))
        direct = await transport.handle_async_request(library.Request("GET", server.url()))
        answered = await http.send(http.build_request("GET", server.url()), stream=True)
        body = answered.aiter_raw()
        assert await anext(body) == b"some"
        assert leaks(transport, whole, direct, direct.stream, answered, answered.stream) == []
        await direct.aclose()
        await answered.aclose()
        assert leaks(transport, direct, direct.stream, answered, answered.stream) == []
        with pytest.raises(library.HTTPError) as failed:
            await http.get("http://127.0.0.1:9/")
        assert leaks(failed.value) == []
    assert len(wire.audit.rows) == 4


@pytest.mark.parametrize("where", ["attribute", "closure", "item", "cause", "text"])
async def test_an_object_that_got_out_would_be_found(where: str) -> None:
    class Holder:
        pass

    inner: Any = asyncio.get_running_loop().create_future()
    holder: Any = Holder()
    match where:
        case "attribute":
            holder.future = inner
        case "closure":
            holder.get = lambda: inner
        case "item":
            holder.extensions = {"network_stream": [inner]}
        case "cause":
            holder = ValueError("x")
            holder.__cause__ = KeyError(inner)
        case _:
            holder.header = f"Bearer {SECRET}".encode()
    assert len(leaks(holder)) == 1
    assert leaks(Holder()) == []

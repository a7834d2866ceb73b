from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from core.errors import UsageError
from core.model import Effect
from core.tools import FunctionTool, ToolContext, ToolError, tool
from tests.core.tools.rig import ToolRig
from tests.support.waiting import until


class Place(BaseModel):
    """Where."""

    name: str
    zoom: int = 1


@tool(effect="idempotent", deadline=7, name="find-place")
async def find(
    place: Place,
    unit: Literal["km", "mi"] = "km",
    *,
    json: Annotated[int, Field(ge=1)] = 3,
    context: ToolContext,
) -> dict[str, Any]:
    """Find a place.

    The second paragraph counts too.

    Args:
        place: what to look for,
            over two lines.
        unit (str): of the distance.
        context: hidden.

    Returns:
        Something.
    """
    context.output("looking")
    return {"name": place.name, "unit": unit, "json": json, "key": context.idempotency_key}


@tool(effect="pure")
def blocking(context: ToolContext, times: int) -> list[str]:
    """Shout from a thread."""
    for number in range(times):
        context.output(f"{number}")
    return [threading.current_thread().name]


async def refused(subject: FunctionTool, arguments: str) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await subject.run(arguments, ToolRig().context)
    return caught.value


def test_schema_comes_from_the_signature_and_the_docstring() -> None:
    assert find.name == "find-place"
    assert find.effect is Effect.IDEMPOTENT
    assert find.deadline_s == 7
    assert not find.alone
    assert find.description == "Find a place.\n\nThe second paragraph counts too."
    schema = find.parameters
    assert schema["type"] == "object"
    assert schema["required"] == ["place"]
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert set(properties) == {"place", "unit", "json"}
    assert properties["place"]["description"] == "what to look for, over two lines."
    assert properties["unit"]["enum"] == ["km", "mi"]
    assert properties["unit"]["description"] == "of the distance."
    assert properties["json"]["minimum"] == 1
    assert "title" not in schema
    json.dumps(schema)


async def test_async_function_gets_its_arguments_and_the_context() -> None:
    rig = ToolRig()
    result = await find.run('{"place": {"name": "Faro"}, "unit": "mi"}', rig.context)
    assert json.loads(result) == {"name": "Faro", "unit": "mi", "json": 3, "key": "key-1"}
    assert rig.shown == ["looking"]


async def test_sync_function_runs_in_a_daemon_thread_and_its_output_arrives_on_the_loop() -> None:
    rig = ToolRig()
    result = await blocking.run('{"times": 3}', rig.context)
    assert json.loads(result) == ["tool-blocking"]
    assert rig.shown == ["0", "1", "2"]
    assert not [one for one in threading.enumerate() if one.name.startswith("asyncio_")]


async def test_waiter_of_a_sync_function_can_be_cancelled_while_it_hangs() -> None:
    release = threading.Event()
    begun = threading.Event()

    @tool(effect="pure")
    def hang() -> str:
        begun.set()
        release.wait(20)
        return "late"

    task = asyncio.create_task(hang.run("{}", ToolRig().context))
    await until(begun.is_set)
    thread = next(one for one in threading.enumerate() if one.name == "tool-hang")
    assert thread.daemon
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    thread.join(5)
    assert not thread.is_alive()


@pytest.mark.parametrize("arguments", ["", "  ", "{}"])
async def test_no_arguments_may_be_written_in_any_way(arguments: str) -> None:
    @tool(effect="pure")
    def plain() -> str:
        return "done"

    assert await plain.run(arguments, ToolRig().context) == "done"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("{not json", "Invalid JSON"),
        ("[]", "object"),
        ("{}", "place: Field required"),
        ('{"place": {"name": 3}}', "place.name: Input should be a valid string"),
        ('{"place": {"name": "x"}, "unit": "ly"}', "unit: "),
        ('{"place": {"name": "x"}, "json": 0}', "json: "),
        ('{"place": {"name": "x"}, "json": "1"}', "json: "),
        ('{"place": {"name": "x"}, "context": {}}', "context: "),
        ('{"place": {"name": "x"}, "extra": 1}', "extra: "),
    ],
)
async def test_arguments_that_do_not_fit_are_explained_to_the_model(
    arguments: str, part: str
) -> None:
    error = await refused(find, arguments)
    assert error.code == "bad_arguments"
    assert part in error.what
    assert "http" not in error.what
    assert len(error.what) < 400


async def test_what_a_function_raises_comes_out_as_it_is() -> None:
    boom = ValueError("boom")

    @tool(effect="pure")
    def broken() -> str:
        raise boom

    @tool(effect="pure")
    def told() -> str:
        raise ToolError("no_such_city", "There is no such city.")

    @tool(effect="pure")
    def stops() -> str:
        raise StopIteration

    context = ToolRig().context
    with pytest.raises(ValueError, match="boom") as caught:
        await broken.run("{}", context)
    assert caught.value is boom
    assert (await refused(told, "{}")).code == "no_such_city"
    with pytest.raises(RuntimeError, match="StopIteration"):
        await stops.run("{}", context)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        (None, "null"),
        ({"a": [1, 2.5, "é"]}, '{"a":[1,2.5,"é"]}'),
        (Place(name="x"), '{"name":"x","zoom":1}'),
        ((1, 2), "[1,2]"),
    ],
)
async def test_result_that_is_no_text_becomes_json(value: object, text: str) -> None:
    @tool(effect="pure")
    def give() -> object:
        return value

    assert await give.run("{}", ToolRig().context) == text


async def test_result_that_is_no_json_is_an_error() -> None:
    @tool(effect="pure")
    def give() -> object:
        return object()

    error = await refused(give, "{}")
    assert error.code == "bad_result"
    assert "object" in error.what


def untyped(x) -> str:  # type: ignore[no-untyped-def]
    return str(x)


def star(*x: int) -> str:
    return str(x)


def keywords(**x: int) -> str:
    return str(x)


def positional(x: int, /) -> str:
    return str(x)


def forward(x: Missing) -> str:  # type: ignore[name-defined]  # noqa: F821
    return str(x)


def indescribable(x: Callable[[], None]) -> str:
    return str(x)


@pytest.mark.parametrize(
    ("function", "part"),
    [
        (untyped, "needs a type"),
        (star, "have names"),
        (keywords, "have names"),
        (positional, "have names"),
        (forward, "Missing"),
        (indescribable, "cannot be described"),
    ],
)
def test_function_that_cannot_be_a_tool_is_refused_when_it_is_decorated(
    function: Callable[..., str], part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        tool(effect="pure")(function)
    assert part in caught.value.what


@pytest.mark.parametrize("name", ["", "has space", "x" * 65, "1st", "a.b"])
def test_name_that_a_wire_format_refuses_is_refused_here(name: str) -> None:
    with pytest.raises(UsageError, match="name has"):
        tool(effect="pure", name=name)(lambda: "")


def test_deadline_has_to_be_positive() -> None:
    with pytest.raises(UsageError, match="deadline"):
        tool(effect="pure", deadline=0)(untyped)


def test_effect_has_to_be_one_of_the_three() -> None:
    with pytest.raises(UsageError) as caught:
        tool(effect="harmless")(untyped)  # type: ignore[arg-type]
    assert "idempotent, pure, unsafe" in caught.value.hint


@pytest.mark.parametrize("reserved", ["json", "copy", "schema", "model_config", "_hidden", "self_"])
async def test_parameter_names_are_free(reserved: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def named({reserved}: int) -> int: return {reserved}", namespace)
    subject = tool(effect="pure")(namespace["named"])
    assert set(subject.parameters["properties"]) == {reserved}
    assert await subject.run(json.dumps({reserved: 5}), ToolRig().context) == "5"

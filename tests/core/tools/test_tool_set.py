from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import UsageError
from core.tools import FunctionTool, ToolError, ToolSet, tool
from core.tools.base import RESULT_LIMIT, bound_result
from tests.core.tools.rig import ToolRig


@tool(effect="pure")
def echo(text: str) -> str:
    """Say it again."""
    return text


@tool(effect="unsafe")
def launch() -> str:
    """Launch it."""
    return "launched"


def test_specs_and_names_keep_the_order_on_offer() -> None:
    tools = ToolSet([echo, launch], ["launch", "echo", "launch"])
    assert tools.offered == ("launch", "echo")
    assert [spec.name for spec in tools.specs] == ["launch", "echo"]
    assert tools.specs[1].description == "Say it again."
    assert tools.specs[1].parameters["required"] == ["text"]
    assert tools.find("echo") is echo


def test_model_that_asks_for_what_there_is_not_is_told_what_there_is() -> None:
    tools = ToolSet([echo, launch], ["echo"])
    with pytest.raises(ToolError) as unknown:
        tools.find("ecko")
    assert unknown.value.code == "unknown_tool"
    assert "echo" in unknown.value.what
    assert "launch" not in unknown.value.what
    with pytest.raises(ToolError) as hidden:
        tools.find("launch")
    assert hidden.value.code == "not_offered"


def test_person_who_mistypes_a_tool_gets_the_nearest_name() -> None:
    with pytest.raises(UsageError) as caught:
        ToolSet([echo, launch], ["ecko"])
    assert caught.value.hint == "Did you mean echo?"
    assert caught.value.exit_code == 2
    with pytest.raises(UsageError) as far:
        ToolSet([echo, launch], ["xyz"])
    assert far.value.hint == "Valid names: echo, launch."


def test_two_tools_of_one_name_are_refused() -> None:
    twin: FunctionTool = tool(effect="pure", name="echo")(lambda: "")
    with pytest.raises(UsageError, match="same name"):
        ToolSet([echo, twin], [])


async def test_run_goes_through_the_gate_and_bounds_the_result() -> None:
    rig = ToolRig()
    tools = ToolSet([echo, launch], ["echo"])
    assert await tools.run("echo", '{"text": "hi"}', rig.context) == "hi"
    with pytest.raises(ToolError, match="not on offer"):
        await tools.run("launch", "{}", rig.context)

    @tool(effect="pure")
    def flood() -> str:
        """Too much."""
        return "x" * 5_000_000

    result = await ToolSet([flood], ["flood"]).run("flood", "{}", rig.context)
    assert result.endswith("[clipped: 262,144 of 5,000,000 characters kept]")
    assert result.startswith("x" * RESULT_LIMIT + "\n")


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(), max_size=200))
def test_bounded_result_can_always_be_encoded(text: str) -> None:
    bounded = bound_result(text)
    bounded.encode()
    assert len(bounded) == len(text)
    assert bounded == text or any("\ud800" <= c <= "\udfff" for c in text)


def test_result_at_the_limit_is_whole() -> None:
    assert bound_result("y" * RESULT_LIMIT) == "y" * RESULT_LIMIT

"""Which tools a run offers when its request names none."""

from __future__ import annotations

from pathlib import Path

from core.model import Assembled
from core.tools import builtin_tools, tool
from tests.core.runs.rig import only, rigged
from tests.fakes.provider import Turn


@tool(effect="pure")
async def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


async def test_a_request_without_tools_offers_the_pure_built_in_ones_alone(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("hi")], add) as rig:
        _, events = await rig.ended(await rig.start(tools=None))
        listed = [info.name for info in rig.runtime.tools()]
    builtin = [found.name for found in builtin_tools() if found.effect == "pure"]
    assert list(only(events, Assembled).tools) == builtin
    assert [spec.name for spec in rig.provider.requests[0].tools] == builtin
    assert listed == [*builtin, "add"]

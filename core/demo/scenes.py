"""What the demo model does, scene by scene.

A scene is a function of the conversation so far: the request carries it whole, so the server
remembers nothing, but for the attempts that ``flaky`` counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from core.demo import _hostile
from core.demo._prose import essay, tokens
from core.demo._weather import CITIES, city_in, forecast

DEFAULT_SCENE = "weather"
SLOW_COUNT_SECONDS = 10

# Seconds that the token endpoint takes, at pace 1: long enough to be stopped in.
TOKEN_SECONDS = 2.0

_UNHURRIED = 40.0


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a scene may look at.

    Attributes:
        base_url: where the client reached the server, e.g. ``http://127.0.0.1:8000``.
        prompt: the last text of the user.
        turn: answers that the model has given since.
        attempt: calls of this run and scene before this one.
        tools: whether any tool is on offer.
        thinking: whether thinking is allowed.
    """

    base_url: str
    prompt: str
    turn: int = 0
    attempt: int = 0
    tools: bool = True
    thinking: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the demo model.

    Attributes:
        name: the tool's name.
        arguments: the raw string.
    """

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the demo model.

    Attributes:
        text: its text, in tokens.
        thinking: its thinking, in tokens.
        calls: tools it asks for.
        delay: seconds before the first token, at pace 1.
        rate: tokens a second, at pace 1.
    """

    text: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    delay: float = 0.3
    rate: float = _UNHURRIED


@dataclass(frozen=True, slots=True)
class Fault:
    """An HTTP error instead of an answer.

    Attributes:
        status: the HTTP status.
        kind: the error's ``type`` and ``code`` on the wire.
        message: for a person.
        retry_after: seconds to ask for at pace 1, or None.
    """

    status: int
    kind: str
    message: str
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Silence:
    """No answer at all."""


Reaction = Answer | Fault | Silence


def react(scene: str, conversation: Conversation) -> Reaction:
    """Return what the model does next.

    Args:
        scene: a key of ``SCENES``.
        conversation: what was said.
    """
    reaction = _SCRIPTS[scene](conversation)
    if isinstance(reaction, Answer) and reaction.calls and not conversation.tools:
        return _say("No tool is on offer here, so this is all there is to say.")
    return reaction


def _say(text: str, *calls: Call) -> Answer:
    return Answer(text=tuple(tokens(text)), calls=calls)


def _call(name: str, **arguments: Any) -> Call:
    return Call(name, json.dumps(arguments))


def _get_weather(city: str) -> Call:
    return _call("get_weather", city=city)


def _get_forecast(conversation: Conversation, city: str) -> Call:
    return _call("http_get", url=f"{conversation.base_url}/api/forecast?city={quote(city)}")


def _weather(conversation: Conversation) -> Reaction:
    city = city_in(conversation.prompt)
    if conversation.turn == 0:
        return _say(f"Let me see how it looks in {city} right now.", _get_weather(city))
    if conversation.turn == 1:
        text = "And the forecast for tomorrow, from the weather service."
        return _say(text, _get_forecast(conversation, city))
    day = forecast(city)
    return _say(
        f"Tomorrow {city} gets {day.sky}, between {day.low_c} and {day.high_c} °C, "
        f"with wind of about {day.wind_kmh} km/h.\n\n"
        "- now: looked up with `get_weather`\n"
        "- tomorrow: fetched from the forecast service with a credential\n\n"
        "Both calls are in the audit log."
    )


def _essay(_: Conversation) -> Reaction:
    return Answer(text=essay(), rate=50.0)


def _loop(conversation: Conversation) -> Reaction:
    city = CITIES[conversation.turn % len(CITIES)]
    return _say(f"Round {conversation.turn + 1}: {city} next.", _get_weather(city))


def _parallel(conversation: Conversation) -> Reaction:
    cities = CITIES[:3]
    if conversation.turn == 0:
        return _say("Three cities at once.", *map(_get_weather, cities))
    return _say(f"{cities[0]}, {cities[1]} and {cities[2]} are all accounted for.")


def _slow_tool(conversation: Conversation) -> Reaction:
    if conversation.turn == 0:
        call = _call("slow_count", seconds=SLOW_COUNT_SECONDS)
        return _say(f"Counting to {SLOW_COUNT_SECONDS}, one a second.", call)
    return _say("Counted.")


def _stall(_: Conversation) -> Reaction:
    return Silence()


def _flaky(conversation: Conversation) -> Reaction:
    if conversation.attempt == 0:
        return Fault(500, "server_error", "The demo model fell over")
    if conversation.attempt == 1:
        return Fault(429, "rate_limit_exceeded", "The demo model is busy", retry_after=2.0)
    return _say("Third time lucky: first a server error, then a rate limit, now an answer.")


def _denied(_: Conversation) -> Reaction:
    return Fault(401, "invalid_api_key", "The demo model does not know this key")


def _malformed(conversation: Conversation) -> Reaction:
    city = CITIES[0]
    if conversation.turn == 0:
        return _say("Arguments that are not JSON.", Call("get_weather", '{"city": "Lisb'))
    if conversation.turn == 1:
        return _say("A tool that does not exist.", _call("get_wether", city=city))
    if conversation.turn == 2:
        return _say("And now a good call.", _get_weather(city))
    return _say("Two bad calls came back as errors, the third one worked.")


def _hostile_scene(conversation: Conversation) -> Reaction:
    hostile = tuple(tokens(_hostile.TEXT))
    if conversation.turn == 0:
        calls = (
            _get_weather(_hostile.CITY),
            _call("http_get", url=f"{conversation.base_url}/api/hostile"),
            Call(_hostile.TOOL_NAME, "{}"),
        )
        return Answer(text=hostile, thinking=hostile, calls=calls)
    ending = tuple(tokens("\n\nNothing of this reached your terminal."))
    return Answer(text=(*hostile, "\n\n", _hostile.long_line(), *ending))


def _thinking(conversation: Conversation) -> Reaction:
    thinking = (
        "The question is how to stop a thing that moves. A hard stop loses the work in hand; "
        "a soft one takes until the next boundary. So offer both, soft first, and say at each "
        "moment which one is on. And afterwards say what was done."
    )
    text = "Stop softly first: let the step in hand end, start nothing more, and write it down."
    return Answer(
        text=tuple(tokens(text)),
        thinking=tuple(tokens(thinking)) if conversation.thinking else (),
    )


def _oauth(_: Conversation) -> Reaction:
    return _say(
        "You asked for an access token first, then for this answer: two calls with a credential, "
        "two rows in the audit log."
    )


_SCRIPTS: dict[str, Callable[[Conversation], Reaction]] = {
    "weather": _weather,
    "essay": _essay,
    "loop": _loop,
    "parallel": _parallel,
    "slow-tool": _slow_tool,
    "stall": _stall,
    "flaky": _flaky,
    "denied": _denied,
    "malformed": _malformed,
    "hostile": _hostile_scene,
    "thinking": _thinking,
    "oauth": _oauth,
}

SCENES: Mapping[str, str] = MappingProxyType(
    {
        "weather": "asks for the weather, fetches a forecast with a credential, answers",
        "essay": "streams 3,000 tokens at 50 a second",
        "loop": "asks for a tool in every round, for ever",
        "parallel": "asks for three tools in one turn",
        "slow-tool": "asks for a tool that takes 10 seconds",
        "stall": "accepts the request and goes silent",
        "flaky": "a server error, then a rate limit, then an answer",
        "denied": "refuses the key",
        "malformed": "asks for tools wrongly, twice, then properly",
        "hostile": "text and tool output that attack the terminal, and a line of 5 MB",
        "thinking": "thinks before it answers",
        "oauth": "asks for an access token first, which takes its time",
    }
)
"""Each scene's name and one line about it, in the order to show them."""

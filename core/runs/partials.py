"""What open steps have streamed so far, for followers that join in the middle."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from core.model.events import Delta, Event, Output, Request, Response, Tool, ToolStarted


@dataclass(slots=True)
class _Pieces:
    """One channel of one step: its first event, and all text so far."""

    first: Delta | Output
    texts: list[str] = field(default_factory=list)


class Partials:
    """Keeps the pieces of steps that are open in this process, and forgets them as they end."""

    def __init__(self) -> None:
        self._runs: dict[str, dict[str, dict[str, _Pieces]]] = {}

    def stored(self, event: Event) -> None:
        """Take a stored event: an intent opens a step, an outcome or an end closes it."""
        if isinstance(event, Request | ToolStarted):
            self._runs.setdefault(event.run_id, {})[event.step] = {}
        elif isinstance(event, Response | Tool):
            self._runs.get(event.run_id, {}).pop(event.step, None)
        elif event.terminal:
            self._runs.pop(event.run_id, None)

    def add(self, event: Event) -> None:
        """Take a piece; one of a step that is not open is no longer of interest."""
        if not isinstance(event, Delta | Output):
            return
        channels = self._runs.get(event.run_id, {}).get(event.step)
        if channels is None:
            return
        thinking = isinstance(event, Delta) and bool(event.thinking)
        pieces = channels.setdefault("thinking" if thinking else "text", _Pieces(event))
        pieces.texts.append(_text(event))

    def of(self, run_id: str) -> list[Event]:
        """Return the run's pieces so far, those of a channel put together."""
        return [
            _whole(pieces)
            for channels in self._runs.get(run_id, {}).values()
            for pieces in channels.values()
        ]


def _text(event: Delta | Output) -> str:
    return event.text or (event.thinking if isinstance(event, Delta) else "")


def _whole(pieces: _Pieces) -> Event:
    text = "".join(pieces.texts)
    if isinstance(pieces.first, Delta) and pieces.first.thinking:
        return replace(pieces.first, thinking=text)
    return replace(pieces.first, text=text)

"""What the wire carried and our types cannot hold, by path: reported, never dropped silently."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

MAX_PATHS = 100
MAX_KEY = 80


class LostFields:
    """Collects paths, each once, in the order of their first sight.

    A server chooses the keys, so both their number and their length are bounded; a path past
    the bound is counted in one last entry.

    Args:
        mask: takes known secrets out of the server's words.
    """

    def __init__(self, mask: Callable[[str], str] = str) -> None:
        self._mask = mask
        self._paths: dict[str, None] = {}
        self._more = False

    def note(self, path: str) -> None:
        """Add one path."""
        if path in self._paths:
            return
        if len(self._paths) >= MAX_PATHS:
            self._more = True
            return
        self._paths[path] = None

    def note_unknown(self, found: Mapping[str, Any], path: str, known: frozenset[str]) -> None:
        """Add every key of ``found`` that is not ``known`` and holds something.

        Args:
            found: an object from the wire.
            path: where it was; empty for the outermost.
            known: keys that are represented, or known to hold no content.
        """
        for key, value in found.items():
            if key not in known and holds_something(value):
                name = servers_word(key, self._mask)
                self.note(f"{path}.{name}" if path else name)

    def paths(self) -> list[str]:
        """Return the paths; ``…`` last if there were more than the bound."""
        return [*self._paths, "…"] if self._more else list(self._paths)


def servers_word(text: str, mask: Callable[[str], str]) -> str:
    """Return a key or a reason as the server spelled it, bounded and without a secret's shape.

    Such words are narrated; a server may echo there what it was sent.
    """
    from core.text import redact

    word = redact(mask(text)[: MAX_KEY * 4])
    return word if len(word) <= MAX_KEY else word[:MAX_KEY] + "…"


def holds_something(value: Any) -> bool:
    """Tell whether a JSON value holds more than nulls, zeros, empty text and empty containers.

    Servers fill fields they do not use with such placeholders.
    """
    if isinstance(value, Mapping):
        return any(holds_something(item) for item in value.values())
    if isinstance(value, list):
        return any(holds_something(item) for item in value)
    return bool(value)

"""Secrets whose values are known, masked wherever and however they are spelled.

A pattern finds where a spelling may begin; an attempt, which keeps all readings of an
ambiguous escape at once, says where it ends. Every place is attempted once, so the time
is linear in the text, and a stream goes on where its last piece ended.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from core.text._spellings import Spelling, spellings

MASK = "[redacted]"
MIN_LENGTH = 4
# What local servers are given because a client insists on some key; words of every day.
PLACEHOLDERS = frozenset({"dummy", "empty", "lm-studio", "none", "null", "ollama", "unused"})
_HEAD = 4
_ESCAPE = re.compile(r"[%\\&+/_-]")  # what may stand for another character

_Span = tuple[int, int]


@dataclass(slots=True, repr=False)
class _Attempt:
    """A spelling that may begin at ``start``: how far it has come, and its end if it has one."""

    spelling: Spelling
    start: int
    step: int = 0
    positions: set[int] = field(default_factory=set)
    end: int = -1

    def go_on(self, text: str, *, final: bool) -> bool:
        """Follow the text; return True if only what comes after it can tell."""
        steps = self.spelling.steps
        size = len(text)
        positions = self.positions or {self.start}
        while self.step < len(steps):
            if self.spelling.plain and len(positions) == 1:
                (at,) = positions
                stop = min(size, at + self.spelling.least - self.step)
                escape = _ESCAPE.search(text, at, stop)
                if escape is not None:
                    stop = escape.start()
                if stop > at:
                    # Up to an escape there is one reading only.
                    if not self.spelling.plain.startswith(text[at:stop], self.step):
                        return False
                    positions = {stop}
                    self._advance(stop - at, positions)
                    continue
            reached = set()
            for at in positions:
                for spelled in steps[self.step]:
                    if text.startswith(spelled, at):
                        reached.add(at + len(spelled))
                    elif not final and size - at < len(spelled) and spelled.startswith(text[at:]):
                        self.positions = positions
                        return True
            if not reached:
                return False
            positions = reached
            self._advance(1, positions)
        return False

    def _advance(self, steps: int, positions: set[int]) -> None:
        self.step += steps
        if self.step >= self.spelling.least:
            self.end = max(self.end, *positions)

    def span(self, text: str) -> _Span:
        """Return what is to be masked."""
        return self.since(text), self.end

    def since(self, text: str) -> int:
        """Return where it begins, with a character before it that holds some bits of it."""
        leads = self.start > 0 and text[self.start - 1] in self.spelling.lead
        return self.start - leads

    def shift(self, by: int) -> None:
        """Have ``by`` characters less before it."""
        self.start -= by
        self.end -= by
        self.positions = {at - by for at in self.positions}


class _Book:
    """The spellings of some values, and how to find where they begin."""

    def __init__(self, values: Sequence[str], edition: int) -> None:
        self.edition = edition
        found = [spelling for value in values for spelling in spellings(value)]
        self.pattern = _heads(found)
        self.leads = frozenset("".join(spelling.lead for spelling in found))
        self._starts: dict[str, list[Spelling]] = {}
        for spelling in found:
            for first in {spelled[0] for spelled in spelling.steps[0]}:
                self._starts.setdefault(first, []).append(spelling)

    def attempts(self, text: str, since: int) -> Iterator[_Attempt]:
        """Return an attempt for every spelling that may begin at ``since`` or later."""
        match = self.pattern.search(text, since)
        while match is not None:
            at = match.start()
            for spelling in self._starts[text[at]]:
                yield _Attempt(spelling, at)
            match = self.pattern.search(text, at + 1)


class KnownSecrets:
    """The secrets that this process has read or written.

    Not masked are values of fewer than 4 characters, which stand in any text by chance,
    and those that the mask itself contains.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # a secret may be read on any thread
        self._edition = 0
        self._values: dict[str, None] = {}
        self._book = _Book((), 0)

    def add(self, value: str) -> None:
        """Mask ``value`` from now on, also in streams that have begun.

        A value that keeps nothing secret stays in clear: one of fewer than 4 characters, a
        well-known placeholder, a part of the mask.
        """
        secret = len(value) >= MIN_LENGTH and value.lower() not in PLACEHOLDERS
        if secret and value not in MASK and value not in self._values:
            with self._lock:
                self._values[value] = None
                self._edition += 1

    def discard(self, value: str) -> None:
        """Mask ``value`` no longer: it opens nothing any more."""
        with self._lock:
            self._values.pop(value, None)
            self._edition += 1

    def mask(self, text: str) -> str:
        """Return ``text`` with every spelling of a known secret as ``[redacted]``.

        Spellings are the value itself; each of its characters raw, percent-encoded, as a
        form's ``+``, or escaped as in JSON, Python or HTML, once or twice; Base64 of it or
        of a longer text around it, in both alphabets; hexadecimal. Neighbours become one
        mask; everything else stays as it is.
        """
        if not self._values or not text:
            return text
        found: list[_Span] = []
        for attempt in self.book.attempts(text, 0):
            attempt.go_on(text, final=True)
            if attempt.end >= 0:
                found.append(attempt.span(text))
        if not found:
            return text
        pieces: list[str] = []
        done = 0
        for start, end in _joined(found):
            pieces += (text[done:start], MASK)
            done = end
        return "".join((*pieces, text[done:]))

    def stream(self) -> MaskedStream:
        """Return a mask for a text that comes in pieces."""
        return MaskedStream(self)

    @property
    def book(self) -> _Book:
        """Return the spellings of what is known now."""
        if self._book.edition != self._edition:
            with self._lock:
                self._book = _Book(tuple(self._values), self._edition)
        return self._book

    def __repr__(self) -> str:
        return "KnownSecrets()"

    def __reduce__(self) -> NoReturn:
        raise TypeError("known secrets can be neither pickled nor copied")


class MaskedStream:
    """Masks a text that comes in pieces, however they are cut.

    All that it gives, put together, is what ``KnownSecrets.mask`` makes of the whole.
    """

    def __init__(self, known: KnownSecrets) -> None:
        self._known = known
        self._book: _Book | None = None
        self._held = ""
        self._scanned = 0
        self._open: list[_Attempt] = []
        self._spans: list[_Span] = []
        self._covered = 0  # how much of what is held belongs to a mask already given
        self._after_mask = False

    def feed(self, text: str) -> str:
        """Take a piece; return what can be told by now.

        Kept back is only the end of the text if a known secret may begin there.
        """
        self._held += text
        return self._give(self._scan(final=False))

    def flush(self) -> str:
        """Return the rest: no more comes. The stream can be used again."""
        rest = self._give(self._scan(final=True))
        self._after_mask = False
        return rest

    def _scan(self, *, final: bool) -> int:
        """Find what is to be masked; return up to where that is certain."""
        book = self._known.book
        if book is not self._book:
            self._book = book
            self._scanned = 0
            self._open = []
            self._spans = []
        size = len(self._held)
        still_open = []
        for attempt in (*self._open, *book.attempts(self._held, self._scanned)):
            if attempt.go_on(self._held, final=final):
                still_open.append(attempt)
            elif attempt.end >= 0:
                self._spans.append(attempt.span(self._held))
        self._open = still_open
        self._scanned = size
        if final:
            return size
        if self._held[-1:] in book.leads:
            size -= 1
        return min([size, *(attempt.since(self._held) for attempt in still_open)])

    def _give(self, certain: int) -> str:
        if not certain:
            return ""
        pieces: list[str] = []
        done = 0
        spans = _joined([*self._spans, *([(0, self._covered)] if self._covered else ())])
        for start, end in spans:
            if start >= certain:
                break
            pieces.append(self._held[done:start])
            if start > 0 or not self._after_mask:
                pieces.append(MASK)
            done = end
        pieces.append(self._held[done:certain])
        self._after_mask = done >= certain
        self._covered = max(0, done - certain)
        self._held = self._held[certain:]
        self._scanned -= certain
        self._spans = [
            (max(0, start - certain), end - certain) for start, end in self._spans if end > certain
        ]
        for attempt in self._open:
            attempt.shift(certain)
        return "".join(pieces)


def _joined(spans: list[_Span]) -> list[_Span]:
    """Return spans in order, those that touch as one."""
    joined: list[_Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


class _Node:
    """A place in the tree of all that spellings begin with."""

    __slots__ = ("ends", "next")

    def __init__(self) -> None:
        self.next: dict[str, _Node] = {}
        self.ends = False

    def walk(self, text: str) -> _Node:
        """Return the place that ``text`` leads to from here."""
        node = self
        for char in text:
            node = node.next.setdefault(char, _Node())
        return node

    def pattern(self) -> str:
        """Return a pattern of what leads from here to an end, or to the end of the text."""
        return "" if self.ends else f"(?:{self.choice()}|\\Z)"

    def choice(self) -> str:
        """Return a pattern of what leads from here to an end."""
        branches = [
            re.escape(char) + node.pattern() for char, node in self.next.items() if not node.ends
        ]
        ends = "".join(re.escape(char) for char, node in self.next.items() if node.ends)
        return "|".join((*branches, *([f"[{ends}]"] if ends else ())))


def _heads(found: list[Spelling]) -> re.Pattern[str]:
    """Return a pattern that matches wherever a spelling begins, and seldom elsewhere.

    It looks at a few steps, up to the first escape, or up to the end of the text.
    """
    root = _Node()
    for spelling in found:
        nodes = [root]
        for step in spelling.steps[:_HEAD]:
            plain = []
            for node in nodes:
                for text in step:
                    if len(text) == 1:
                        plain.append(node.walk(text))
                    else:
                        node.walk(text).ends = True
            nodes = plain
        for node in nodes:
            node.ends = True
    return re.compile(root.choice() or "(?!)")

"""An essay on stopping, put together from parts: always the same, of any length."""

from __future__ import annotations

import re
from functools import cache

ESSAY_TOKENS = 3_000

_TITLE = "# On stopping\n\n"
_HEADINGS = (
    "The pull of going on",
    "What a brake is",
    "Signals and flags",
    "The last safe place",
    "Momentum and its bill",
    "The hand on the lever",
    "Stopping in the dark",
    "What the ledger says",
    "Small machines",
    "Large machines",
    "The second press",
    "Afterwards",
)
_SENTENCES = (
    "Anybody can start a {machine}; the craft lies in bringing it to rest.",
    "A {machine} that cannot be stopped is not a tool but a kind of weather.",
    "In {place} the {person} learns the brake before the throttle.",
    "The {part} is touched a thousand times for every time it is needed.",
    "Nobody writes songs about the {part}, and yet the whole {machine} leans on it.",
    "A good stop is {quality}, and a bad one is remembered for years.",
    "What was in motion has to go somewhere, and the {part} decides where.",
    "Ask any {person} what they fear, and they will not say speed.",
    "They will say a {part} that moves freely and does nothing.",
    "Between the wish to stop and the standing still there is always a distance.",
    "The {person} in {place} measured that distance with chalk and a long tape.",
    "It was longer than anyone had hoped, and it was {quality}.",
    "So the {person} hung a flag where the {machine} would pass next.",
    "A flag is {quality}: it pushes nothing, and still everything ends there.",
    "The {machine} does not read the {person}'s mind; it reads the flag.",
    "Whoever comes by, from whichever side, sees the same flag.",
    "When the {machine} arrives at the boundary, it looks once and goes no further.",
    "What it carried is set down, counted, and entered in the book.",
    "The book matters, because memory is {quality} only until somebody asks.",
    "Each line says who asked, at what hour, and where the {machine} stood.",
    "There is comfort in a column of figures that adds up.",
    "There is a second lever, painted red, for when waiting costs more than losing.",
    "It cuts the {part} at once, and the work in hand is marked as broken off.",
    "No {person} who pulls it apologises, and none is asked to.",
    "To stop is a decision, and a decision is no fault.",
    "The worst {machine} is the one that says it has stopped and has not.",
    "You hear it at night from {place}, still turning, still spending.",
    "The next worst stops so hard that nobody can say what it had done.",
    "The right design does neither: it ends, it tells, and it is {quality}.",
    "Old hands in {place} tap the {part} twice before they trust it.",
    "The young {person} laughs at this for a season and then does the same.",
    "It costs a moment, and moments are what brakes are made of.",
    "Consider the {machine}: most of its weight is there to let it slow down.",
    "Consider the {person}, who spends the whole day ready for one second.",
    "None of this shows when things go well, which is why it is cut first.",
    "Then comes a morning when the {part} is missing, and everyone looks up.",
    "A rule that holds only on calm days is only a wish, however {quality}.",
    "The test is rain, and night, and two people pulling at once.",
    "If the second pull undoes the first, the {part} was built for show.",
    "If both agree, the {machine} comes to rest a little before the mark.",
    "There it stands, warm and {quality}, and somebody opens a window.",
    "The lamps of {place} go on, and the {person} writes the last line.",
    "Nothing more will start tonight.",
    "Tomorrow the {machine} will go again, because it is known that it can stop.",
)
_SLOTS = {
    "machine": (
        "night train", "paper mill", "tower clock", "cable car", "loom", "river ferry",
        "printing press", "windmill", "quarry hoist", "tram", "lathe", "tide gate",
    ),
    "part": (
        "brake", "pawl", "valve", "clutch", "drag shoe", "governor", "latch", "dead man's handle",
        "buffer", "shear pin",
    ),
    "person": (
        "engineer", "signalwoman", "ferryman", "miller", "apprentice", "night guard",
        "lift operator", "stationmaster", "weaver",
    ),
    "place": (
        "the yard at Osterfeld", "the lower harbour", "the mill by the weir",
        "the mountain station", "the old exchange", "the valley line", "the printing house",
        "the signal box",
    ),
    "quality": (
        "quiet", "honest", "plain", "dependable", "unhurried", "exact", "patient", "unremarkable",
        "deliberate", "modest",
    ),
}  # fmt: skip
_SENTENCES_A_PARAGRAPH = 5
_PARAGRAPHS_A_SECTION = 4
_LONG_WORD = 8


def tokens(text: str) -> list[str]:
    """Split ``text`` into what the demo model calls tokens: a word with the space before it."""
    return re.findall(r"\s*\S+|\s+$", text)


@cache
def essay() -> tuple[str, ...]:
    """Return the essay as exactly ``ESSAY_TOKENS`` tokens."""
    text, words = _TITLE, 0
    for paragraph in _paragraphs():
        length = len(tokens(paragraph))
        if words + length > ESSAY_TOKENS - len(tokens(_TITLE)):
            break
        text, words = text + paragraph, words + length
    pieces = tokens(text.rstrip())
    missing = ESSAY_TOKENS - len(pieces)
    exact: list[str] = []
    for piece in pieces:
        # Long words are two tokens, as many as it takes to come out even.
        if missing and len(piece.strip()) > _LONG_WORD:
            missing -= 1
            middle = len(piece) - len(piece.strip()) // 2
            exact += [piece[:middle], piece[middle:]]
        else:
            exact.append(piece)
    return tuple(exact)


def _paragraphs() -> list[str]:
    """Return more paragraphs than the essay needs, headings in front of some."""
    deck = _Deck(len(_SENTENCES))
    slots = {name: _Deck(len(words)) for name, words in _SLOTS.items()}
    paragraphs = []
    for heading in _HEADINGS:
        for number in range(_PARAGRAPHS_A_SECTION):
            sentences = []
            for _ in range(_SENTENCES_A_PARAGRAPH):
                chosen = {name: _SLOTS[name][slots[name].deal()] for name in _SLOTS}
                sentences.append(_SENTENCES[deck.deal()].format(**chosen))
            start = f"## {heading}\n\n" if number == 0 else ""
            paragraphs.append(start + " ".join(sentences) + "\n\n")
    return paragraphs


class _Deck:
    """Deals numbers below ``size`` in a fixed disorder, each once before any comes again."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._cards: list[int] = []
        self._state = size

    def deal(self) -> int:
        """Return the next number."""
        if not self._cards:
            self._cards = list(range(self._size))
        self._state = (self._state * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
        return self._cards.pop((self._state >> 8) % len(self._cards))

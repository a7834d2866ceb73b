"""What masking known secrets costs: ``python -m tests.bench.mask``.

Prints, for 1, 5, 20 and 100 secrets, the time to learn them, megabytes a second of
``mask`` on texts without a secret (prose, JSON in JSON, Base64), and microseconds for
each piece of five characters of a stream.
"""

from __future__ import annotations

import base64
import json
import random
import statistics
import time
from collections.abc import Callable
from functools import partial

from core.text import KnownSecrets

_ROUNDS = 5
_CHARS = 1_000_000
_PIECE = 5
_STREAMED = 100_000


def _texts() -> dict[str, str]:
    line = 'It is 100% real, "he" said; see https://example.com/?q=a%20b or the demo.\n'
    rows = [{"text": 'hello "world"\n', "number": number} for number in range(20_000)]
    return {
        "prose": (line * (_CHARS // len(line) + 1))[:_CHARS],
        "json": json.dumps(json.dumps(rows))[:_CHARS],
        "base64": base64.b64encode(random.Random(1).randbytes(_CHARS * 3 // 4)).decode(),
    }


def _seconds(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def _stream(known: KnownSecrets, pieces: list[str]) -> None:
    stream = known.stream()
    for piece in pieces:
        stream.feed(piece)
    stream.flush()


def main() -> None:
    """Measure and print."""
    texts = _texts()
    pieces = [texts["prose"][at : at + _PIECE] for at in range(0, _STREAMED, _PIECE)]
    for count in (1, 5, 20, 100):
        source = random.Random(count)
        known = KnownSecrets()
        for number in range(count):
            known.add(
                ("sk-" if number % 2 else "")
                + base64.urlsafe_b64encode(source.randbytes(30)).decode()
            )
        started = time.perf_counter()
        known.mask("once")
        learn = time.perf_counter() - started
        rates = "  ".join(
            f"{name} {len(text) / 1e6 / _seconds(partial(known.mask, text)):.0f} MB/s"
            for name, text in texts.items()
        )
        each = _seconds(partial(_stream, known, pieces)) / len(pieces)
        print(f"{count:>3} secrets: {learn * 1e3:.1f} ms  {rates}  {each * 1e6:.1f} us a piece")


if __name__ == "__main__":
    main()

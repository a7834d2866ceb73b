"""Which file a store is in."""

from __future__ import annotations

import os
from pathlib import Path

from core.errors import StoreError


def database_file(place: str | Path) -> Path:
    """Return the one file that ``place`` names, however it is spelled.

    SQLite keeps its write-ahead log beside the file that a link points to. Our gate and lock
    files have to lie there too: else two processes would not know of each other, and each
    would take the other's runs for those of a dead one.

    Args:
        place: a path; it need not exist.

    Raises:
        StoreError: it is a URL, or no path that SQLite can open.
    """
    text = os.fspath(place)
    scheme, is_url, _ = text.partition("://")
    if is_url:
        # What follows may hold a password.
        raise StoreError(
            "This version stores in a SQLite file only",
            where=f"{scheme}://…",
            hint="Name a file, with --db or PLAYGROUND_DB.",
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _unusable(text, "is not UTF-8") from None
    if "\0" in text:
        raise _unusable(text, "holds NUL characters")
    return Path(os.path.realpath(text))


def _unusable(text: str, why: str) -> StoreError:
    return StoreError(
        f"The path of the database {why}",
        where=text,
        hint="Choose another place, with --db or PLAYGROUND_DB.",
    )

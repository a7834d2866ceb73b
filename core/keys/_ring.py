"""Several keys in one text: the one in use first, earlier ones below it."""

from __future__ import annotations

from core.keys._master import MasterKey


def parse_keys(text: str) -> tuple[MasterKey, ...]:
    """Return the keys of a text, one in 64 hex digits a line.

    Raises:
        ValueError: it holds none, or something else.
    """
    keys = tuple(_parse(line.strip()) for line in text.strip().splitlines())
    if not keys:
        raise ValueError("no key")
    return keys


def format_keys(keys: tuple[MasterKey, ...]) -> str:
    """Return the text that ``parse_keys`` reads."""
    return "".join(f"{key.reveal().hex()}\n" for key in keys)


def key_called(key_id: str, keys: tuple[MasterKey, ...]) -> MasterKey | None:
    """Return the key of this id, None if it is not among ``keys``."""
    return next((key for key in keys if key.key_id == key_id), None)


def _parse(line: str) -> MasterKey:
    try:
        return MasterKey(bytes.fromhex(line))
    except ValueError:
        # The original would quote what may be most of a key.
        raise ValueError("not 64 hex digits") from None

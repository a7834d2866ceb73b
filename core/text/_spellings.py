"""The ways in which a value is written inside another text.

A spelling is a row of steps, one for each character of a form of the value, and each
step the texts that may stand for that character: so a value is also found where only
some of its characters are escaped.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import lru_cache

Step = tuple[str, ...]

_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_SHORT = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r"}
_SHORT |= {char: char for char in "\\\"'/"}
_HTML = {
    "&": ("&amp;",),
    "<": ("&lt;",),
    ">": ("&gt;",),
    '"': ("&quot;",),
    "'": ("&#39;", "&#039;", "&#x27;", "&apos;"),
}


@dataclass(frozen=True, slots=True, repr=False)
class Spelling:
    """One form of a value.

    Attributes:
        steps: the texts that may stand for each character.
        least: how many steps make the whole value; those after it hold some bits of it.
        plain: the whole value with nothing escaped; empty if some of its characters come
            in other ways than escapes.
        lead: characters that hold some bits of it if they stand before it.
    """

    steps: tuple[Step, ...]
    least: int
    plain: str = ""
    lead: str = ""


def spellings(value: str) -> list[Spelling]:
    """Return every form of ``value``: raw or escaped, Base64, hexadecimal."""
    data = value.encode("utf-8", "surrogatepass")
    pairs = tuple((char, char.upper()) if char.isalpha() else (char,) for char in data.hex())
    return [
        Spelling(tuple(map(_escaped, value)), len(value), plain=value),
        Spelling(pairs, len(pairs)),
        *(_base64(data, before) for before in range(3)),
    ]


def _base64(data: bytes, before: int) -> Spelling:
    """Return the form in Base64 of a longer text, ``before`` modulo 3 bytes into it."""
    text = b64encode(bytes(before) + data).decode()
    first = (0, 2, 3)[before]
    whole, bits = divmod(8 * (before + len(data)), 6)
    plain = text[first:whole]
    steps = tuple(map(_base64_step, plain))
    lead = ""
    if before == 1:
        low = _BASE64.index(text[1]) % 16
        lead = _both_alphabets(_BASE64[low::16])
    if not bits:
        return Spelling(steps, len(steps), plain, lead)
    # The last character shares its low bits with whatever comes next.
    high = _BASE64.index(text[whole]) >> (6 - bits)
    tail = tuple(_both_alphabets(_BASE64[high << (6 - bits) : (high + 1) << (6 - bits)]))
    return Spelling((*steps, tail), len(steps), plain, lead)


def _both_alphabets(chars: str) -> str:
    return chars + "".join({"+": "-", "/": "_"}.get(char, "") for char in chars)


def _base64_step(char: str) -> Step:
    if char == "+":
        return ("+", "-", "%2B", "%2b", "\\u002b", "\\u002B")
    if char == "/":
        return ("/", "_", "%2F", "%2f", "\\/", "\\\\/", "\\u002f", "\\u002F")
    return (char,)


@lru_cache(maxsize=4096)
def _escaped(char: str) -> Step:
    """Return what may stand for ``char``: itself, or an escape, also one of an escape."""
    data = char.encode("utf-8", "surrogatepass")
    wide = char.encode("utf-16-be", "surrogatepass").hex()
    units = [wide[index : index + 4] for index in range(0, len(wide), 4)]
    found = [char, *_HTML.get(char, ())]
    if char == " ":
        found.append("+")
    for upper in (False, True):
        pairs = [f"{byte:02X}" if upper else f"{byte:02x}" for byte in data]
        fours = [unit.upper() if upper else unit for unit in units]
        found += ["".join(f"{mark}{pair}" for pair in pairs) for mark in ("%", "%25", "\\x")]
        found += ["".join(f"{mark}{unit}" for unit in fours) for mark in ("\\u", "\\\\u")]
    if 0x80 <= ord(char) < 0x100:
        found.append(f"\\x{ord(char):02x}")
    if char in _SHORT:
        once = f"\\{_SHORT[char]}"
        found += [once, f"\\{once}", once.replace("\\", "\\\\").replace('"', '\\"')]
    return tuple(dict.fromkeys(found))

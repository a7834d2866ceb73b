from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cases import cases
from tests.e2e.app_terminal import Pty, app_environment

# What Textual itself sends: cursor, colours, modes, queries. Nothing else may hold a control.
_OURS = re.compile(
    r"\x1b\[\d+;\d+H|\x1b\[[\d;]*m|\x1b\[\?\d+[hl]|\x1b\[\?\d+\$p|\x1b\[[<>=]\d*u|\x1b\[\d*[ABCD]"
    r"|\x1b\]22;[a-z-]+\x07"
)
_FOREIGN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)
_TOUR = [sys.executable, "-m", "tests.security.hostile_app"]


def _terminal_cases() -> list[str]:
    found = json.loads(cases("text/hostile-terminal.json").read_text(encoding="utf-8"))
    return [text for text, _ in found["cases"]]


def _naughty_strings() -> list[str]:
    found = json.loads(cases("text/naughty-strings.json").read_text(encoding="utf-8"))
    texts = found if isinstance(found, list) else found.get("cases") or found.get("strings")
    texts = [text if isinstance(text, str) else text[0] for text in texts]
    return [text for text in texts if text.strip()]


@pytest.mark.parametrize("corpus", [_terminal_cases, _naughty_strings])
def test_no_foreign_control_byte_reaches_the_terminal_and_every_picture_is_xml(
    tmp_path: Path, corpus: object
) -> None:
    assert callable(corpus)
    texts = [text.encode("utf-8", "replace").decode() for text in corpus()]
    source = tmp_path / "texts.json"
    source.write_text(json.dumps(texts), encoding="utf-8")
    app = Pty([*_TOUR, str(tmp_path), str(source)], app_environment(tmp_path, 0.0), tmp_path)
    try:
        assert app.end() == 0
    finally:
        app.close()
    sent = app.sent.decode("utf-8")
    assert "Traceback" not in sent
    pictures = sorted(tmp_path.glob("*.svg"))
    assert len(pictures) > 40
    for picture in pictures:
        ElementTree.parse(picture)
    assert _foreign(sent) == {}


def _foreign(sent: str) -> dict[str, str]:
    """Return each control that is not the app's own, and where it stands."""
    left = _OURS.sub("", sent)
    return {
        match[0]: left[max(0, match.start() - 40) : match.end() + 40]
        for match in _FOREIGN.finditer(left)
    }


@pytest.mark.parametrize(
    "text",
    ["\x1b]52;c;ZXZpbA==\x07", "\x1b[2J", "\x1b[6n", "\x9b31m", "\x1bP+q\x1b\\", "\u202e", "\x00"],
)
def test_the_check_would_notice(text: str) -> None:
    assert _foreign(f"\x1b[1;1Hharmless {text} harmless\x1b[0m")

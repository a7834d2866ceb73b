from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from textual.color import Color
from textual.events import Key

import playground
from core.text import KnownSecrets
from playground.keys import TOGETHER, KeyGuard, split_alt
from playground.safe import Cell, ControlFilter, safe_crash, safe_line, safe_strip, safe_text

_ROOT = Path(playground.__file__).parent
_NASTY = st.text(
    alphabet=st.sampled_from("ab \x1b[]\x07\x00\x9b\u202e\u200d\ufe0f👩🏽🇩🇪漢e\u0301\n\r\t\ud800"),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_NASTY, max_size=4), st.integers(0, 40))
def test_a_strip_is_exactly_as_wide_as_it_was_asked_to_be(texts: list[str], width: int) -> None:
    cells = [Cell(text, width=6) for text in texts] + [Cell("".join(texts), grow=True)]
    strip = safe_strip(cells, width)
    assert strip.cell_length == width
    assert "\n" not in strip.text
    assert "\x1b" not in strip.text


def test_cells_align_give_way_and_show_their_tail() -> None:
    cells = [Cell("1", width=3, right=True), Cell("abcdefghij", grow=True), Cell("end")]
    assert safe_strip(cells, 16).text == "  1 abcdefg… end"
    assert safe_strip([Cell("abcdefghij", grow=True, tail=True)], 6).text == "…fghij"
    assert safe_strip([Cell("漢字漢字", grow=True, tail=True)], 6).text == "…漢字 "


def test_glyphs_that_terminals_disagree_about_are_taken_apart() -> None:
    assert safe_line("👩\u200d👩\u200d👧") == "👩👩👧"
    assert safe_line("👍🏽 1\ufe0f\u20e3 🇩🇪") == "👍 1 DE"
    assert safe_line("क्\u200dष") == "क्\u200dष"


def test_markup_stays_text() -> None:
    for text in ("[red]x[/red]", "[/", "[@click=app.quit]x[/]"):
        content = safe_text(text, ("[b]", "bold"))
        assert content.plain == text + "[b]"
        assert all("click" not in str(span.style) for span in content.spans)


def test_the_last_gate_replaces_what_got_past_everything_else() -> None:
    gate = ControlFilter()
    black = Color(0, 0, 0)
    dirty = [Segment("a\x1b]52;c;x\x07b"), Segment("\x9b2J"), Segment("clean"), Segment("\u202e")]
    assert "".join(segment.text for segment in gate.apply(dirty, black)) == (
        "a\ufffd]52;c;x\ufffdb\ufffd2Jclean\ufffd"
    )
    clean = [Segment("clean"), Segment("漢字 ✓ é")]
    assert gate.apply(clean, black) == clean


def test_a_crash_shows_neither_locals_nor_secrets_nor_escapes() -> None:
    def fail() -> None:
        api_key = "sk-SECRETSECRETSECRETSECRET1234"  # noqa: F841
        raise ValueError("Authorization: Bearer abcdefghijklmnop0123456789 \x1b[2J")

    with pytest.raises(ValueError) as raised:
        fail()
    said = safe_crash(raised.value).plain
    assert "ValueError" in said
    assert "abcdefghijklmnop0123456789" not in said
    assert "\x1b" not in said


def _key(key: str, character: str | None, at: float) -> Key:
    event = Key(key, character)
    event.time = at
    return event


def test_a_burst_of_text_presses_nothing_and_typing_is_left_alone() -> None:
    guard = KeyGuard()
    assert [guard.pasted(_key("x", "x", at * TOGETHER / 10)) for at in range(4)] == [
        False,
        False,
        True,
        True,
    ]
    assert guard.pasted(_key("enter", "\r", 0.5 * TOGETHER))
    guard = KeyGuard()
    assert not any(guard.pasted(_key("x", "x", at * TOGETHER)) for at in range(20))


def test_a_cancel_key_is_never_taken_for_a_paste() -> None:
    guard = KeyGuard()
    for at in range(4):
        guard.pasted(_key("x", "x", at / 1000))
    for key in ("escape", "ctrl+c", "f8"):
        assert not guard.pasted(_key(key, None, 0.004))


def test_alt_is_escape_and_the_key() -> None:
    both = split_alt(_key("alt+y", "y", 0))
    assert both is not None
    assert [(key.key, key.character) for key in both] == [("escape", "\x1b"), ("y", "y")]
    assert split_alt(_key("y", "y", 0)) is None


# Only playground.safe hands text to Textual --------------------------------------------

_MAKERS = {
    "Static", "Label", "Text", "Content", "notify", "Markdown", "RichLog", "Log", "Digits",
    "Option", "from_markup", "from_ansi", "Segment", "Header", "Tooltip", "Pretty", "Link",
}  # fmt: skip
_NAMED = {"Button", "Checkbox", "RadioButton", "Collapsible", "TabPane", "Tab"}
_SET = {"border_title", "border_subtitle", "label", "tooltip", "placeholder", "title", "sub_title"}


def _modules() -> list[Path]:
    return [path for path in sorted(_ROOT.rglob("*.py")) if path.name != "safe.py"]


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _harmless(node: ast.expr) -> bool:
    """Return whether a value is a literal or comes from ``playground.safe``."""
    if isinstance(node, ast.Constant):
        return True
    return isinstance(node, ast.Call) and _name(node.func).startswith(("safe_", "Safe"))


def offences(source: str) -> list[tuple[int, str]]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = _name(node.func)
            texts = [*node.args, *(word.value for word in node.keywords if word.arg in _SET)]
            if name in _MAKERS and not all(map(_harmless, texts)):
                found.append((node.lineno, name))
            if name in _NAMED and not all(map(_harmless, texts[:1])):
                found.append((node.lineno, name))
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            attribute = target.attr if isinstance(target, ast.Attribute) else ""
            if attribute in _SET and isinstance(node, ast.Assign) and not _harmless(node.value):
                found.append((node.lineno, attribute))
    return found


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(_ROOT)))
def test_no_other_module_hands_text_to_textual(path: Path) -> None:
    assert offences(path.read_text()) == []


@pytest.mark.parametrize(
    "line",
    [
        "Static(name)",
        "app.notify(f'{x}')",
        "Text(x)",
        "Content.from_markup(x)",
        "Button(x)",
        "self.border_title = x",
        "button.label = str(x)",
        "Segment(x, style)",
        "widget.tooltip = model.name",
    ],
)
def test_the_check_sees_what_it_should(line: str) -> None:
    assert offences(line)


@pytest.mark.parametrize(
    "line",
    ["Label('x')", "button.label = safe_text(x)", "Button('Run', id=name)", "SafeStatic(name)"],
)
def test_the_check_lets_through_what_is_safe(line: str) -> None:
    assert not offences(line)


def test_a_crash_shows_no_known_secret() -> None:
    known = KnownSecrets()
    known.add("zebra stripes forty-two")
    with pytest.raises(RuntimeError) as raised:
        raise RuntimeError("at /v1?q=zebra%20stripes%20forty-two")
    assert "at /v1?q=[redacted]" in safe_crash(raised.value, known).plain

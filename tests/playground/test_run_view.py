from __future__ import annotations

from dataclasses import replace

from core.model import (
    CancelLevel,
    CancelReceipt,
    Event,
    InFlight,
    StepError,
    StepOutcome,
    ToolCall,
    Usage,
)
from playground.state.block import Tone
from playground.state.gist import gist, glyph
from playground.state.run import Phase, RunView
from playground.state.steps import RowKind
from playground.state.stream import SHOWN
from playground.state.summary import cancel_labels, summary
from tests.playground.events import CALL, RUN, SPENT, T0, Script


def _view(*events: Event) -> RunView:
    view = RunView()
    view.apply(events)
    return view


def _running(script: Script) -> list[Event]:
    return [script.started(), script.assembled(), script.request()]


def test_a_whole_run_becomes_one_row_a_step_and_one_for_its_end() -> None:
    s = Script()
    view = _view(
        *_running(s),
        s.response(tool_calls=(CALL,)),
        s.tool_started(),
        s.tool(),
        s.request("2.1", 2, messages=3),
        s.response("Rain.", "2.1", 2),
        s.completed(),
    )
    kinds = [row.kind for row in view.rows]
    assert kinds == ["assembled", "model", "tool", "model", "completed"]
    assert view.phase is Phase.COMPLETED
    assert (view.round, view.tool_calls, view.usage) == (2, 1, SPENT)
    assert view.live_rows == []
    assert [message.role for message in view.transcript] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_an_event_seen_twice_changes_nothing() -> None:
    s = Script()
    events = [*_running(s), s.response("Rain.")]
    view = _view(*events)
    assert view.apply(events) == set()
    assert len(view.rows) == 2
    assert view.usage == SPENT


def test_a_step_without_its_intent_is_shown_all_the_same() -> None:
    s = Script()
    view = _view(s.started(), s.response("Rain."))
    assert [row.kind for row in view.rows] == [RowKind.MODEL]
    assert view.rows[0].text.kept == "Rain."


def test_tool_results_join_the_transcript_in_the_order_of_the_calls() -> None:
    s = Script()
    second = ToolCall("call_2", "http_get", "{}")
    view = _view(
        *_running(s),
        s.response(tool_calls=(CALL, second)),
        s.tool_started("1.2", CALL),
        s.tool_started("1.3", second),
        s.tool("B", "1.3", second),
        s.tool("A", "1.2", CALL),
        s.request("2.1", 2, messages=4),
    )
    assert [message.content for message in view.transcript] == ["Weather?", "", "A", "B"]


def test_deltas_grow_the_text_and_a_gap_is_marked_until_the_whole_text_comes() -> None:
    s = Script()
    view = _view(*_running(s), s.delta("It is ", 0), s.delta("8 °C", 6))
    row = view.rows[1]
    assert row.text.kept == "It is 8 °C"
    view.apply([s.delta("Bergen", 40)])
    assert row.text.kept == "It is 8 °C…Bergen"
    assert row.text.total == 46
    view.apply([s.response("It is 8 °C in Bergen.")])
    assert row.text.kept == "It is 8 °C in Bergen."


def test_pieces_that_were_seen_are_not_shown_twice() -> None:
    s = Script()
    view = _view(*_running(s), s.delta("abc", 0), s.delta("abc", 0), s.delta("bcd", 1))
    assert view.rows[1].text.kept == "abcd"


def test_a_huge_text_is_kept_up_to_its_bound_with_exact_counts() -> None:
    s = Script()
    piece = "x" * 100_000
    view = _view(*_running(s), *(s.delta(piece, at * 100_000) for at in range(50)))
    text = view.rows[1].text
    assert len(text.kept) == SHOWN
    assert text.total == 5_000_000
    assert text.hidden == 5_000_000 - SHOWN
    assert view.apply([s.response(piece * 50)]) == {1}
    assert text.hidden == 5_000_000 - SHOWN


def test_a_cancel_asked_here_shows_before_the_runtime_answers() -> None:
    s = Script()
    view = _view(*_running(s))
    now = s.at_us + 4_200_000
    view.asked(CancelLevel.BOUNDARY, s.at_us)
    assert view.phase is Phase.CANCELLING
    assert cancel_labels(view, now)[0] == (
        "cancelling · after model call · 4.2 s · press again to abort"
    )


def test_the_button_names_the_tool_it_waits_for() -> None:
    s = Script()
    http = ToolCall("call_2", "http_get", "{}")
    view = _view(
        *_running(s),
        s.response(tool_calls=(CALL, http)),
        s.tool_started(),
        s.tool_started("1.3", http),
        s.cancel_requested(CancelLevel.BOUNDARY),
    )
    assert cancel_labels(view, s.at_us)[0] == (
        "cancelling · after get_weather +1 · 0.0 s · press again to abort"
    )
    view.apply([s.tool(), s.tool("", "1.3", http)])
    assert cancel_labels(view, s.at_us)[0].startswith("cancelling · 2.0 s")


def test_a_raised_level_counts_anew_and_never_falls() -> None:
    s = Script()
    view = _view(*_running(s), s.cancel_requested())
    view.asked(CancelLevel.ABORT, s.at_us)
    assert cancel_labels(view, s.at_us + 300_000) == ["aborting · model call · 0.3 s"]
    view.apply([s.cancel_requested(CancelLevel.BOUNDARY)])
    assert view.phase is Phase.ABORTING


def test_a_cancel_that_was_not_taken_is_taken_back() -> None:
    s = Script()
    view = _view(*_running(s))
    view.asked(CancelLevel.BOUNDARY, s.at_us)
    view.refused(CancelLevel.BOUNDARY)
    assert view.phase is Phase.RUNNING
    assert cancel_labels(view, s.at_us) == ["Cancel"]


def test_an_abort_that_was_not_taken_leaves_the_boundary_it_would_have_raised() -> None:
    s = Script()
    view = _view(*_running(s))
    view.asked(CancelLevel.BOUNDARY, s.at_us)
    view.acknowledged(
        CancelReceipt(changed=True, run_id=RUN, status_before="running", level=CancelLevel.BOUNDARY)
    )
    since = s.at_us
    view.asked(CancelLevel.ABORT, since + 1_000_000)
    view.refused(CancelLevel.ABORT)
    assert view.phase is Phase.CANCELLING
    assert view.level is CancelLevel.BOUNDARY
    assert view.cancel_us == since
    view.refused(CancelLevel.BOUNDARY)  # a second process's, long after the first was taken
    assert view.phase is Phase.CANCELLING


def test_a_cancel_that_the_stream_confirmed_is_never_taken_back() -> None:
    s = Script()
    view = _view(*_running(s))
    view.asked(CancelLevel.ABORT, s.at_us)
    view.apply([s.cancel_requested(CancelLevel.ABORT)])
    view.refused(CancelLevel.ABORT)
    assert view.phase is Phase.ABORTING


def test_a_receipt_of_a_run_that_ended_changes_nothing() -> None:
    s = Script()
    view = _view(*_running(s), s.response("Rain."), s.completed())
    view.asked(CancelLevel.BOUNDARY, s.at_us)
    late = InFlight("1.1", "request", "m")
    view.acknowledged(
        CancelReceipt(
            changed=False, run_id=RUN, status_before="completed", level=None, in_flight=(late,)
        )
    )
    assert view.phase is Phase.COMPLETED
    assert view.in_flight == ()


def test_a_cancelled_run_is_neutral_and_carries_no_error() -> None:
    s = Script()
    view = _view(
        *_running(s),
        s.cancel_requested(CancelLevel.ABORT),
        s.response("Partly cl", outcome=StepOutcome.INTERRUPTED),
        s.cancelled(CancelLevel.ABORT),
    )
    assert view.phase is Phase.CANCELLED
    assert view.error is None
    assert view.receipt is not None
    tones = {glyph(row)[1] for row in view.rows} | {gist(row).tone for row in view.rows}
    assert Tone.BAD not in tones
    assert summary(view, s.at_us)[0] == ("■ cancelled", Tone.TITLE)
    assert gist(view.rows[1]).text == "cut short · 9 characters kept"
    assert gist(view.rows[-1]).text == "by abort after 1.3 s"


def test_a_step_whose_body_never_began_says_so() -> None:
    s = Script()
    view = _view(
        *_running(s),
        s.response(tool_calls=(CALL,)),
        s.tool_started(),
        s.tool("", executed=False, outcome=StepOutcome.INTERRUPTED),
    )
    assert view.tool_calls == 0
    assert gist(view.rows[2]).text == "not executed: the run was cancelled"


def test_steps_left_open_by_a_dead_process_end_as_unknown() -> None:
    s = Script()
    view = _view(*_running(s), s.failed())
    assert view.rows[1].outcome is StepOutcome.UNKNOWN
    assert view.live_rows == []
    assert summary(view, s.at_us)[0] == ("✗ failed", Tone.BAD)


def test_an_attempt_that_failed_says_why_and_its_retry_is_a_row_of_its_own() -> None:
    s = Script()
    error = StepError(code="rate_limit", message="The server asked to wait.")
    view = _view(
        *_running(s),
        s.response(outcome=StepOutcome.ERROR, error=error, usage=Usage(1)),
        s.request("1.2", attempt=2),
    )
    assert gist(view.rows[1]).text == "rate_limit: The server asked to wait."
    assert view.rows[2].attempt == 2
    assert len(view.transcript) == 1


def test_an_event_of_a_later_version_is_a_row_and_no_crash() -> None:
    class Newer(Event):
        pass

    s = Script()
    newer = replace(s.started(), seq=None)
    event = Newer.__new__(Newer)
    for name in ("run_id", "at_us", "round", "duration_ms", "seq"):
        object.__setattr__(event, name, getattr(newer, name))
    Newer.kind = newer.kind
    view = _view(*_running(s), event)
    assert view.rows[-1].kind is RowKind.OTHER


def test_the_summary_says_what_is_estimated_and_leaves_out_what_is_unknown() -> None:
    s = Script()
    view = _view(s.started(), s.assembled(), s.request(), s.delta("x" * 400, 0))
    said = " ".join(text for text, _ in summary(view, s.at_us))
    assert "~0 in 100 out" in said
    assert "$" not in said
    view.apply([s.response("x" * 400, usage=Usage(1, 7, 99, 0.0031))])
    said = " ".join(text for text, _ in summary(view, s.at_us))
    assert "7 in 99 out" in said
    assert "$0.0031" in said
    assert "~" not in said


def test_elapsed_time_runs_until_the_end() -> None:
    s = Script()
    view = _view(*_running(s))
    assert view.elapsed_ms(T0 + 6_000_000) == 5_000
    view.apply([s.response("Rain."), s.completed()])
    assert view.elapsed_ms(T0 + 60_000_000) == 4_000


def test_a_tail_shows_while_streaming_and_the_head_after() -> None:
    s = Script()
    view = _view(*_running(s), s.delta("first words … last words", 0))
    assert gist(view.rows[1]).tail
    view.apply([s.response("first words … last words")])
    assert gist(view.rows[1]).text.startswith("first words")
    assert not gist(view.rows[1]).tail

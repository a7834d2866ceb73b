from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.model import CancelLevel
from playground.state.cancel import ARM_SECONDS, REPEAT_SECONDS, CancelLadder


def test_the_first_press_is_a_boundary_whatever_came_before() -> None:
    for ladder in (CancelLadder(), CancelLadder(pressed_at=0.999)):
        after, level = ladder.press(1.0)
        assert level is CancelLevel.BOUNDARY
        assert after.level is CancelLevel.BOUNDARY


def test_a_later_press_aborts_once_the_state_was_shown_long_enough() -> None:
    ladder, _ = CancelLadder().press(0.0)
    ladder = ladder.painted(0.05)
    ladder, level = ladder.press(0.05 + ARM_SECONDS - 0.01)
    assert level is None
    ladder, level = ladder.press(0.05 + ARM_SECONDS + 0.2)
    assert level is CancelLevel.ABORT


def test_a_state_that_was_never_painted_arms_nothing() -> None:
    ladder, _ = CancelLadder().press(0.0)
    assert ladder.press(100.0)[1] is None


def test_there_is_no_longest_wait_between_the_presses() -> None:
    ladder, _ = CancelLadder().press(0.0)
    assert ladder.painted(0.1).press(86_400.0)[1] is CancelLevel.ABORT


def test_a_held_key_never_aborts() -> None:
    ladder, _ = CancelLadder().press(0.0)
    ladder = ladder.painted(0.01)
    now = 0.0
    for _ in range(200):
        now += 0.033
        ladder, level = ladder.press(now)
        assert level is None
    _, level = ladder.press(now + REPEAT_SECONDS)
    assert level is CancelLevel.ABORT


def test_after_an_abort_nothing_is_left_to_raise() -> None:
    ladder = CancelLadder().requested(CancelLevel.ABORT).painted(0.0)
    assert ladder.press(10.0)[1] is None


def test_a_cancel_from_elsewhere_counts_as_the_first_press_once_it_was_shown() -> None:
    ladder = CancelLadder().requested(CancelLevel.BOUNDARY)
    assert ladder.press(1.0)[1] is None
    ladder = ladder.painted(1.0)
    assert ladder.press(1.5)[1] is CancelLevel.ABORT


def test_a_refused_cancel_starts_over() -> None:
    ladder, _ = CancelLadder().press(0.0)
    assert ladder.refused(None).press(1.0)[1] is CancelLevel.BOUNDARY


def test_a_refused_abort_leaves_the_boundary_and_can_be_asked_for_again() -> None:
    ladder = CancelLadder().requested(CancelLevel.BOUNDARY).painted(0.0)
    ladder, level = ladder.press(1.0)
    assert level is CancelLevel.ABORT
    ladder = ladder.refused(CancelLevel.BOUNDARY)
    assert ladder.press(1.5)[1] is None
    assert ladder.painted(1.6).press(2.0)[1] is CancelLevel.ABORT


@given(st.lists(st.tuples(st.floats(0, 2), st.booleans()), max_size=40))
def test_levels_are_asked_for_in_order_and_once(presses: list[tuple[float, bool]]) -> None:
    ladder, now, asked = CancelLadder(), 0.0, []
    for wait, paint in presses:
        now += wait
        if paint:
            ladder = ladder.painted(now)
        ladder, level = ladder.press(now)
        if level is not None:
            asked.append(level)
    assert asked == [CancelLevel.BOUNDARY, CancelLevel.ABORT][: len(asked)]

from __future__ import annotations

import threading

import pytest

from core.http import CancelSignal


def test_set_calls_each_subscriber_once_in_the_calling_thread() -> None:
    signal = CancelSignal()
    seen: list[tuple[str, int]] = []
    signal.subscribe(lambda: seen.append(("a", threading.get_ident())))
    signal.subscribe(lambda: seen.append(("b", threading.get_ident())))
    thread = threading.Thread(target=signal.set)
    thread.start()
    thread.join()
    signal.set()
    assert seen == [("a", thread.ident), ("b", thread.ident)]
    assert signal.is_set()


def test_a_late_subscriber_is_called_at_once() -> None:
    signal = CancelSignal()
    signal.set()
    seen: list[int] = []
    forget = signal.subscribe(lambda: seen.append(1))
    forget()
    assert seen == [1]


def test_an_ended_subscription_hears_nothing_and_ends_only_once() -> None:
    signal = CancelSignal()
    seen: list[str] = []
    callback = lambda: seen.append("x")  # noqa: E731
    forget_first = signal.subscribe(callback)
    signal.subscribe(callback)
    forget_first()
    forget_first()
    signal.set()
    assert seen == ["x"]


def test_a_subscriber_that_raises_does_not_keep_the_others_from_hearing() -> None:
    signal = CancelSignal()
    seen: list[int] = []

    def bad() -> None:
        raise ValueError("first")

    signal.subscribe(bad)
    signal.subscribe(lambda: seen.append(1))
    with pytest.raises(ValueError, match="first"):
        signal.set()
    assert seen == [1]


def test_many_threads_setting_and_subscribing_call_everyone_exactly_once() -> None:
    for _ in range(50):
        signal = CancelSignal()
        calls: list[int] = []
        start = threading.Barrier(4)

        def subscribe(number: int, signal: CancelSignal = signal) -> None:
            start.wait()  # noqa: B023
            signal.subscribe(lambda: calls.append(number))  # noqa: B023

        def fire(signal: CancelSignal = signal) -> None:
            start.wait()  # noqa: B023
            signal.set()

        threads = [threading.Thread(target=subscribe, args=(n,)) for n in range(3)]
        threads.append(threading.Thread(target=fire))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(calls) == [0, 1, 2]

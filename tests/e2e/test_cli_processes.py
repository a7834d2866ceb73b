from __future__ import annotations

from pathlib import Path
from signal import SIGINT, SIGTERM

import pytest

from tests.e2e.cli_process import ask, command, demo_server, stats, wait_for

ESSAY = ("run", "x", "--model", "demo/essay", "--json")
SPENT = ("requests", "input_tokens", "output_tokens")


@pytest.mark.parametrize("now", [False, True])
def test_cancel_from_another_process_ends_a_streaming_run(tmp_path: Path, now: bool) -> None:
    with command(tmp_path, *ESSAY, pace=1.0 if now else 0.02) as run:
        run_id = run.event("delta", count=10)["run_id"]
        code, [receipt] = ask(tmp_path, "runs", "cancel", run_id, *(["--now"] if now else []))
        assert (code, receipt["changed"]) == (0, True)
        assert [step["kind"] for step in receipt["in_flight"]] == ["request"]
        assert run.end() == 4
    kinds = [event["kind"] for event in run.records]
    assert kinds.count("cancelled") == 1
    assert kinds[-1] == "cancelled"
    asked = kinds.index("cancel_requested")
    assert not {"request", "tool_started"} & set(kinds[asked:])
    end = run.records[-1]["receipt"]
    assert [end["usage_after_request"][name] for name in SPENT] == [0, 0, 0]
    assert end["level"] == ("abort" if now else "boundary")
    code, [again] = ask(tmp_path, "runs", "cancel", run_id)
    assert (code, again["changed"]) == (0, False)
    _, aborted = ask(tmp_path, "audit", "list", "--action", "http_call_cancelled")
    assert [row["call_id"] for row in aborted] == end["calls_aborted"]
    assert len(aborted) == (1 if now else 0)


def test_cancel_while_backing_off_ends_at_once(tmp_path: Path) -> None:
    with command(tmp_path, "run", "x", "--model", "demo/flaky", "--json", pace=1) as run:
        limited = run.event("response", count=2)
        assert limited["error"]["code"] == "rate_limit"
        code, [receipt] = ask(tmp_path, "runs", "cancel", limited["run_id"])
        assert (code, receipt["in_flight"]) == (0, [])
        assert run.end() == 4
    kinds = [event["kind"] for event in run.records if event["seq"] is not None]
    assert kinds[-2:] == ["cancel_requested", "cancelled"]
    assert kinds.count("request") == 2


def test_attached_process_follows_detaches_and_harms_nothing(tmp_path: Path) -> None:
    with command(tmp_path, *ESSAY) as run:
        run_id = run.event("delta")["run_id"]
        with command(tmp_path, "runs", "attach", run_id, "--json") as follower:
            follower.event("request")
            follower.signal(SIGINT)
            assert follower.end() == 0
        assert "Detached; the run goes on.\n" in follower.errors
        _, [row] = ask(tmp_path, "runs", "list")
        assert (row["status"], row["cancelling"]) == ("running", False)
        with command(tmp_path, "runs", "attach", run_id, "--after", "0", "--json") as second:
            assert second.event("assembled")["seq"] == 1
            run.signal(SIGINT)
            run.says("once more aborts it")
            run.signal(SIGINT)
            assert run.end() == 4
            assert second.end() == 4
    stored = [event for event in run.records if event["seq"] is not None]
    assert second.records == stored[1:]


def test_cancel_all_stops_every_run(tmp_path: Path) -> None:
    with command(tmp_path, *ESSAY) as one, command(tmp_path, *ESSAY) as two:
        ids = {run.event("delta")["run_id"] for run in (one, two)}
        code, previews = ask(tmp_path, "runs", "cancel", "--all", "--dry-run")
        assert code == 0
        assert {preview["run_id"] for preview in previews} == ids
        code, receipts = ask(tmp_path, "runs", "cancel", "--all", "--now", "--reason", "home time")
        assert code == 0
        assert {receipt["run_id"] for receipt in receipts} == ids
        assert [one.end(), two.end()] == [4, 4]
    assert {run.records[-1]["receipt"]["reason"] for run in (one, two)} == {"home time"}


def test_demo_server_is_shared_and_ends_on_a_signal(tmp_path: Path) -> None:
    with command(tmp_path, "demo-server", "--json", pace=0) as server:
        wait_for(lambda: server.lines, "the server's URL")
        url = server.records[0]["url"]
        assert set(server.records[0]) == {"url"}
        with command(tmp_path, "run", "x", "--json", PLAYGROUND_DEMO_URL=url) as run:
            assert run.end() == 0
        asked = stats(url)
        server.signal(SIGTERM)
        assert server.end() == 0
    assert [entry["kind"] for entry in asked] == ["model", "model", "api", "model"]
    assert {entry["run_id"] for entry in asked} == {run.records[0]["run_id"]}
    assert {entry["end"] for entry in asked} == {"complete"}
    assert len(server.lines) == 1


def test_demo_server_serves_runs_of_another_database(tmp_path: Path) -> None:
    with demo_server(tmp_path, pace=0) as url:
        other = str(tmp_path / "other.db")
        with command(tmp_path, "run", "x", "--json", "--db", other, PLAYGROUND_DEMO_URL=url) as run:
            assert run.end() == 0
    results = [event["result"] for event in run.records if event["kind"] == "tool"]
    assert results[1].startswith("HTTP 200")

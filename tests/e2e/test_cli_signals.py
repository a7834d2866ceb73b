from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM, Signals

import pytest

from tests.e2e.cli_process import (
    Command,
    ask,
    command,
    demo_server,
    environment,
    stats,
    wait_for,
)

NOTHING = {
    "requests": 0,
    "input_tokens": 0,
    "output_tokens": 0,
    "cost_usd": None,
    "estimated": False,
}
ESSAY = ("run", "x", "--model", "demo/essay", "--json")


def statuses(folder: Path) -> list[str]:
    return [row["status"] for row in ask(folder, "runs", "list")[1]]


@pytest.mark.parametrize("number", [SIGINT, SIGTERM, SIGHUP])
def test_first_signal_stops_after_the_step_in_flight(tmp_path: Path, number: Signals) -> None:
    with command(tmp_path, *ESSAY, pace=0.02) as run:
        run.event("delta", count=20)
        run.signal(number)
        assert run.end() == 4
    stored = [event for event in run.records if event["seq"] is not None]
    assert [event["kind"] for event in stored[-3:]] == ["cancel_requested", "response", "cancelled"]
    assert stored[-2]["outcome"] == "ok"
    receipt = stored[-1]["receipt"]
    assert (receipt["level"], receipt["reason"]) == ("boundary", number.name)
    assert receipt["usage_after_request"] == NOTHING
    assert any("once more aborts it" in line for line in run.errors)


def test_second_signal_aborts_and_the_server_sees_the_socket_close(tmp_path: Path) -> None:
    with (
        demo_server(tmp_path) as url,
        command(tmp_path, *ESSAY, PLAYGROUND_DEMO_URL=url) as run,
    ):
        run.event("delta", count=5)
        run.signal(SIGINT)
        run.says("once more aborts it")
        run.signal(SIGTERM)
        assert run.end() == 4
        [request] = stats(url)
    assert request["end"] == "disconnected"
    assert request["tokens"] < 1_000
    stored = [event for event in run.records if event["seq"] is not None]
    assert [event["kind"] for event in stored].count("cancelled") == 1
    assert run.records[-1]["kind"] == "cancelled"
    response = stored[-2]
    assert (response["kind"], response["outcome"]) == ("response", "interrupted")
    assert len(response["text"]) > 10
    receipt = stored[-1]["receipt"]
    assert receipt["level"] == "abort"
    assert receipt["credentials_exposed"] == ["demo"]
    assert receipt["usage_after_request"] == NOTHING
    _, aborted = ask(tmp_path, "audit", "list", "--action", "http_call_cancelled")
    assert [row["call_id"] for row in aborted] == receipt["calls_aborted"]
    assert aborted[0]["run_id"] == request["run_id"]
    assert ask(tmp_path, "audit", "verify")[0] == 0


def test_human_output_ends_its_line_when_it_is_cut(tmp_path: Path) -> None:
    with command(tmp_path, *ESSAY[:-1]) as run:
        wait_for(lambda: len("".join(run.lines)) > 5, "some text")
        run.signal(SIGINT)
        run.says("once more aborts it")
        run.signal(SIGINT)
        assert run.end() == 4
    assert "".join(run.lines).endswith("\n")
    assert any(line.startswith("■ cancelled") for line in run.errors)
    assert not any("Traceback" in line or "Error" in line for line in run.errors)


def test_hangup_that_nohup_ignores_stays_ignored(tmp_path: Path) -> None:
    with command(tmp_path, *ESSAY, pace=0.02, ignore_hangup=True) as run:
        run.event("delta")
        run.signal(SIGHUP)
        assert run.end() == 0
    assert run.records[-1]["kind"] == "completed"


def test_broken_pipe_only_detaches_the_output(tmp_path: Path) -> None:
    run = Command(tmp_path, *ESSAY, pace=0.02)
    assert run.process.stdout is not None
    assert json.loads(run.process.stdout.readline())["kind"] == "started"
    run.process.stdout.close()
    assert run.end() == 0
    run.close()
    assert run.errors == []
    assert statuses(tmp_path) == ["completed"]


@pytest.mark.parametrize("scene", ["hostile", "essay"])
def test_reader_who_does_not_read_holds_up_neither_the_run_nor_the_way_out(
    tmp_path: Path, scene: str
) -> None:
    run = Command(tmp_path, "run", "x", "--model", f"demo/{scene}", "--json", pace=0.01)
    wait_for(lambda: statuses(tmp_path) == ["completed"], "the run's end")
    assert run.process.poll() is None, "the output is still waiting for its reader"
    run.signal(SIGINT)
    assert run.process.wait(10) == 0
    run.close()
    assert run.errors == []


def test_full_disk_under_the_output_fails_the_command_and_not_the_run(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        run = Command(tmp_path, "run", "x", "--json", pace=0, stdout=full)
        assert run.end() == 1
        run.close()
    assert run.errors == ["Output could not be written: No space left on device\n"]
    assert statuses(tmp_path) == ["completed"]


def test_closed_standard_streams_are_no_error(tmp_path: Path) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m core run x >&- 2>&- <&-"],
        cwd=tmp_path,
        env=environment(tmp_path, PLAYGROUND_DEMO_PACE="0"),
        timeout=30,
        check=False,
    )
    assert ended.returncode == 0
    assert statuses(tmp_path) == ["completed"]


def test_killed_run_is_closed_by_whoever_opens_the_store(tmp_path: Path) -> None:
    with command(tmp_path, *ESSAY) as run:
        run_id = run.event("delta", count=3)["run_id"]
        run.signal(SIGKILL)
        run.end()
    _, [shown] = ask(tmp_path, "runs", "show", run_id)
    assert (shown["status"], shown["termination_reason"]) == ("failed", "abandoned")
    code, events = ask(tmp_path, "runs", "attach", run_id)
    assert (code, events[-1]["kind"]) == (1, "failed")

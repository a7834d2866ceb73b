from __future__ import annotations

import pytest

from core.cli._cancel import Cancelling, cancel_runs
from core.cli._globals import Globals
from core.cli._output import Output
from core.cli._session import Session
from core.model import CancelLevel, RunRequest
from core.runtime import open_runtime
from tests.core.cli.conftest import Cli

NOBODY = "01890000-0000-7000-8000-000000000000"
ROW = {"run_id", "status", "cancelling", "termination_reason", "model", "created_at", "usage"}


@pytest.fixture
def run_id(cli: Cli) -> str:
    found: str = cli("run", "What is\nthe weather?", "--json").records[0]["run_id"]
    return found


def test_list_shows_the_newest_first(cli: Cli, run_id: str) -> None:
    second = cli("run", "x", "--model", "demo/denied", "--json").records[0]["run_id"]
    records = cli("runs", "list", "--json").records
    assert [record["run_id"] for record in records] == [second, run_id]
    assert set(records[0]) == ROW
    assert [record["status"] for record in records] == ["failed", "completed"]
    lines = cli("runs", "list").out.splitlines()
    assert len(lines) == 2
    assert "What is⏎the weather?" in lines[1]


def test_show_repeats_request_and_end(cli: Cli, run_id: str) -> None:
    record = cli("runs", "show", run_id, "--json").record
    assert record["run_id"] == run_id
    assert record["request"]["prompt"] == "What is\nthe weather?"
    assert record["end"]["kind"] == "completed"
    assert record["cancel"] is None
    assert record["open_steps"] == []
    assert record["events"] == record["end"]["seq"] + 1
    text = cli("runs", "show", run_id).out
    assert "Both calls are in the audit log." in text


def test_events_are_those_that_the_run_printed(cli: Cli) -> None:
    printed = cli("run", "x", "--json").records
    stored = [event for event in printed if event["seq"] is not None]
    run = stored[0]["run_id"]
    assert cli("runs", "events", run, "--json").records == stored
    assert len(cli("runs", "events", run).out.splitlines()) == len(stored)


def test_attach_replays_and_ends_as_the_run_ended(cli: Cli, run_id: str) -> None:
    ended = cli("runs", "attach", run_id)
    assert ended.code == 0
    assert "Both calls are in the audit log." in ended.out
    tail = cli("runs", "attach", run_id, "--after", "10", "--json").records
    assert [event["seq"] for event in tail] == [11, 12]
    beyond = cli("runs", "attach", run_id, "--after", "12", "--json")
    assert (beyond.code, beyond.out) == (0, "")
    failed = cli("run", "x", "--model", "demo/denied", "--json").records[0]["run_id"]
    assert cli("runs", "attach", failed).code == 1
    assert cli("runs", "attach", failed, "--after", "900").code == 1


def test_cancel_of_a_run_that_ended_otherwise_exits_1(cli: Cli, run_id: str) -> None:
    ended = cli("runs", "cancel", run_id, "--json")
    assert ended.code == 1
    assert ended.record["changed"] is False
    assert ended.record["why"] == "already completed"
    assert "not changed, already completed" in cli("runs", "cancel", run_id).out
    preview = cli("runs", "cancel", run_id, "--dry-run", "--json")
    assert preview.code == 1
    assert preview.record["would_change"] is False


@pytest.mark.parametrize(
    "argv",
    [
        ("runs", "show", NOBODY),
        ("runs", "events", NOBODY),
        ("runs", "attach", NOBODY),
        ("runs", "cancel", NOBODY),
        ("runs", "cancel", NOBODY, "--dry-run"),
        ("run", "x", "--after", NOBODY),
    ],
)
def test_unknown_run_exits_2(cli: Cli, argv: tuple[str, ...]) -> None:
    ended = cli(*argv)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("Unknown run: ")
    assert NOBODY in ended.err


def test_cancel_needs_one_run_or_all(cli: Cli, run_id: str) -> None:
    assert cli("runs", "cancel").code == 2
    assert cli("runs", "cancel", run_id, "--all").code == 2
    assert cli("runs", "cancel", "--all").code == 0


def wish(run_id: str | None = None, *, now: bool = False, dry_run: bool = False) -> Cancelling:
    return Cancelling(
        run_id=run_id, every=run_id is None, now=now, dry_run=dry_run, reason="enough"
    )


async def test_cancel_stops_a_live_run_and_repeats_harmlessly(
    database: object, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import json

    monkeypatch.setenv("PLAYGROUND_DEMO_PACE", "1")
    async with open_runtime(str(database)) as runtime:
        run = await runtime.start(RunRequest(prompt="x", model="demo/essay"))
        async with run.events() as events:
            async for event in events:
                if event.kind == "delta":
                    break

        async def command(wanted: Cancelling) -> tuple[int, list[dict[str, object]]]:
            out = Output(as_json=True)
            code = await cancel_runs(Session(Globals(db=str(database)), out), wanted)
            out.close()
            return code, [json.loads(line) for line in capfd.readouterr().out.splitlines()]

        code, [preview] = await command(wish(dry_run=True))
        assert code == 0
        assert preview["would_change"] is True
        assert (await run.status()).level is None

        code, [receipt] = await command(wish())
        assert code == 0
        assert receipt["changed"] is True
        assert receipt["in_flight"] == preview["in_flight"]
        assert receipt["level"] == "boundary"

        code, [again] = await command(wish(run.id))
        assert (code, again["changed"]) == (0, False)
        code, [raised] = await command(wish(run.id, now=True))
        assert (code, raised["changed"], raised["level"]) == (0, True, "abort")

        result = await run.wait()
        assert result.receipt is not None
        assert result.receipt.level is CancelLevel.ABORT
        assert result.receipt.reason == "enough"
        code, [late] = await command(wish(run.id))
        assert (code, late["changed"], late["why"]) == (0, False, "already cancelled")

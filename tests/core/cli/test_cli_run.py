from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.cli.conftest import Cli

STARTED_TO_END = [
    "started", "assembled", "request", "response", "tool_started", "tool",
    "request", "response", "tool_started", "tool", "request", "response", "completed",
]  # fmt: skip


def test_answer_goes_to_stdout_and_steps_to_stderr(cli: Cli) -> None:
    ended = cli("run", "How is the weather?")
    assert ended.code == 0
    assert "Both calls are in the audit log.\n" in ended.out
    assert "→" not in ended.out
    for part in ("get_weather", "http_get", "✓ completed", "3 rounds, 2 tool calls"):
        assert part in ended.err


def test_json_gives_every_event_started_first_and_the_end_last(cli: Cli) -> None:
    ended = cli("run", "x", "--json")
    stored = [event for event in ended.records if event["seq"] is not None]
    assert [event["kind"] for event in stored] == STARTED_TO_END
    assert [event["seq"] for event in stored] == list(range(len(stored)))
    assert ended.records[0]["kind"] == "started"
    assert ended.records[-1]["kind"] == "completed"
    deltas = [event for event in ended.records if event["kind"] == "delta"]
    answers = [event["text"] for event in stored if event["kind"] == "response"]
    assert "".join(delta["text"] for delta in deltas) == "".join(answers)
    assert ended.err == ""


def test_all_options_reach_the_run(cli: Cli) -> None:
    ended = cli(
        "run", "x", "--model", "demo/parallel", "--tool", "get_weather", "--system", "Be kind.",
        "--max-rounds", "3", "--max-tokens", "100", "--max-total-tokens", "9000",
        "--max-tool-calls", "9", "--temperature", "0.5", "--json",
    )  # fmt: skip
    assert ended.code == 0
    request = ended.records[0]["request"]
    assert request["model"] == "demo/parallel"
    assert request["tools"] == ["get_weather"]
    assert request["system"] == "Be kind."
    assert (request["max_rounds"], request["max_tokens"]) == (3, 100)
    assert (request["max_total_tokens"], request["max_tool_calls"]) == (9000, 9)
    assert request["temperature"] == 0.5


def test_prompt_comes_from_stdin(cli: Cli) -> None:
    ended = cli("run", "-", "--json", "--dry-run", stdin="Grüße\n\n".encode())
    assert ended.records[0]["request"]["prompt"] == "Grüße\n"


def test_prompt_that_looks_like_an_option_stands_behind_two_dashes(cli: Cli) -> None:
    ended = cli("--json", "run", "--dry-run", "--", "--json")
    assert ended.records[0]["request"]["prompt"] == "--json"


def test_dry_run_shows_the_prompt_and_sends_nothing(cli: Cli) -> None:
    ended = cli("run", "Hello there", "--dry-run", "--system", "Be kind.")
    assert ended.code == 0
    assert ended.out == "system: Be kind.\nuser: Hello there\n"
    kinds = [event["kind"] for event in cli("run", "x", "--dry-run", "--json").records]
    assert kinds == ["started", "assembled", "completed"]
    assert cli("audit", "list", "--action", "http_call", "--json").out == ""


def test_run_continues_the_transcript_of_another(cli: Cli) -> None:
    first = cli("run", "The first question", "--json").records[0]["run_id"]
    ended = cli("run", "And then?", "--after", first, "--dry-run", "--json")
    messages = ended.records[1]["messages"]
    assert messages[0]["content"] == "The first question"
    assert messages[-1]["content"] == "And then?"
    assert len(messages) > 4


def test_model_of_the_configuration_is_found_anywhere_on_the_line(cli: Cli, tmp_path: Path) -> None:
    config = tmp_path / "my.toml"
    config.write_text(
        '[models.mine]\nprovider = "openai-chat"\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\n'
    )
    ended = cli("run", f"--config={config}", "x", "--model", "mine", "--dry-run")
    assert ended.code == 0
    names = [record["name"] for record in cli("models", "--json", "--config", str(config)).records]
    assert names[0] == "demo"
    assert names[-1] == "mine"


def test_truncated_answer_is_still_done(cli: Cli) -> None:
    ended = cli("run", "x", "--model", "demo/loop", "--max-rounds", "1", "--json")
    assert ended.code == 0
    assert ended.records[-1]["kind"] == "completed"
    assert ended.records[-1]["truncated"] is True


def test_failed_run_says_why_and_exits_1(cli: Cli) -> None:
    ended = cli("run", "x", "--model", "demo/denied")
    assert ended.code == 1
    assert ended.out == ""
    assert "✗ failed" in ended.err
    record = cli("run", "x", "--model", "demo/denied", "--json").records[-1]
    assert record["kind"] == "failed"
    assert record["error"]["code"] == "auth"


def test_foreign_text_cannot_control_the_terminal(cli: Cli) -> None:
    ended = cli("run", "x", "--model", "demo/hostile")
    assert ended.code == 0
    for text in (ended.out, ended.err):
        assert not [c for c in text if (c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f"]
        assert not {"\u202e", "\u2066", "\u200b", "\ufeff"} & set(text)
    assert "␛[" in ended.out + ended.err
    raw = cli("run", "x", "--model", "demo/hostile", "--json").out
    assert raw.isascii()
    assert not [c for c in raw if (c < " " and c != "\n") or c == "\x7f"]


@pytest.mark.parametrize("group", [[], ["runs"], ["audit"], ["secret"]])
def test_help_is_plain_and_goes_to_stdout(cli: Cli, group: list[str]) -> None:
    ended = cli(*group, "--help")
    assert ended.code == 0
    assert ended.out.startswith("Usage: playground")
    assert "╭" not in ended.out
    assert ended.err == ""


def test_version(cli: Cli) -> None:
    ended = cli("--version")
    assert ended.code == 0
    name, number = ended.out.split()
    assert name == "stepbrake"
    assert cli("--json", "--version").record == {"version": number}

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.cli._output import Output, to_line


class Pipe:
    """A pipe with ``sys.stdout`` at its writing end."""

    def __init__(self) -> None:
        self.reader, writer = os.pipe()
        self.stream = os.fdopen(writer, "w")

    def output(self, monkeypatch: pytest.MonkeyPatch) -> Output:
        """Return an output into the pipe."""
        monkeypatch.setattr(sys, "stdout", self.stream)
        return Output(as_json=False)

    def drain(self) -> bytes:
        """Read until the writing end is closed."""
        data = b""
        while piece := os.read(self.reader, 65_536):
            data += piece
        return data


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    os.close(made.reader)
    if not made.stream.closed:
        made.stream.close()


def test_streams_keep_to_their_kind(capfd: pytest.CaptureFixture[str]) -> None:
    out = Output(as_json=False)
    out.line("data")
    out.note("narration \x1b[2J")
    out.record({"a": 1})
    out.error({"b": "\x7fé"})
    out.close()
    captured = capfd.readouterr()
    assert captured.out == 'data\n{"a":1}\n'
    assert captured.err == 'narration ␛[2J\n{"b":"\\u007f\\u00e9"}\n'


def test_line_is_ended_once(capfd: pytest.CaptureFixture[str]) -> None:
    out = Output(as_json=False)
    out.end_line()
    out.piece("ab")
    out.piece("")
    out.end_line()
    out.end_line()
    out.close()
    assert capfd.readouterr().out == "ab\n"


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(max_size=9), st.text(max_size=40) | st.none(), max_size=4))
def test_record_is_one_line_of_printable_ascii_and_reads_back(value: dict[str, object]) -> None:
    line = to_line(value)
    assert line.endswith("\n")
    assert all(" " <= c <= "~" for c in line[:-1])
    assert json.loads(line) == value


def test_reader_who_leaves_only_detaches(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    os.close(pipe.reader)
    pipe.reader = os.open(os.devnull, os.O_RDONLY)
    out = pipe.output(monkeypatch)
    out.line("lost")
    out.line("lost too")
    out.close()
    assert out.detached
    assert out.failure is None
    pipe.stream.close()


def test_full_disk_is_a_failure_with_a_message(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        out = Output(as_json=False)
        out.line("lost")
        out.close()
    assert out.detached
    assert out.failure is not None
    assert out.failure.errno == errno.ENOSPC
    assert capfd.readouterr().err == "Output could not be written: No space left on device\n"


@pytest.mark.parametrize("closed", [True, False])
def test_missing_stdout_is_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, closed: bool
) -> None:
    stream = (tmp_path / "out").open("w")
    stream.close()
    monkeypatch.setattr(sys, "stdout", stream if closed else None)
    out = Output(as_json=False)
    out.line("lost")
    out.close()
    assert out.detached
    assert out.failure is None


async def test_slow_reader_never_blocks_the_loop_and_loses_nothing(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = pipe.output(monkeypatch)
    blocks = 0

    async def produce() -> None:
        nonlocal blocks
        for _ in range(600):
            out.piece("x" * 1_000)
            await out.room()
            blocks += 1

    producing = asyncio.create_task(produce())
    ticks = 0
    async with asyncio.timeout(10):
        while blocks < 250 or ticks < 500:
            await asyncio.sleep(0)
            ticks += 1
    assert not producing.done(), "nobody reads: the producer has to wait"
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.drain()))
    reader.start()
    await producing
    await asyncio.to_thread(out.close)
    pipe.stream.close()
    reader.join(10)
    assert len(read[0]) == 600_000


def test_reader_who_does_not_read_can_be_abandoned(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = pipe.output(monkeypatch)
    writer = next(thread for thread in threading.enumerate() if thread.name == "output")
    out.piece("y" * 1_000_000)
    out.abandon()
    out.close()
    assert not out.detached
    # The writer hangs in the kernel; reading lets its thread end before the pipe goes.
    reader = threading.Thread(target=pipe.drain)
    reader.start()
    writer.join(10)
    assert not writer.is_alive()
    pipe.stream.close()
    reader.join(10)


def test_last_words_reach_a_reader_who_reads(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    written = threading.Event()

    def slow_write(descriptor: int, data: bytes) -> int:
        written.wait(0.1)  # as on a machine that is busy
        return os.writev(descriptor, [data])

    out = pipe.output(monkeypatch)
    monkeypatch.setattr("core.cli._output.os.write", slow_write)
    out.abandon()
    out.line("Detached")
    out.close()
    pipe.stream.close()
    assert pipe.drain() == b"Detached\n"


def test_pipe_that_does_not_block_gets_everything(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.set_blocking(pipe.stream.fileno(), False)
    out = pipe.output(monkeypatch)
    out.piece("z" * 500_000)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.drain()))
    reader.start()
    out.close()
    pipe.stream.close()
    reader.join(10)
    assert len(read[0]) == 500_000


def test_stream_without_a_descriptor_is_written_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    out = Output(as_json=False)
    out.line("■ é")
    out.close()
    assert stream.getvalue() == "■ é\n"


def test_narrow_encoding_shows_what_it_cannot_write(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (tmp_path / "out").open("w", encoding="ascii") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        out = Output(as_json=False)
        out.line("■ é")
        out.close()
    assert (tmp_path / "out").read_text() == "\\u25a0 \\xe9\n"

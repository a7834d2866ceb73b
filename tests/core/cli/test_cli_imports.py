from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
HEAVY = {"rich", "textual", "openai", "anthropic", "mcp"}


COMMANDS = (
    "--help",
    "nonsense",
    "run x",
    "runs list",
    "runs cancel --all",
    "audit list",
    "audit verify",
    "secret list",
    "models",
    "tools",
    "doctor",
    "schema",
    "--version",
)


def loaded_after(tmp_path: Path, *commands: str) -> dict[str, set[str]]:
    """Run command lines in one fresh process; return what was loaded after each."""
    code = (
        "import sys, core\n"
        "for line in sys.argv[1:]:\n"
        "    core.main(line.split())\n"
        "    names = {name.partition('.')[0] for name in sys.modules}\n"
        "    print('LOADED', line, *names, sep='|', file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *commands],
        cwd=ROOT,
        env={
            **os.environ,
            "PLAYGROUND_DB": str(tmp_path / "x.db"),
            "PLAYGROUND_DEMO_PACE": "0",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    marks = [line.split("|") for line in ended.stderr.splitlines() if line.startswith("LOADED|")]
    return {mark[1]: set(mark[2:]) for mark in marks}


def test_no_command_loads_a_terminal_library_or_a_vendor_sdk(tmp_path: Path) -> None:
    loaded = loaded_after(tmp_path, *COMMANDS)
    assert set(loaded) == set(COMMANDS)
    assert not {line: names & HEAVY for line, names in loaded.items() if names & HEAVY}
    assert "core" in loaded["run x"]


def test_listing_models_needs_neither_store_nor_transport(tmp_path: Path) -> None:
    [loaded] = loaded_after(tmp_path, "models").values()
    assert not loaded & {"aiosqlite", "pysqlite3", "sqlite3", "pycurl"}
    assert not (tmp_path / "x.db").exists()


def test_importing_the_entry_points_loads_no_parser() -> None:
    code = (
        "import sys, core, core.cli\n"
        "core.main\n"
        "assert not {'typer', 'pydantic', 'rich'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=30)

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted([*(ROOT / "core").rglob("*.py"), *(ROOT / "playground").rglob("*.py")])
# pydantic pins it to the digit and documents its serializer as part of itself.
PART_OF = {"pydantic_core": "pydantic"}


def project() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return found


def declared() -> set[str]:
    names = set()
    for requirement in project()["project"]["dependencies"]:
        name = requirement.split(";")[0]
        for sign in "<>=!~[ ":
            name = name.split(sign)[0]
        names.add(name.replace("-", "_").lower())
    return names


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_import_is_a_declared_dependency(path: Path) -> None:
    names = {PART_OF.get(name, name) for name in imported(path)}
    foreign = names - set(sys.stdlib_module_names) - {"core", "playground"}
    assert foreign <= declared()


def test_no_source_file_is_longer_than_400_lines() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in SOURCES
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 400
    }
    assert long == {}


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(' '.join(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(run.stdout.split())


HEAVY = {"textual", "rich", "pydantic", "pycurl", "openai", "anthropic", "httpx", "cryptography"}


def test_importing_core_loads_nothing_heavy() -> None:
    loaded = modules_after("import core")
    assert not loaded & HEAVY
    assert len(loaded) < len(modules_after("import aiosqlite"))


def test_opening_a_runtime_loads_no_screen() -> None:
    loaded = modules_after("import core; core.open_runtime")
    assert not loaded & {"textual", "rich", "openai", "anthropic", "httpx"}

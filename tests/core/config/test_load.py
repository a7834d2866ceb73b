from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.config import (
    Config,
    CredentialEntry,
    ModelEntry,
    config_path,
    database_path,
    default_database,
    load_config,
)
from core.errors import ConfigError

GOOD = """\
[models.local]
provider = "openai-chat"
base_url = "http://127.0.0.1:8080/v1/"
model = "qwen3"
credential = "local-key"

[models."big/one"]
provider = "openai-chat"
base_url = "https://api.example.com/v1"
model = "large"

[credentials.local-key]
placement = "header"
field = "X-Api-Key"
hosts = ["127.0.0.1:8080", "*.example.com", "[::1]:90"]

[credentials.plain]
"""


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "config.toml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    return caught.value


def test_good_file_gives_frozen_entries(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    config = load_config(path)
    assert config.models["local"] == ModelEntry(
        name="local",
        provider="openai-chat",
        base_url="http://127.0.0.1:8080/v1",
        model="qwen3",
        credential="local-key",
    )
    assert config.models["big/one"].credential is None
    assert config.credentials["local-key"] == CredentialEntry(
        name="local-key",
        placement="header",
        field="X-Api-Key",
        hosts=("127.0.0.1:8080", "*.example.com", "[::1]:90"),
    )
    assert config.credentials["plain"] == CredentialEntry(name="plain")
    assert config.path == path
    with pytest.raises(TypeError):
        config.models["x"] = config.models["local"]  # type: ignore[index]


def test_missing_default_file_is_an_empty_configuration() -> None:
    assert load_config() == Config()


def test_default_file_of_the_platform_is_read(home: Path) -> None:
    path, named = config_path()
    assert not named
    assert home in path.parents
    path.parent.mkdir(parents=True)
    path.write_text(GOOD)
    assert set(load_config().models) == {"local", "big/one"}


def test_environment_names_the_file_and_an_argument_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, GOOD)
    monkeypatch.setenv("PLAYGROUND_CONFIG", str(path))
    assert load_config().path == path
    other = tmp_path / "other.toml"
    other.write_text("")
    assert load_config(other) == Config(path=other)
    monkeypatch.setenv("PLAYGROUND_CONFIG", "")
    assert load_config() == Config()


def test_named_file_has_to_exist(tmp_path: Path) -> None:
    error = refusal(tmp_path / "nope.toml")
    assert "no such configuration file" in error.what
    assert error.where == str(tmp_path / "nope.toml")
    assert error.exit_code == 2


def test_directory_is_named_as_such(tmp_path: Path) -> None:
    assert "is a directory" in refusal(tmp_path).what


def test_file_that_cannot_be_opened_gives_the_reason(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    assert "cannot be read: Not a directory" in refusal(path / "below").what


def test_path_that_no_file_can_have_is_refused() -> None:
    assert "cannot be read" in refusal(Path("a" * 5000)).what
    assert "\0" not in refusal(Path("nul\0byte")).where


def test_damaged_file_is_told_from_a_wrong_one(tmp_path: Path) -> None:
    error = refusal(written(tmp_path, b"[models]\n" + b"\0" * 4096))
    assert "NUL" in error.what
    assert error.where.endswith("config.toml:2")


def test_bytes_that_are_not_utf8_are_found_by_line(tmp_path: Path) -> None:
    error = refusal(written(tmp_path, b"# one\n# two\nx = '\xff'\n"))
    assert "UTF-8" in error.what
    assert error.where.endswith("config.toml:3")


def test_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    assert set(load_config(written(tmp_path, b"\xef\xbb\xbf" + GOOD.encode())).models) == {
        "local",
        "big/one",
    }


def test_huge_file_is_not_parsed(tmp_path: Path) -> None:
    assert "1 MB" in refusal(written(tmp_path, b"#" * 1_000_001)).what


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("[models.local\n", 1),
        ("[models.a]\nmodel = bare\n", 2),
        ("a = 1\na = 2\n", 2),
        ('x = "open\n', 1),
        ("x = [", 1),
        ("\n\nx = '''", 3),
    ],
)
def test_bad_toml_names_its_line(tmp_path: Path, content: str, line: int) -> None:
    error = refusal(written(tmp_path, content))
    assert "not valid TOML" in error.what
    assert error.where.endswith(f"config.toml:{line}")


def test_deep_nesting_is_an_error_and_no_crash(tmp_path: Path) -> None:
    error = refusal(written(tmp_path, "x = " + "[" * 100_000))
    assert "nested" in error.what or "not valid TOML" in error.what


MODEL = '[models.a]\nprovider = "openai-chat"\nbase_url = "https://h/v1"\nmodel = "m"\n'


@pytest.mark.parametrize(
    ("content", "line", "what", "hint"),
    [
        ("[model.a]\n", 1, "model is not a known key", "Did you mean models?"),
        (MODEL + 'credentail = "k"\n', 5, "models.a.credentail", "Did you mean credential?"),
        ("[models.a]\n", 1, "lacks provider", "Add it"),
        (
            '# c\n[models.a]\nprovider = "openai_chat"\nbase_url = "https://h"\nmodel = "m"\n',
            3,
            "must be 'openai-chat'",
            "Did you mean openai-chat?",
        ),
        (MODEL.replace("https://h/v1", "ftp://h"), 3, "must be a URL", ""),
        (MODEL.replace("https://h/v1", "https://u:p@h"), 3, "must be a URL", ""),
        (MODEL.replace("https://h/v1", "https://h/v1?k=v"), 3, "must be a URL", ""),
        (MODEL.replace("https://h/v1", "https://h:99999"), 3, "must be a URL", ""),
        (MODEL.replace("https://h/v1", "https://h:/v1"), 3, "must be a URL", ""),
        (MODEL.replace("https://h/v1", "https://*.h/v1"), 3, "must be a URL", ""),
        (MODEL.replace("https://h/v1", "https://127.1/v1"), 3, "must be a URL", ""),
        (MODEL.replace('"m"', "7"), 4, "models.a.model must be text in quotes", ""),
        ("models = 3\n", 1, "models must be a table", ""),
        ("[models]\na = 1\n", 2, "models.a must be a table", ""),
        (MODEL.replace("models.a", "models.demo"), 1, "reserved", ""),
        (MODEL.replace("models.a", 'models."demo/mine"'), 1, "reserved", ""),
        (MODEL.replace("models.a", 'models."has space"'), 1, "no valid name", ""),
        (MODEL + 'credential = "sk-ABC!"\n', 5, "never its value", ""),
        ('[credentials.k]\nplacement = "cookie"\n', 2, "'bearer', 'basic'", "Valid names"),
        ('[credentials.k]\nplacement = "header"\n', 1, "needs 'field'", ""),
        ('[credentials.k]\nfield = "X"\n', 2, "is not for placement 'bearer'", ""),
        ('[credentials.k]\nplacement = "header"\nfield = "a b"\n', 3, "header's name", ""),
        ('[credentials.k]\nhosts = [\n  "ok.example",\n  "https://h/"\n]\n', 2, "must be host", ""),
        ('[credentials.k]\nhosts = ["h:99999"]\n', 2, "must be host", ""),
        ("[credentials.k]\nhosts = []\n", 2, "at least 1", ""),
        ('[credentials.k]\nhosts = "h"\n', 2, "must be a list", ""),
        ("[credentials.k]\nusername = 'u'\n", 2, "only for placement 'basic'", ""),
        ("[credentials.k]\nplacement = 'header'\nfield = 'Host'\n", 3, "the server expects", ""),
        ("[credentials.demo]\n", 1, "reserved", ""),
        ("[queue]\n", 1, "queue is not a known key", "Valid names: credentials, keys, models"),
    ],
)
def test_invalid_value_is_placed_and_explained(
    tmp_path: Path, content: str, line: int, what: str, hint: str
) -> None:
    error = refusal(written(tmp_path, content))
    assert what in error.what
    assert hint in error.hint
    assert error.where == f"{tmp_path / 'config.toml'}:{line}"


def test_mistyped_key_comes_before_the_one_it_stands_for(tmp_path: Path) -> None:
    error = refusal(written(tmp_path, MODEL.replace("model =", "modle =")))
    assert "models.a.modle" in error.what
    assert "1 more" in error.hint


def test_no_value_of_the_file_is_repeated_in_an_error(tmp_path: Path) -> None:
    canary = "sk-CANARY-0123456789"
    contents = [
        MODEL + f'credential = "{canary}"\n',
        MODEL.replace("https://h/v1", f"https://h/?key={canary}"),
        f'[credentials.k]\nhosts = ["{canary}/"]\n',
        f'[credentials.k]\nplacement = "{canary}"\n',
    ]
    for content in contents:
        error = refusal(written(tmp_path, content))
        assert canary not in f"{error!r} {error} {error.what} {error.where} {error.hint}"


def test_database_path_prefers_the_argument_then_the_environment(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home in default_database().parents
    assert default_database().name == "playground.db"
    assert database_path() == str(default_database())
    monkeypatch.setenv("PLAYGROUND_DB", "/tmp/env.db")
    assert database_path() == "/tmp/env.db"
    assert database_path("here.db") == "here.db"


def test_validator_loads_only_when_there_is_something_to_check(tmp_path: Path) -> None:
    import subprocess

    path = written(tmp_path, "# nothing\n")
    code = (
        "import sys; from core.config import load_config;"
        f"load_config(); load_config({str(path)!r});"
        "assert 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[3])

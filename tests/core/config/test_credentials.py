from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.config import CredentialEntry, KeysEntry, OAuthEntry, load_config
from core.errors import ConfigError

GOOD = """\
[credentials.basic]
placement = "basic"
username = "me"

[credentials.api]
placement = "api_key"
tools = ["http_get", "lookup"]
expires = 2027-01-31T12:00:00Z

[credentials.query]
placement = "query"
field = "access.token"
expires = 2027-01-31

[credentials.body]
placement = "body_field"
field = "key"
body_fields = { other = "secret-a", _third = "secret-b" }
tools = []

[credentials.token]
placement = "oauth2"
hosts = ["api.example.com"]

[credentials.token.oauth]
token_url = "https://id.example.com/token?v=2"
grant = "refresh_token"
client_id = "client 1"
client_secret = "client-secret"
refresh_token = "refresh"
scopes = ["read", "write:all"]
params = { audience = "https://api.example.com" }
expiry_buffer_seconds = 0

[credentials.machine]
placement = "oauth2"
oauth.token_url = "http://127.0.0.1:99/t"
oauth.grant = "client_credentials"
oauth.client_id = "c"
oauth.client_secret = "s"
"""


def loaded(tmp_path: Path, content: str) -> dict[str, CredentialEntry]:
    path = tmp_path / "config.toml"
    path.write_text(content)
    return dict(load_config(path).credentials)


def microseconds(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * 1_000_000  # type: ignore[misc,arg-type]


def test_every_placement_has_its_entry(tmp_path: Path) -> None:
    entries = loaded(tmp_path, GOOD)
    assert entries["basic"] == CredentialEntry(name="basic", placement="basic", username="me")
    assert entries["api"] == CredentialEntry(
        name="api",
        placement="api_key",
        tools=("http_get", "lookup"),
        expires_us=microseconds(2027, 1, 31, 12),
    )
    assert entries["query"] == CredentialEntry(
        name="query", placement="query", field="access.token", expires_us=microseconds(2027, 2, 1)
    )
    assert entries["body"] == CredentialEntry(
        name="body",
        placement="body_field",
        field="key",
        tools=(),
        body_fields=(("other", "secret-a"), ("_third", "secret-b")),
    )
    assert entries["token"] == CredentialEntry(
        name="token",
        placement="oauth2",
        hosts=("api.example.com",),
        oauth=OAuthEntry(
            token_url="https://id.example.com/token?v=2",
            grant="refresh_token",
            client_id="client 1",
            client_secret="client-secret",
            refresh_token="refresh",
            scopes=("read", "write:all"),
            params=(("audience", "https://api.example.com"),),
            expiry_buffer_s=0,
        ),
    )
    assert entries["machine"].oauth == OAuthEntry(
        token_url="http://127.0.0.1:99/t",
        grant="client_credentials",
        client_id="c",
        client_secret="s",
    )


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2027-01-31", (2027, 2, 1)),
        ("2027-01-31T00:00:00", (2027, 1, 31)),
        ("2027-01-31 01:00:00+01:00", (2027, 1, 31)),
        ("1999-12-31", (2000, 1, 1)),
    ],
)
def test_a_date_lasts_until_its_end_and_a_bare_time_is_utc(
    tmp_path: Path, written: str, moment: tuple[int, ...]
) -> None:
    entries = loaded(tmp_path, f"[credentials.k]\nexpires = {written}\n")
    assert entries["k"].expires_us == microseconds(*moment)


K = "[credentials.k]\n"
OAUTH = (
    K + 'placement = "oauth2"\n[credentials.k.oauth]\ntoken_url = "https://h/t"\n'
    'grant = "client_credentials"\nclient_id = "c"\nclient_secret = "s"\n'
)
REFRESH = OAUTH.replace("client_credentials", "refresh_token")
TRANSIT = '[keys]\nprovider = "transit"\nurl = "https://h"\nkey = "k"\n'
FIELDS = K + 'placement = "body_field"\n[credentials.k.body_fields]\n'


@pytest.mark.parametrize(
    ("content", "line", "what", "hint"),
    [
        (K + 'placment = "basic"\n', 2, "credentials.k.placment", "Did you mean placement?"),
        (K + 'placement = "baisc"\n', 2, "must be 'bearer', 'basic'", "Did you mean basic?"),
        (K + 'placement = "query"\nfield = "a=b"\n', 3, "query parameter's name", ""),
        (K + 'placement = "query"\nfield = ""\n', 3, "query parameter's name", ""),
        (K + 'placement = "body_field"\nfield = "1a"\n', 3, "body field's name", ""),
        (K + 'placement = "api_key"\nfield = "Host"\n', 3, "the server expects", ""),
        (K + 'placement = "basic"\nfield = "X"\n', 3, "is not for placement 'basic'", ""),
        (K + 'field = "X"\nplacement = "oauth2"\n', 2, "is not for placement 'oauth2'", ""),
        (K + 'placement = "basic"\nusername = "a:b"\n', 3, "without ':'", ""),
        (K + 'placement = "basic"\nusername = ""\n', 3, "1 to 255", ""),
        (K + 'placement = "query"\nusername = "a"\n', 3, "only for placement 'basic'", ""),
        (K + 'expires = "2027-01-31"\n', 2, "without quotes", ""),
        (K + "expires = 12:00:00\n", 2, "must be a date or a time", ""),
        (K + "expires = 5\n", 2, "must be a date or a time", ""),
        (K + "expires = 9999-12-31\n", 2, "too far", ""),
        (K + 'tools = ["a", "a"]\n', 2, "twice", ""),
        (K + 'tools = "a"\n', 2, "must be a list", ""),
        (K + 'tools = [""]\n', 2, "at least 1", ""),
        (FIELDS + '"1a" = "s"\n', 4, "body field's name", ""),
        (FIELDS + '"a-b" = "s"\n', 4, "body field's name", ""),
        (FIELDS + f'{"a" * 65} = "s"\n', 4, "body field's name", ""),
        (FIELDS + 'a = "Not a name"\n', 4, "never its value", ""),
        (FIELDS + 'a = "demo"\n', 4, "reserved", ""),
        (FIELDS + "a = 1\n", 4, "must be text in quotes", ""),
        (FIELDS + 'api_key = "s"\n', 4, "own field already", ""),
        (FIELDS + "".join(f'f{n} = "s"\n' for n in range(9)), 3, "at most 8", ""),
        (K + 'placement = "oauth2"\n', 1, "needs a table 'oauth'", ""),
        (OAUTH.replace('"oauth2"', '"bearer"'), 3, "only for placement 'oauth2'", ""),
        (OAUTH.replace("https://h/t", "http://h/t"), 4, "must begin with https://", ""),
        (OAUTH.replace("https://h/t", "http://10.0.0.1/t"), 4, "must begin with https://", ""),
        (OAUTH.replace("https://h/t", "http://localhost/t"), 4, "must begin with https://", ""),
        (OAUTH.replace("https://h/t", "https://u:p@h/t"), 4, "must be a URL", ""),
        (OAUTH.replace("https://h/t", "https://h/t#x"), 4, "must be a URL", ""),
        (OAUTH.replace("https://h/t", "https://*.h/t"), 4, "must be a URL", ""),
        (OAUTH.replace("client_cred", "cleint_cred"), 5, "must be", "Did you mean client_cred"),
        (OAUTH.replace('client_id = "c"\n', ""), 3, "lacks client_id", "Add it"),
        (OAUTH.replace("client_id", "cleint_id"), 6, "oauth.cleint_id", "Did you mean client_id?"),
        (OAUTH.replace('client_id = "c"', 'client_id = "ü"'), 6, "printable ASCII", ""),
        (OAUTH.replace('secret = "s"', 'secret = "S3cret!"'), 7, "never its value", ""),
        (OAUTH + 'refresh_token = "r"\n', 8, "only for grant 'refresh_token'", ""),
        (REFRESH, 3, "needs 'refresh_token'", ""),
        (REFRESH + 'refresh_token = "s"\n', 8, "another secret than 'client_secret'", ""),
        (OAUTH + 'scopes = ["a b"]\n', 8, "without spaces", ""),
        (OAUTH + 'scopes = ["a", "a"]\n', 8, "twice", ""),
        (OAUTH + "expiry_buffer_seconds = -1\n", 8, "greater than or equal to 0", ""),
        (OAUTH + "expiry_buffer_seconds = 1.5\n", 8, "a whole number", ""),
        (OAUTH + '[credentials.k.oauth.params]\nscope = "x"\n', 9, "said by the token request", ""),
        (OAUTH + '[credentials.k.oauth.params]\na = "x\\n"\n', 9, "printable", ""),
        (OAUTH + "[credentials.k.oauth.params]\na = 1\n", 9, "text in quotes", ""),
        ("[credentials.demo-key]\n", 1, "reserved", ""),
        ('[keys]\nprovider = "flie"\n', 2, "must be 'file'", "Did you mean file?"),
        ('[keys]\npaht = "x"\n', 2, "keys.paht", "Did you mean path?"),
        ('[keys]\nprovider = "environment"\npath = "x"\n', 3, "not for provider 'env", ""),
        ('[keys]\nservice = "x"\n', 2, "not for provider 'file'", ""),
        ('[keys]\nprovider = "transit"\nkey = "k"\n', 1, "needs 'url'", ""),
        ('[keys]\nprovider = "transit"\nurl = "https://h"\n', 1, "needs 'key'", ""),
        (
            '[keys]\nprovider = "transit"\nurl = "http://h"\nkey = "k"\n',
            3,
            "must begin with https://",
            "",
        ),
        (
            '[keys]\nprovider = "transit"\nurl = "https://h"\nkey = "../x"\n',
            4,
            "must be a name",
            "",
        ),
        (
            '[keys]\nprovider = "transit"\nurl = "https://h"\nkey = "k"\nmount = "a/../b"\n',
            5,
            "must be a path of names",
            "",
        ),
        (
            '[keys]\nprovider = "transit"\nurl = "https://h"\nkey = "k"\n'
            'token_variable = "hvs.CAESIJ"\n',
            5,
            "never the token",
            "",
        ),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_placed_and_explained(
    tmp_path: Path, content: str, line: int, what: str, hint: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    error = caught.value
    assert what in error.what
    assert hint in error.hint
    assert error.where == f"{path}:{line}"


def test_keys_have_their_entry(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[keys]\nprovider = "file"\npath = "~/my.key"\n')
    assert load_config(path).keys == KeysEntry(path=home / "my.key")
    path.write_text(
        '[keys]\nprovider = "transit"\nurl = "https://vault.example:8200/"\nkey = "playground"\n'
        'mount = "a/b"\n'
    )
    assert load_config(path).keys == KeysEntry(
        provider="transit", url="https://vault.example:8200", key="playground", mount="a/b"
    )
    path.write_text("[models]\n")
    assert load_config(path).keys == KeysEntry()


def test_no_value_is_repeated_in_an_error(tmp_path: Path) -> None:
    canary = "sk-CANARY-0123456789"
    contents = [
        K + f'placement = "query"\nfield = "{canary}&"\n',
        K + f'placement = "basic"\nusername = "{canary}:x"\n',
        K + f'username = "{canary}"\n',
        FIELDS + f'a = "{canary}"\n',
        OAUTH.replace('"c"', f'"{canary}ü"'),
        OAUTH.replace('"s"', f'"{canary}"'),
        OAUTH.replace("https://h/t", f"http://h/{canary}"),
        OAUTH + f'params = {{ client_secret = "{canary}" }}\n',
        f'[keys]\nprovider = "{canary}"\n',
        TRANSIT + f'token_variable = "{canary}"\n',
    ]
    path = tmp_path / "config.toml"
    for content in contents:
        path.write_text(content)
        with pytest.raises(ConfigError) as caught:
            load_config(path)
        error = caught.value
        assert canary not in f"{error!r} {error.what} {error.where} {error.hint}"

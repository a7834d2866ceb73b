"""The master key wrapped by HashiCorp Vault's Transit engine, or one that speaks like it.

Only what the engine made of the key lies on disk; opening it takes the server and a token.
API: https://developer.hashicorp.com/vault/api-docs/secret/transit
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.adapters._transit_call import TransitFailed, blocking, post
from core.config import config_folder, is_header_value
from core.keys import MasterKey, PrivateFile

_WRAPPED = re.compile(r"vault:v[0-9]{1,9}:[A-Za-z0-9+/=]{1,4096}")
_KEY_ID = re.compile(r"[0-9a-f]{16}")


class TransitKeyProvider:
    """Keeps the wrapped master key in a file of its owner's (mode 0600).

    A line of the file is what the engine made of a key, and the key's id; the key in use
    is the first. Every method that needs a key not yet opened calls the server and blocks
    for at most ten seconds.

    Args:
        url: the server, e.g. ``https://vault.example.com:8200``.
        key: the engine's key.
        mount: where the engine is mounted.
        token_variable: the environment variable that holds the token.
        path: the file; None: ``stepbrake/master.transit`` in the user's configuration
            directory.
        ca_file: trusted certificates, None for the system's.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        mount: str = "transit",
        token_variable: str = "VAULT_TOKEN",  # noqa: S107 - a variable's name
        path: Path | None = None,
        ca_file: str | None = None,
    ) -> None:
        self.path = path or config_folder("path in [keys]") / "master.transit"
        self._file = PrivateFile(
            self.path, what="wrapped key's file", elsewhere="set path in [keys]"
        )
        self._server = url
        self._operation = f"{url}/v1/{mount}/{{}}/{key}"
        self._token_variable = token_variable
        self._ca_file = ca_file
        self._opened: dict[str, MasterKey] = {}  # by what the engine made of them

    @property
    def place(self) -> str:
        """Return where the key is, for a person."""
        return f"{self.path}, opened by {self._server}"

    @property
    def present(self) -> bool:
        """Return whether there is a key already; the server is not asked."""
        return self.path.exists()

    def master_key(self, *, make: bool = False) -> MasterKey:
        """Return the key in use.

        Args:
            make: make the key if there is no file.

        Raises:
            SecretUnavailable: there is no file and none may be made, it cannot be used, or
                the server does not open it.
        """
        lines = self._lines()
        if not lines and make:
            self._file.create(self._wrap(MasterKey.random()))
            lines = self._lines()
        if not lines:
            raise self._file.unavailable(
                "There is no master key",
                "Restore the file: without it secrets and the log's proof are lost.",
            )
        return self._open(*next(iter(lines.items())))

    def find(self, key_id: str) -> MasterKey | None:
        """Return the key of this id, None if the file does not hold it.

        Raises:
            SecretUnavailable: the file cannot be used, or the server does not open it.
        """
        for wrapped, named in self._lines().items():
            if named == key_id:
                return self._open(wrapped, named)
        return None

    def renew(self, key_id: str) -> MasterKey:
        """Return the key that follows ``key_id``; a new one goes on the file's first line.

        Raises:
            SecretUnavailable: there is no key, the file cannot be written, or the server
                does not wrap a new one.
        """
        self.master_key()
        with self._file.locked():
            self._file.sweep()
            in_use = self.master_key()
            if in_use.key_id != key_id:
                return in_use
            lines = "".join(f"{wrapped} {named}\n" for wrapped, named in self._lines().items())
            self._file.replace(self._wrap(MasterKey.random()) + lines)
        return self.master_key()

    def _lines(self) -> Mapping[str, str]:
        """Return what the engine made of each key, with the key's id."""
        text = self._file.read()
        lines: dict[str, str] = {}
        for line in (text or "").splitlines():
            wrapped, _, named = line.strip().partition(" ")
            if not _WRAPPED.fullmatch(wrapped) or not _KEY_ID.fullmatch(named):
                raise self._damaged()
            lines[wrapped] = named
        if text is not None and not lines:
            raise self._damaged()
        return lines

    def _wrap(self, key: MasterKey) -> str:
        plaintext = base64.b64encode(key.reveal()).decode()
        wrapped = self._ask("encrypt", {"plaintext": plaintext}, "ciphertext")
        if not _WRAPPED.fullmatch(wrapped):
            raise self._odd_answer()
        self._opened[wrapped] = key
        return f"{wrapped} {key.key_id}\n"

    def _open(self, wrapped: str, named: str) -> MasterKey:
        key = self._opened.get(wrapped)
        if key is None:
            plaintext = self._ask("decrypt", {"ciphertext": wrapped}, "plaintext")
            try:
                key = MasterKey(base64.b64decode(plaintext, validate=True))
            except ValueError:
                raise self._odd_answer() from None
            self._opened[wrapped] = key
        if key.key_id != named:
            raise self._damaged()
        return key

    def _ask(self, operation: str, content: dict[str, str], wanted: str) -> str:
        token = os.environ.get(self._token_variable, "").strip()
        if not token or not is_header_value(token):
            raise TransitFailed(
                "There is no token for the Transit server",
                where=self._token_variable,
                hint="Set this variable to a token that may encrypt and decrypt.",
            )
        url = self._operation.format(operation)

        async def call() -> dict[str, Any]:
            return await post(url, token, content, ca_file=self._ca_file)

        answer = blocking(call).get(wanted)
        if not isinstance(answer, str):
            raise self._odd_answer()
        return answer

    def _odd_answer(self) -> TransitFailed:
        return TransitFailed(
            "The Transit server's answer holds no key of ours",
            where=self._server,
            hint="Check the key and the mount in [keys].",
        )

    def _damaged(self) -> Exception:
        return self._file.unavailable(
            "The wrapped key's file is damaged", "Restore it from a backup."
        )

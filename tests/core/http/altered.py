"""The transport with its options or belts taken off, as a test wants them."""

from __future__ import annotations

from typing import Any

import pycurl
import pytest

from core.http import _curl_options as options
from core.http._curl_options import HARDENING
from core.http._curl_transfer import CurlTransfer


class Altered:
    """Options set as a test wants them, and the belts beside them taken off."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch

    def without(self, *dropped: str, **unsafe: int | str) -> None:
        """Drop options, or set them to another value; others are left as they are."""
        names = {option.name for option in HARDENING}
        assert {*dropped, *unsafe} <= names
        kept = [
            option._replace(value=unsafe.get(option.name, option.value))
            for option in HARDENING
            if option.name not in dropped
        ]
        self._patch.setattr(options, "HARDENING", tuple(kept))

    def also(self, **extra: int | str) -> None:
        """Set options that we never set."""
        real = options.template

        def template(cafile: str | None) -> Any:
            easy = real(cafile)
            for name, value in extra.items():
                easy.setopt(getattr(pycurl, name), value)
            return easy

        self._patch.setattr(options, "template", template)

    def unguarded(self) -> None:
        """Let libcurl look names up, go anywhere and ask again."""
        self._patch.setattr(options, "_refuse_lookup", lambda *_: 0)
        self._patch.setattr(CurlTransfer, "_may_connect", lambda *_: True)
        real = CurlTransfer._before_request

        def again(transfer: CurlTransfer, *about: Any) -> int:
            transfer._asked = False
            return real(transfer, *about)

        self._patch.setattr(CurlTransfer, "_before_request", again)

"""Log records on their way to a person."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Self

from core.text._known import KnownSecrets


class MaskedHandler(logging.Handler):
    """Shows warnings and worse, tracebacks too, without known secrets and secret shapes.

    Inside its block it stands where Python's own handler of last resort would: nothing is
    installed where a program that embeds us has handlers.

    Args:
        known: the secrets.
        write: takes a record's text, from any thread.
    """

    def __init__(self, known: KnownSecrets, write: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._known = known
        self._show = write

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        try:
            self._show(self.format(record))
        except Exception:
            # The standard way out prints the record as it is.
            self._show("A log record could not be written.")

    def format(self, record: logging.LogRecord) -> str:
        """Return a record's text and its traceback, masked."""
        from core.text._redact import redact

        return redact(self._known.mask(logging.Formatter().format(record)))

    def __enter__(self) -> Self:
        root = logging.getLogger()
        if not root.handlers:
            root.addHandler(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        logging.getLogger().removeHandler(self)

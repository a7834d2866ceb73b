"""Whom to tell on the loop that something happened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Callbacks(Generic[P]):
    """Callbacks in the order they came; one's fault does not keep the others from hearing.

    Args:
        who: what one of them is called when it fails.
    """

    def __init__(self, who: str) -> None:
        self._who = who
        self._callbacks: dict[object, Callable[P, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def add(self, callback: Callable[P, None]) -> Callable[[], None]:
        """Add one; return what takes it away again."""
        token = object()
        self._callbacks[token] = callback

        def remove() -> None:
            self._callbacks.pop(token, None)

        return remove

    def clear(self) -> None:
        """Take all of them away."""
        self._callbacks.clear()

    def tell(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call each of them, on the loop."""
        for callback in tuple(self._callbacks.values()):
            try:
                callback(*args, **kwargs)
            except Exception as error:
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"A {self._who} of the store failed", "exception": error}
                )

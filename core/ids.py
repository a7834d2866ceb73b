"""Identifiers: time-ordered, so that indexes grow at their end."""

from __future__ import annotations

import os
import time
import uuid
from typing import Protocol


def uuid7() -> str:
    """Return a UUID of version 7 as text: 48 bits of milliseconds, 74 random bits.

    Source: RFC 9562, section 5.7.
    """
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return str(uuid.UUID(int=value))


class Ids(Protocol):
    """Where new identifiers come from; tests pass a counter."""

    def run(self) -> str:
        """Return the id of a new run."""

    def call(self) -> str:
        """Return the id of a new outbound call, the key of its audit row."""


class RandomIds:
    """Identifiers nobody can guess."""

    def run(self) -> str:
        """Return a new run id."""
        return uuid7()

    def call(self) -> str:
        """Return a new call id."""
        return uuid7()

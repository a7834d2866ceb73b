"""A small file of its owner's: whole or not there, never readable by others."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from core.errors import SecretUnavailable

_MAX_BYTES = 65_536


class PrivateFile:
    """A file that holds keys or what stands for them.

    Args:
        path: the file.
        what: what an error calls it: ``master key file``.
        elsewhere: how another place is named, for the hint of an error.
    """

    def __init__(self, path: Path, *, what: str, elsewhere: str) -> None:
        self.path = path
        self._what = what
        self._elsewhere = elsewhere

    def read(self) -> str | None:
        """Return the content, None if there is no file.

        Raises:
            SecretUnavailable: it cannot be read, others can read it, or it is no file.
        """
        try:
            # Non-blocking: a FIFO in the file's place must not hang the program.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.unavailable(
                f"The {self._what} cannot be read: {error.strerror}", "Check its permissions."
            ) from None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise self.unavailable(
                    f"The {self._what} is no regular file", "Name the right one."
                )
            if status.st_mode & 0o077:
                raise self.unavailable(
                    f"The {self._what} can be read by others", f"Run `chmod 600 {self.path}`."
                )
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read(_MAX_BYTES).decode("ascii", "replace")
        finally:
            os.close(descriptor)

    def create(self, content: str) -> None:
        """Make the file; of two that race the first one's stays.

        Raises:
            SecretUnavailable: it cannot be made.
        """
        with self._explained("made"):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = self._write_aside(content)
            try:
                with suppress(FileExistsError):
                    os.link(temporary, self.path)
            finally:
                temporary.unlink()
            _sync_folder(self.path.parent)

    def replace(self, content: str) -> None:
        """Put a new content in the place of the old one; durable on return.

        Raises:
            SecretUnavailable: it cannot be written.
        """
        with self._explained("written"):
            temporary = self._write_aside(content)
            try:
                os.replace(temporary, self.path)
            except BaseException:
                temporary.unlink()
                raise
            _sync_folder(self.path.parent)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out of this block."""
        with self._explained("locked"):
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def sweep(self) -> None:
        """Remove what killed writers left beside the file; call it in ``locked``."""
        for left in self.path.parent.glob(f".{self.path.name}.*.new"):
            left.unlink(missing_ok=True)

    def unavailable(self, what: str, hint: str) -> SecretUnavailable:
        """Return an error that names the file."""
        return SecretUnavailable(what, code="secret_locked", where=str(self.path), hint=hint)

    def _write_aside(self, content: str) -> Path:
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}.new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        return temporary

    @contextmanager
    def _explained(self, done: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.unavailable(
                f"The {self._what} cannot be {done}: {error.strerror}",
                f"Choose a place that can be written: {self._elsewhere}.",
            ) from None


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

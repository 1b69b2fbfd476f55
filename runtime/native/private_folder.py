"""A folder that nobody but its owner can have written to, and whole files in it.

Everything is done relative to the opened folder and never follows a symbolic link, so what was checked is what is used.
POSIX alone. Tests: tests/runtime/native/test_private_folder.py.
"""

import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from isa.errors import VTAError

__all__ = ["PrivateFolder", "UntrustedError", "private_folder"]

_TEMPORARY = ".tmp"
_ABANDONED_AFTER = 3600
"""Seconds after which a temporary file has no writer any more: writing takes less than one."""

_OPEN = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class UntrustedError(VTAError, RuntimeError):
    """A file or folder that somebody else may have written, or read what is secret in it."""


@contextmanager
def private_folder(base: Path, *names: str) -> Iterator["PrivateFolder"]:
    """Open the folder ``base/names...``; those of ``names`` that are missing are made, for their owner alone.

    ``base`` may be anybody's; what it names may not. Raises ``UntrustedError`` for a folder below it that is not this
    user's or that others may write to, and ``OSError`` where there is none and none can be made.
    """
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    path, descriptor = base, os.open(base, _OPEN & ~getattr(os, "O_NOFOLLOW", 0) | os.O_DIRECTORY)
    try:
        for name in names:
            path, outer = path / name, descriptor
            descriptor = _opened(path, name, outer)
            os.close(outer)
        yield PrivateFolder(path, descriptor)
    finally:
        os.close(descriptor)


def _opened(path: Path, name: str, outer: int) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=outer)
    if not stat.S_ISDIR(os.stat(name, dir_fd=outer, follow_symlinks=False).st_mode):
        raise UntrustedError(f"{path}: expected a folder, and it is something else; take it away")
    descriptor = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=outer)
    try:
        _check(path, os.fstat(descriptor), stat.S_IWGRP | stat.S_IWOTH)
    except UntrustedError:
        os.close(descriptor)
        raise
    return descriptor


def _check(path: Path, found: os.stat_result, forbidden: int) -> None:
    """Raise ``UntrustedError`` unless this user owns the thing, and its mode has none of the bits ``forbidden``."""
    if found.st_uid != os.geteuid():
        raise UntrustedError(f"{path}: expected user {os.geteuid()} as its owner, and it is user {found.st_uid}")
    if found.st_mode & forbidden:
        mode, kept = stat.S_IMODE(found.st_mode), stat.S_IMODE(found.st_mode) & ~forbidden
        verb = "read" if forbidden & stat.S_IRGRP else "write to"
        raise UntrustedError(
            f"{path}: others may {verb} it (mode {mode:o}); set it to {kept:o} if you trust its contents"
        )


@dataclass(frozen=True, slots=True)
class PrivateFolder:
    """An open folder that is its owner's alone; files appear in it whole or not at all."""

    path: Path
    descriptor: int

    def read(self, name: str, *, secret: bool = False) -> bytes | None:
        """Return the contents of a file, None if there is none.

        Raises ``UntrustedError`` unless it is a regular file of this user's to which others may not write (which they
        may not read either, if it is ``secret``), and ``OSError`` if it cannot be read.
        """
        try:
            descriptor = os.open(name, _OPEN | getattr(os, "O_NONBLOCK", 0), dir_fd=self.descriptor)
        except FileNotFoundError:
            return None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise UntrustedError(f"{self.path / name}: expected a regular file, and it is something else")
            others = stat.S_IRWXG | stat.S_IRWXO if secret else stat.S_IWGRP | stat.S_IWOTH
            _check(self.path / name, found, others)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(descriptor)

    def write(self, name: str, data: bytes) -> None:
        """Write a file, in place of the one that there may be; raises ``OSError``."""
        with self._temporary(name, data) as temporary:
            os.replace(temporary, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def write_new(self, name: str, data: bytes) -> None:
        """Write a file; raises ``FileExistsError`` if there is one, and ``OSError``."""
        with self._temporary(name, data) as temporary:
            os.link(temporary, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor, follow_symlinks=False)

    @contextmanager
    def _temporary(self, name: str, data: bytes) -> Iterator[str]:
        """Write ``data`` to a file that is gone in the end, unless it has another name by then."""
        self._sweep()
        temporary = f"{name}.{secrets.token_hex(8)}{_TEMPORARY}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(temporary, flags, 0o600, dir_fd=self.descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            yield temporary
        finally:
            self._remove(temporary)

    def _sweep(self) -> None:
        """Take away what a process that was killed left behind."""
        for name in os.listdir(self.descriptor):
            if name.endswith(_TEMPORARY):
                try:
                    age = time.time() - os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_mtime
                except FileNotFoundError:
                    continue
                if age > _ABANDONED_AFTER:
                    self._remove(name)

    def _remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)

"""A file gets new contents at once, or stays as it was.

Tests: ``tests/isa/test_whole_file.py``.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import IO

__all__ = ["open_whole", "write_whole"]


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Make ``data`` the contents of the file ``path``: the old one, if any, stays whole until the new one is.

    A link stays a link, and what is no file (a pipe, a device) is written to, not replaced. Raises ``OSError`` with the
    file's name.
    """
    with open_whole(path) as file:
        file.write(data)


@contextlib.contextmanager
def open_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open ``path`` for new contents, as ``write_whole`` does: an exception inside leaves the old ones."""
    target = os.path.realpath(os.fspath(path))
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            with open(target, "wb") as special:
                yield special
        else:
            with _replacing(target) as file:
                yield file
    except OSError as error:
        if error.filename is not None and error.filename != target:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None  # a full disk gives no name


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[IO[bytes]]:
    try:
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=os.path.dirname(path))
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None  # not the name of the temporary file
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    """Return the file creation mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

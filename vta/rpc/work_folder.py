"""The files of a session: one flat folder, out of which no name leads.

Tests: tests/vta/front/test_rpc.py, tests/vta/rpc/test_server.py.
"""

import os
from pathlib import Path

from vta.rpc.errors import RpcError
from vta.temporary_folder import TemporaryFolder

__all__ = ["WorkFolder", "plain_path"]

_LONGEST_NAME = 255
"""Bytes of a file's name, on every system that there is."""

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class WorkFolder:
    """Files by plain names, at most ``limit`` bytes of them, deleted with this object or by ``remove_all``.

    A file that arrives in pieces is kept aside until its last piece, so a name stands for a whole file.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._folder = TemporaryFolder("vta-session-")
        self._limit = limit
        self.path = self._folder.path / "files"
        self._aside = self._folder.path / "aside"
        self.path.mkdir(mode=0o700)
        self._aside.mkdir(mode=0o700)

    def place(self, name: str) -> Path:
        """Return where the file called ``name`` is, or would be; raises ``RpcError`` for a name with a folder in it."""
        return plain_path(self.path, name)

    def existing(self, name: str) -> Path:
        """Return where a file is that is there; raises ``RpcError``, which lists what there is."""
        path = self.place(name)
        if path.is_symlink() or not path.is_file():
            uploaded = ", ".join(sorted(p.name for p in path.parent.iterdir())) or "nothing"
            raise RpcError(f"no file {name!r} was uploaded to this session; there is {uploaded}")
        return path

    def write(self, name: str, data: bytes, *, offset: int = 0, last: bool = True) -> None:
        """Write a piece of a file; with the ``last`` one it takes its name."""
        target = self.place(name)
        self._require_room(len(data))
        aside = self._aside / name
        flags = os.O_WRONLY | os.O_CREAT | _NO_FOLLOW | (os.O_TRUNC if offset == 0 else 0)
        with os.fdopen(os.open(aside, flags, 0o600), "wb") as file:
            if file.seek(0, os.SEEK_END) != offset:
                raise RpcError(f"{name!r}: a piece begins at byte {offset}, and {file.tell()} bytes are there")
            file.write(data)
        if last:
            os.replace(aside, target)

    def read(self, name: str, *, offset: int = 0, most: int | None = None) -> bytes:
        """Return a piece of a file, or all of it."""
        with os.fdopen(os.open(self.existing(name), os.O_RDONLY | _NO_FOLLOW), "rb") as file:
            file.seek(offset)
            return file.read(-1 if most is None else most)

    def size(self, name: str) -> int:
        """Return the bytes of a file."""
        return self.existing(name).stat().st_size

    def remove(self, name: str) -> None:
        """Delete a file."""
        self.existing(name).unlink()

    def remove_all(self) -> None:
        """Delete the folder with everything in it."""
        self._folder.remove()

    def _require_room(self, nbytes: int) -> None:
        if self._limit is None:
            return
        used = sum(
            entry.stat(follow_symlinks=False).st_size for f in (self.path, self._aside) for entry in os.scandir(f)
        )
        if used + nbytes > self._limit:
            raise RpcError(f"the files of this session may have {self._limit} bytes, and {used} are there; remove some")


def plain_path(folder: Path, name: str) -> Path:
    """Return where the file called ``name`` is in ``folder``; raises ``RpcError`` for a name with a folder in it."""
    if not _is_plain(name):
        raise RpcError(f"{name!r}: files of a session have plain names, without folders")
    return folder / name


def _is_plain(name: str) -> bool:
    """Whether ``name`` can be that of a file, and of nothing but a file in a folder."""
    try:
        encoded = os.fsencode(name)
    except (TypeError, UnicodeEncodeError):
        return False
    return Path(name).name == name and name not in ("", "..") and b"\0" not in encoded and len(encoded) <= _LONGEST_NAME

"""Writing files: new contents at once or not at all, through no link that a stranger could have planted.

Every file that is written for a user goes through here. A new file has no name until it has its contents, where the
system can do that (Linux), so that a process that is killed leaves nothing behind; elsewhere it is called
``.NAME.tmp`` until then. Tests: ``tests/isa/test_whole_file.py``.
"""

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import IO, TextIO

__all__ = ["open_growing", "open_growing_text", "open_whole", "write_new", "write_whole"]

_ANYBODY, _OWNER = 0o666, 0o600
"""Modes of new files: what the user's mask leaves of the first, or for the owner alone."""

_MOST_LINKS = 40
"""How many links in a row are followed: as many as Linux follows."""

_MOST_OF_ONE_NAME = 100
"""Files that ``write_new`` makes room for beside one that is somebody else's."""


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Make ``data`` the contents of the file ``path``: the old one, if any, stays whole until the new one is.

    A link stays a link, and anything but a regular file (a pipe, a device) is written to, not replaced. Raises
    ``OSError`` with the file's name; in a folder that all may write to (``/tmp``), also for another user's link.
    """
    with open_whole(path) as file:
        file.write(data)


@contextlib.contextmanager
def open_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open ``path`` for new contents, as ``write_whole`` does: an exception inside leaves the old ones."""
    with _named(path):
        target = _through_links(os.fspath(path))
        if _is_special(target):
            with os.fdopen(os.open(target, os.O_WRONLY), "wb") as special:
                yield special
            return
        with _new_file(target, _ANYBODY) as new:
            with new.opened() as file:
                yield file
            new.replace(target)


@contextlib.contextmanager
def open_growing(path: str | os.PathLike[str]) -> Iterator[FileIO]:
    """Open ``path``, a new file from the start, for contents that can be read while they grow; nothing is buffered.

    An exception inside leaves what there is. Where it could not be written (a full disk), or nothing has been written
    yet, the file is removed.
    """
    with _named(path):
        target = _through_links(os.fspath(path))
        if _is_special(target):
            with os.fdopen(os.open(target, os.O_WRONLY), "wb", buffering=0) as special:
                yield special
            return
        with _new_file(target, _ANYBODY) as new, new.opened_raw() as file:
            new.replace(target)
            try:
                yield file
            except BaseException as error:
                failed = isinstance(error, OSError) and error.filename is None  # as it is for a file that is open
                if failed or not new.size:
                    with contextlib.suppress(OSError):
                        os.unlink(target)
                raise


@contextlib.contextmanager
def open_growing_text(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open ``path`` as ``open_growing`` does, for text in UTF-8; it is buffered, so flush what is to be read."""
    with open_growing(path) as file:
        text = TextIOWrapper(BufferedWriter(file), "utf-8")
        try:
            yield text
        except OSError:
            raise  # what could not be written is not tried again
        except BaseException:
            text.flush()
            raise
        text.flush()


def write_new(folder: str | os.PathLike[str], name: str, suffix: str, data: bytes) -> str:
    """Write ``data`` into a new file in ``folder``, which others may write to as well; return its path.

    The path is ``NAME-DIGEST`` and the suffix: the same data in the same folder are written once. Nothing that is there
    already is changed or followed, and only the owner may read the file. Raises ``OSError``.
    """
    digest = hashlib.sha256(data).hexdigest()[:16]
    for number in range(1, _MOST_OF_ONE_NAME + 1):
        path = os.path.join(folder, f"{name}-{digest}{f'-{number}' if number > 1 else ''}{suffix}")
        if _is_own(path, data):
            return path
        try:
            with _named(path), _new_file(path, _OWNER) as new:
                with new.opened() as file:
                    file.write(data)
                new.place(path)
        except FileExistsError:
            continue
        return path
    raise OSError(errno.EEXIST, f"there are {_MOST_OF_ONE_NAME} files of this name already", path)


class _NewFile:
    """A file in the folder of ``target`` that nobody sees before it gets a name; every ``OSError`` names ``target``."""

    def __init__(self, target: str, mode: int) -> None:
        self._target = target
        self._temporary = ""
        with self._of_target():
            self._descriptor = self._created(os.O_WRONLY | os.O_CLOEXEC, mode)

    def opened(self) -> IO[bytes]:
        """Return it, open for writing; what closes that, or wraps it and closes that, does not close this one."""
        return os.fdopen(os.dup(self._descriptor), "wb")

    def opened_raw(self) -> FileIO:
        """Return it as ``opened`` does, without a buffer."""
        return FileIO(os.dup(self._descriptor), "wb")

    def _created(self, flags: int, mode: int) -> int:
        nameless = getattr(os, "O_TMPFILE", 0)
        if nameless:
            try:
                return os.open(self._folder, flags | nameless, mode)
            except OSError as error:  # file systems that have no such files say one of these
                if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
                    raise
        self._temporary = self._unused()
        return os.open(self._temporary, flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)

    @property
    def size(self) -> int:
        """Bytes that it holds."""
        return os.fstat(self._descriptor).st_size

    def place(self, path: str) -> None:
        """Give it its name; ``FileExistsError`` if that is taken."""
        with self._of_target():
            self._link(path)

    def replace(self, path: str) -> None:
        """Give it its name, in place of a file that has it."""
        with self._of_target():
            if not self._temporary:
                try:
                    self._link(path)
                    return
                except FileExistsError:
                    temporary = self._unused()
                    self._link(temporary)
                    self._temporary = temporary
            os.replace(self._temporary, path)
            self._temporary = ""

    def close(self) -> None:
        """Close it; without a name of its own, it is gone."""
        os.close(self._descriptor)
        if self._temporary:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)

    @property
    def _folder(self) -> str:
        return os.path.dirname(self._target) or os.curdir

    def _unused(self) -> str:
        name = os.path.basename(self._target)[:50]  # with all that is added, no longer than names may be
        return os.path.join(self._folder, f".{name}.{secrets.token_hex(8)}.tmp")

    def _link(self, path: str) -> None:
        if self._temporary:
            os.link(self._temporary, path)
            os.unlink(self._temporary)
            self._temporary = ""
            return
        folder = os.open(self._folder, os.O_RDONLY)
        try:  # only with a folder given does os.link follow the link that /proc has for an open file
            source = f"/proc/self/fd/{self._descriptor}"
            os.link(source, os.path.basename(path), dst_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(folder)

    @contextlib.contextmanager
    def _of_target(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._target) from None


@contextlib.contextmanager
def _new_file(target: str, mode: int) -> Iterator[_NewFile]:
    new = _NewFile(target, mode)
    try:
        yield new
    finally:
        new.close()


@contextlib.contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Give an ``OSError`` the name that the caller knows, where it has none or that of what a link leads to."""
    target = os.path.realpath(path)
    try:
        yield
    except OSError as error:
        if isinstance(error.filename, str) and os.path.realpath(error.filename) != target:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None  # a full disk gives no name


def _through_links(path: str) -> str:
    """Return the file that ``path`` stands for: itself if it is no link, or leads to a device or a pipe.

    ``PermissionError`` for a link of another user in a folder that all may write to: Linux refuses those to programs
    that open them, too (``fs.protected_symlinks``).
    """
    target = path
    for _ in range(_MOST_LINKS):
        try:
            link = os.lstat(target)
        except FileNotFoundError:
            break
        if not stat.S_ISLNK(link.st_mode):
            break
        folder = os.stat(os.path.dirname(target) or os.curdir)
        shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
        if shared and link.st_uid not in (os.geteuid(), folder.st_uid):
            raise OSError(errno.EACCES, "a link of another user in a folder that all may write to", path)
        target = os.path.join(os.path.dirname(target), os.readlink(target))
    else:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return path if _is_special(path) else target  # /proc has links that only the system can follow


def _is_special(path: str) -> bool:
    """Whether there is something other than a regular file: a device, a pipe, a folder."""
    return os.path.exists(path) and not os.path.isfile(path)


def _is_own(path: str, data: bytes) -> bool:
    """Whether there is a file of this user with these contents; a link does not count."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_size == len(data)
        return own and file.read(len(data) + 1) == data

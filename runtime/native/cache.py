"""What was compiled, in the user's cache directory: one file for each key, whole or not there.

``$XDG_CACHE_HOME/vta-toolchain`` (by default below ``~/.cache``), a folder for each kind of thing. Whoever can write
there could have their code run, so folders and files must be this user's alone, and each file carries a keyed digest of
what it is kept for and of its contents. The secret is not in the cache but in ``$XDG_STATE_HOME/vta-toolchain`` (by
default below ``~/.local/state``): a cache that was unpacked, restored or shared does not bring its own. A file without
a right digest counts as missing. Where there is no place for a cache, or one that is not to be trusted, nothing is
kept, and a ``CacheWarning`` says why. Files may be deleted at any time. Tests: tests/runtime/native/test_cache.py.
"""

import hashlib
import hmac
import os
import secrets
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from isa.errors import VTAError
from runtime.native.private_folder import PrivateFolder, UntrustedError, private_folder

__all__ = ["CacheWarning", "cache_directory", "cached"]

_FOLDER = "vta-toolchain"
_SECRET_FILE = "cache.secret"
_SECRET_BYTES = 32
_MAGIC = b"vta-cache 2\n"


class CacheWarning(UserWarning):
    """Nothing is kept for the next process, which will have to compile again."""


class _NoPlaceError(VTAError):
    """Neither the variable nor a home directory says where files may lie."""


def cache_directory(kind: str) -> Path:
    """Return the directory of what is kept of one kind; it need not exist."""
    return _base("XDG_CACHE_HOME", ".cache") / _FOLDER / kind


def cached(kind: str, key: str, make: Callable[[], bytes]) -> bytes:
    """Return the bytes of a ``kind`` that are kept under ``key``, any text; make and keep them if there are none."""
    try:
        with _store(kind) as store:
            body = store.get(key)
    except (UntrustedError, _NoPlaceError) as error:
        warnings.warn(f"what is compiled is not kept for the next time: {error}", CacheWarning, stacklevel=2)
        return make()
    except OSError:
        return make()
    if body is None:
        body = make()
        _keep(kind, key, body)
    return body


def _keep(kind: str, key: str, body: bytes) -> None:
    """Keep a body if that can be done; why it could not was said when it was looked for."""
    with suppress(UntrustedError, _NoPlaceError, OSError), _store(kind) as store:
        store.put(key, body)


def _base(variable: str, *below_home: str) -> Path:
    """Return what an XDG variable says, or its default."""
    named = os.environ.get(variable, "")
    if os.path.isabs(named):
        return Path(named)
    try:
        return Path.home().joinpath(*below_home)
    except RuntimeError:
        raise _NoPlaceError(f"there is no home directory; set {variable} to a folder of your own") from None


@contextmanager
def _store(kind: str) -> Iterator["_Store"]:
    with private_folder(_base("XDG_STATE_HOME", ".local", "state"), _FOLDER) as state:
        secret = _secret(state)
    with private_folder(_base("XDG_CACHE_HOME", ".cache"), _FOLDER, kind) as folder:
        yield _Store(folder, kind, secret)


def _secret(state: PrivateFolder) -> bytes:
    """Return this user's secret; it is made when it is first asked for."""
    found = state.read(_SECRET_FILE, secret=True)
    if found is None:
        with suppress(FileExistsError):  # another process was first
            state.write_new(_SECRET_FILE, secrets.token_bytes(_SECRET_BYTES))
        found = state.read(_SECRET_FILE, secret=True)
    if found is None or len(found) != _SECRET_BYTES:
        size = 0 if found is None else len(found)
        raise UntrustedError(f"{state.path / _SECRET_FILE}: expected {_SECRET_BYTES} bytes, not {size}; delete it")
    return found


@dataclass(frozen=True, slots=True)
class _Store:
    folder: PrivateFolder
    kind: str
    secret: bytes

    def get(self, key: str) -> bytes | None:
        """Return what is kept under ``key``; None for nothing, and for what was not written with this secret."""
        data = self.folder.read(_name(key)) or b""
        start = len(_MAGIC) + hashlib.sha256().digest_size
        digest, body = data[len(_MAGIC) : start], data[start:]
        if data.startswith(_MAGIC) and hmac.compare_digest(digest, self._digest(key, body)):
            return body
        return None

    def put(self, key: str, body: bytes) -> None:
        self.folder.write(_name(key), _MAGIC + self._digest(key, body) + body)

    def _digest(self, key: str, body: bytes) -> bytes:
        """Return the keyed digest of a body and of what it is kept for, so that no file stands in for another one."""
        use = hashlib.sha256(f"{self.kind}\n{key}".encode()).digest()
        return hmac.digest(self.secret, _MAGIC + use + body, "sha256")


def _name(key: str) -> str:
    return f"{hashlib.sha256(key.encode()).hexdigest()}.image"

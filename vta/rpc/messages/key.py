"""The shared key: 32 random bytes, written as hexadecimal digits in a file that only its owner reads.

Whoever has it may use a server as its owner could. It never travels (``handshake``). Without a file that is
named, a user's own server and client share ``rpc.key`` in the user's state folder, made when it is first needed.
Tests: tests/vta/rpc/test_key.py.
"""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from isa.errors import VTAError
from runtime.native.private_folder import private_folder

__all__ = ["KEY_VARIABLE", "Key", "KeyFileError", "read_key", "users_key", "write_key"]

KEY_VARIABLE = "VTA_RPC_KEY_FILE"
"""Environment variable that names the file."""

_BYTES = 32
_FOLDER = "vta-toolchain"
_NAME = "rpc.key"


class KeyFileError(VTAError, ValueError):
    """A file that has no key in it, or one that others can read."""


class Key(bytes):
    """A shared key; it does not print itself."""

    def __repr__(self) -> str:
        return "<key>"

    __str__ = __repr__


def read_key(path: str | os.PathLike[str]) -> Key:
    """Return the key in a file; raises ``KeyFileError`` if others may read it, or there is none in it."""
    where = os.fspath(path)
    try:
        with open(where, "rb") as file:
            found = os.fstat(file.fileno())
            data = file.read(4096)
    except OSError as error:
        raise KeyFileError(f"{where}: the key cannot be read: {error.strerror}") from None
    if stat.S_ISREG(found.st_mode) and found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise KeyFileError(f"{where}: others may read the key (mode {stat.S_IMODE(found.st_mode):o}); chmod 600 it")
    return _key(data, where)


def write_key(path: str | os.PathLike[str]) -> None:
    """Write a new key to a new file; raises ``KeyFileError`` if there is a file."""
    where = os.fspath(path)
    try:
        descriptor = os.open(where, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise KeyFileError(f"{where}: no key is written: {error.strerror}; name a new file") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(_new())


def users_key() -> Key:
    """Return the key that VTA_RPC_KEY_FILE names, or else the user's own, which is made if there is none."""
    named = os.environ.get(KEY_VARIABLE)
    if named:
        return read_key(named)
    base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    try:
        with private_folder(base, _FOLDER) as folder:
            with suppress(FileExistsError):
                if folder.read(_NAME, secret=True) is None:
                    folder.write_new(_NAME, _new().encode())
            data = folder.read(_NAME, secret=True)
    except OSError as error:
        raise KeyFileError(
            f"{base / _FOLDER / _NAME}: no key can be kept there: {error.strerror}; name a file with --key-file"
        ) from None
    return _key(data or b"", str(base / _FOLDER / _NAME))


def _new() -> str:
    return secrets.token_hex(_BYTES) + "\n"


def _key(data: bytes, where: str) -> Key:
    try:
        key = bytes.fromhex(data.decode("ascii").strip())
    except (UnicodeDecodeError, ValueError):
        key = b""
    if len(key) < _BYTES:
        raise KeyFileError(
            f"{where}: expected a key of {2 * _BYTES} hexadecimal digits; `vta serve --new-key FILE` writes one"
        )
    return Key(key)

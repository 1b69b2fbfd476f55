"""What was compiled, in the user's cache directory: one file for each key, written atomically.

``$XDG_CACHE_HOME/vta-toolchain`` (by default below ``~/.cache``), a folder for each kind of thing. A file that is
broken or cannot be read counts as missing; a directory that cannot be written means no cache; files of old versions may
be deleted at any time. Tests: tests/runtime/native/test_cache.py.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["cache_directory", "cached"]

_MAGIC = b"vta-cache 1\n"


def cache_directory(kind: str) -> Path:
    """Return the directory of what is kept of one kind; it need not exist."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return root / "vta-toolchain" / kind


def cached(kind: str, key: str, make: Callable[[], bytes]) -> bytes:
    """Return the bytes of a ``kind`` that are kept under ``key``, any text; make and keep them if there are none."""
    path = cache_directory(kind) / f"{hashlib.sha256(key.encode()).hexdigest()}.image"
    body = _read(path)
    if body is None:
        body = make()
        _write(path, body)
    return body


def _read(path: Path) -> bytes | None:
    """Return the bytes in a file, or None unless the file is there and whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + 32
    if not data.startswith(_MAGIC) or hashlib.sha256(data[start:]).digest() != data[len(_MAGIC) : start]:
        return None
    return data[start:]


def _write(path: Path, body: bytes) -> None:
    """Write a file through a temporary one beside it, so that no other process sees half of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".tmp")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(body).digest() + body)
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)

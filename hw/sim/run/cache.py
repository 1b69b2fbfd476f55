"""Compiled designs in the user's cache directory: one file for each key, written atomically.

``$XDG_CACHE_HOME/vta-toolchain/sim`` (by default below ``~/.cache``). A file that is broken or cannot be read counts as
missing; a directory that cannot be written means no cache; files of old versions may be deleted at any time.
Tests: ``tests/hw/sim/run/test_cache.py``.
"""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from hw.sim.run.image import Image

__all__ = ["cache_directory", "cached_image", "source_digest", "sources_are_loaded"]

_MAGIC = b"vta-sim 1\n"

_IMPORTED = time.time()


def cache_directory() -> Path:
    """Return the directory of compiled designs; it need not exist."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return root / "vta-toolchain" / "sim"


def source_digest(directories: Iterable[Path]) -> str:
    """Return a digest of all Python files below the directories: part of a key of what they make."""
    digest = hashlib.sha256()
    for directory in directories:
        for path in sorted(directory.rglob("*.py")):
            data = path.read_bytes()
            digest.update(f"{path.relative_to(directory)} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def sources_are_loaded(directories: Iterable[Path]) -> bool:
    """Return whether no Python file below the directories has changed since this process imported its code.

    Otherwise what this process makes does not come from these files, so it must neither be kept nor taken for theirs.
    """
    return all(path.stat().st_mtime < _IMPORTED for directory in directories for path in directory.rglob("*.py"))


def cached_image(key: str, make: Callable[[], Image]) -> Image:
    """Return the image that is kept under ``key``, any text; make and keep it if there is none."""
    path = cache_directory() / f"{hashlib.sha256(key.encode()).hexdigest()}.image"
    image = _read(path)
    if image is None:
        image = make()
        _write(path, image)
    return image


def _read(path: Path) -> Image | None:
    """Return the image in a file, or None unless the file is there and whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + 32
    if not data.startswith(_MAGIC) or hashlib.sha256(data[start:]).digest() != data[len(_MAGIC) : start]:
        return None
    return Image.from_bytes(data[start:])


def _write(path: Path, image: Image) -> None:
    """Write a file through a temporary one beside it, so that no other process sees half of it."""
    body = image.to_bytes()
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

"""The Python files that a compiled design comes from: a part of its key. Tests: tests/hw/sim/run/test_compiling.py."""

import hashlib
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = ["source_digest", "sources_are_loaded"]

_IMPORTED = time.time()


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

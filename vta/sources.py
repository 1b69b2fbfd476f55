"""Digests of this toolchain's own Python files: who has the same one compiles and measures alike.

Tests: tests/vta/front/test_sources.py.
"""

import functools
import hashlib
from pathlib import Path

__all__ = ["compiler_digest", "toolchain_digest"]


def compiler_digest() -> str:
    """Return a digest of what decides what an operator becomes."""
    return _digest("isa", "runtime", "vta")


def toolchain_digest() -> str:
    """Return a digest of all: also of the hardware, which decides how many cycles a program takes."""
    return _digest("isa", "hw", "runtime", "vta")


@functools.cache
def _digest(*packages: str) -> str:
    digest = hashlib.sha256()
    for name in packages:
        folder = Path(__file__).resolve().parents[1] / name
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{name}/{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()

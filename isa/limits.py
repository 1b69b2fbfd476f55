"""What a file may cost: bounds of memory that follow from its own size, for files that may come from a stranger.

A few kilobytes can describe gigabytes: compressed columns, a tensor by its shape alone, an output that nobody wrote. So
every reader asks a ``Budget`` before it takes memory for what a file says. Whoever trusts a file raises the limit:
``Limits(memory=...)`` here, ``--max-memory`` on the command line. Tests: ``tests/isa/test_limits.py``.
"""

import os
import stat
from dataclasses import dataclass

from isa.errors import VTAError

__all__ = [
    "DEFAULT_LIMITS",
    "INSTRUCTION_COST",
    "JSON_COST",
    "MOST_OF_A_CONFIGURATION",
    "Budget",
    "LimitError",
    "Limits",
    "nbytes_text",
    "read_file",
]

_LEAST = 1 << 28
"""Bytes of memory that every file may take, however small it is."""

_FACTOR = 128
"""Bytes of memory that a larger file may take for each of its own; recorded traces are compressed thirty times, and
instructions take as much memory again as their times."""

INSTRUCTION_COST = 512
"""Bytes of memory for an instruction that is decoded, measured."""

JSON_COST = 32
"""Bytes of memory for one of JSON text, at worst (``{"a":0},`` again and again)."""

MOST_OF_A_CONFIGURATION = 1 << 20
"""Bytes of a configuration file."""

_PIECE = 1 << 20


class LimitError(VTAError, ValueError):
    """A file that would take more memory than it may."""


class Budget:
    """The memory that one file may take: ``limit`` bytes, of which readers spend."""

    def __init__(self, limit: int, because: str) -> None:
        self.limit = limit
        self._because = because
        self._spent = 0

    def spend(self, nbytes: int, what: str) -> None:
        """Take ``nbytes`` for ``what``; ``LimitError``, and nothing is taken, if there are not as many."""
        if self._spent + nbytes > self.limit:
            rest = f", less the {nbytes_text(self._spent)} that other parts took" if self._spent else ""
            raise LimitError(
                f"{what} would take {nbytes_text(nbytes)} of memory, and the limit is {nbytes_text(self.limit)}{rest} "
                f"({self._because}); raise it (--max-memory) if you trust the file"
            )
        self._spent += nbytes

    @property
    def left(self) -> int:
        """Bytes that are left."""
        return self.limit - self._spent

    def part(self) -> "Budget":
        """Return a budget of what is left here, for something that is given up again."""
        return Budget(self.left, self._because)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much memory a file may take: ``memory`` bytes, by default what follows from its size."""

    memory: int | None = None

    def budget(self, size: int, kind: str = "file") -> Budget:
        """Return the budget of a file, or of what else stands alone and is called ``kind``, of ``size`` bytes."""
        if self.memory is not None:
            return Budget(self.memory, "as was asked for")
        limit = max(_LEAST, _FACTOR * size)
        return Budget(limit, f"for a {kind} of {nbytes_text(size)}")


DEFAULT_LIMITS = Limits()
"""What readers assume."""


def read_file(path: str | os.PathLike[str], limits: Limits) -> bytes:
    """Return what is in a file; ``LimitError`` for a pipe or a device that gives more than a small file may take."""
    with open(path, "rb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file.read()
        most = limits.budget(0).limit
        pieces, size = [], 0
        while piece := file.read(_PIECE):
            size += len(piece)
            if size > most:
                raise LimitError(
                    f"{os.fspath(path)}: more than {nbytes_text(most)} came, and this is no file whose size is known; "
                    "put it into one, or raise the limit (--max-memory)"
                )
            pieces.append(piece)
        return b"".join(pieces)


def nbytes_text(nbytes: int) -> str:
    """Return ``nbytes`` as a person says it: ``17 bytes``, ``256 MiB``, ``1.5 GiB``."""
    for name, unit in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= unit:
            return f"{nbytes / unit:,.1f}".removesuffix(".0") + f" {name}"
    return f"{nbytes} byte{'s' * (nbytes != 1)}"

"""What the checker and the sanitizer have to say: a finding, how bad it is, and what it is about.

Tests: ``tests/isa/check/test_checker.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from isa.encoding import layout_name
from isa.instructions import Instruction, Load
from isa.origin import Origin

__all__ = ["Finding", "FindingKind", "Names", "Severity"]


class Severity(Enum):
    """How bad a finding is: an error is a mistake in the program, a note is not."""

    ERROR = "error"
    NOTE = "note"


class FindingKind(Enum):
    """What a finding is about."""

    WORD = "word"
    """An instruction or micro-op that has no legal word."""
    BOUNDS = "bounds"
    """An index or an address that is out of range."""
    TOKENS = "tokens"
    """A token that is missing or left over, or a FINISH that is not the last instruction."""
    RACE = "race"
    """Two modules touch the same elements, and no token says which one is first."""
    UNWRITTEN = "unwritten"
    """Something is read that nothing has written."""
    VALUE = "value"
    """A number that was cut or clipped; only seen at run time."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the checker has to say; ``index`` is the instruction's, or ``None`` for the whole program.

    ``others`` are the other instructions that it names, the most important one first.
    """

    severity: Severity
    index: int | None
    message: str
    kind: FindingKind = FindingKind.BOUNDS
    others: tuple[int, ...] = ()
    origin: Origin | None = None

    def __str__(self) -> str:
        """Return one line."""
        source = "" if self.origin is None else f" (from {self.origin})"
        place = "" if self.index is None else f"instruction {self.index}{source}: "
        return f"{self.severity.value}: {place}{self.message}"


@dataclass(frozen=True, slots=True)
class Names:
    """How instructions are called in sentences."""

    instructions: Sequence[Instruction]
    origins: Sequence[Origin | None]

    def short(self, index: int) -> str:
        """Return what the instruction is: ``LOAD INP``, ``GEMM``."""
        instruction = self.instructions[index]
        name = layout_name(instruction)
        return f"{name} {instruction.memory.name}" if isinstance(instruction, Load) else name

    def full(self, index: int) -> str:
        """Return its place, what it is and where it came from: ``instruction 4 (GEMM, from C (a.py:3))``."""
        origin = self.origins[index]
        source = "" if origin is None else f", from {origin}"
        return f"instruction {index} ({self.short(index)}{source})"

"""Where an instruction came from: the schedule stage and the source line that a person wrote.

Carried by TIR statements, recorded by the command queue, stored in programs, shown by every inspection tool.
Tests: tests/isa (program round trips), tests/vta/tir.
"""

from dataclasses import dataclass

__all__ = ["Origin"]


@dataclass(frozen=True, slots=True)
class Origin:
    """``stage`` names a schedule stage or a hand-written block; ``source`` is ``file.py:12`` (or empty if unknown)."""

    stage: str
    source: str = ""

    def __str__(self) -> str:
        return f"{self.stage} ({self.source})" if self.source else self.stage

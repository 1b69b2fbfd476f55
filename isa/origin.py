"""Where an instruction came from: schedule stage and source line, runtime call, and the node of a graph.

Carried by TIR statements (stage and source), completed by the command queue (call) and the launcher (node), stored in
programs and traces, shown by every inspection tool. Tests: tests/isa/test_origin.py, tests/vta/tir.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from isa.printable import in_one_line

__all__ = ["Origin"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an instruction came from; what is not known is empty.

    ``stage`` names a schedule stage or a hand-written block, ``source`` is ``file.py:12``. ``call`` is the runtime call
    that made the instruction (``VTALoadBuffer2D``), ``node`` the node of a graph that it was run for
    (``layer1/conv``).
    """

    stage: str
    source: str = ""
    call: str = ""
    node: str = ""

    def __str__(self) -> str:
        """Return ``node: stage (source)`` in one line, as far as that is known; without a stage, the call stands in."""
        place = f"{self.stage} ({self.source})" if self.source else self.stage or self.call
        return in_one_line(": ".join(part for part in (self.node, place) if part))

    def texts(self) -> list[str]:
        """Return stage, source, call and node, without empty ones at the end but at least two: what files hold."""
        found = [self.stage, self.source, self.call, self.node]
        while len(found) > 2 and not found[-1]:
            found.pop()
        return found

    @staticmethod
    def of_texts(texts: Sequence[object]) -> "Origin":
        """Return the origin with these ``texts``; ``ValueError`` unless they are two to four texts."""
        if not 2 <= len(texts) <= 4 or not all(isinstance(text, str) for text in texts):
            raise ValueError("an origin is two to four texts")
        return Origin(*map(str, texts))

"""The error of the lowering passes: place, what was expected, what came, a hint.

Each pass derives its own class, next to what raises it. Tests: tests/vta/passes/test_pass_errors.py.
"""

from isa.errors import VTAError
from isa.origin import Origin

__all__ = ["PassError", "place"]


def place(origin: Origin | str | None) -> str:
    """Return how an error names a place: "stage 'A_buf' (gemm.py:12)", or "the function" where nobody knows."""
    match origin:
        case Origin():
            return f"stage {origin.stage!r}" + (f" ({origin.source})" if origin.source else "")
        case str() if origin:
            return f"stage {origin!r}"
        case _:
            return "the function"


class PassError(VTAError, ValueError):
    """A function that a pass cannot lower.

    The text is ``stage 'A_buf' (gemm.py:12): SUBJECT: expected EXPECTED, got GOT; HINT``; the parts are attributes.
    ``origin`` is where the statement came from: an ``Origin``, a stage's name, or nothing.
    """

    def __init__(
        self, subject: str, *, expected: str, got: str, hint: str = "", origin: Origin | str | None = None
    ) -> None:
        self.subject = subject
        self.expected = expected
        self.got = got
        self.hint = hint
        self.origin = origin
        text = f"{place(origin)}: {subject}: expected {expected}, got {got}"
        super().__init__(f"{text}; {hint}" if hint else text)

"""One comparison of ``vta diff``: what, whether it is the same, and the sentence. Tests: tests/vta/cli/test_diff.py."""

from dataclasses import dataclass

__all__ = ["Compared"]


@dataclass(frozen=True, slots=True)
class Compared:
    """``what`` was compared, and ``text`` says what was found; ``instruction`` is where the first difference is."""

    what: str
    same: bool
    text: str
    instruction: int | None = None

    def as_object(self) -> dict[str, object]:
        """Return a ``comparison`` of the schemas of ``--json``."""
        return {"what": self.what, "same": self.same, "instruction": self.instruction, "sentence": self.text}

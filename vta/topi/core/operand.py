"""One tensor that an operator takes or gives, as its user sees it. Tests: tests/vta/topi/core/test_operator.py."""

from dataclasses import dataclass

__all__ = ["Operand"]


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor's name, its plain shape and the type of its numbers."""

    name: str
    shape: tuple[int, ...]
    dtype: str

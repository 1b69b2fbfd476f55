"""Sizes as numbers, under TVM's names: ``topi.utils.get_const_tuple``.

Tests: tests/vta/compat/test_constant_sizes.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from isa.errors import VTAError
from vta.arith.simplify import Analyzer
from vta.tir.expr import ExprLike, IntImm

__all__ = ["SizeError", "number", "numbers"]


class SizeError(VTAError, ValueError):
    """A size that is no constant, where one is needed."""


def number(size: ExprLike) -> int:
    """Return a size that is known as a number; raises ``SizeError`` for one that is not."""
    value = Analyzer().simplify(size)
    if not isinstance(value, IntImm):
        raise SizeError(f"get_const_int: expected a size that is a constant, got {value}")
    return value.value


def numbers(sizes: Iterable[ExprLike]) -> tuple[int | ExprLike, ...]:
    """Return sizes, those that are constants as numbers."""
    simple = [Analyzer().simplify(size) for size in sizes]
    return tuple(size.value if isinstance(size, IntImm) else size for size in simple)

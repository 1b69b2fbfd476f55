"""Expressions that are one operation of an ALU with fused steps: two operations, and a shift.

Tests: tests/vta/passes/alu/test_alu_fused.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from isa.instructions import FUSED, AluOpcode
from isa.layout import IMMEDIATE
from vta.arith.simplify import Analyzer
from vta.passes.alu.expression import AluTree, Operation, Scalar, Tile
from vta.passes.alu.kinds import AluKind
from vta.tir.expr import IntImm

__all__ = ["FusedPair", "fused_pair"]

_KINDS: Mapping[AluKind, AluKind] = {
    second: first
    for first in AluKind
    for second in AluKind
    if first.opcode is not None and second.opcode is not None and FUSED.get(first.opcode) is second.opcode
}
"""The kind of the second operation to that of the first."""


@dataclass(frozen=True, slots=True)
class FusedPair:
    """``second follows opcode(value, first)``, shifted right by ``shift``; ``second`` lies just behind ``first``."""

    value: AluTree
    opcode: AluOpcode
    first: Tile
    second: Tile
    shift: int


def fused_pair(tree: Operation, values: Analyzer) -> FusedPair | None:
    """Return ``tree`` as one fused operation, None if it is none; ``values`` compares places."""
    shift, both = _shift(tree)
    if not isinstance(both, Operation) or both.kind not in _KINDS:
        return None
    first_kind = _KINDS[both.kind]
    for inner, second in _ways(both):
        if not isinstance(inner, Operation) or inner.kind is not first_kind:
            continue
        for value, first in _ways(inner):
            if _are_neighbours(first, second, values):
                assert first_kind.opcode is not None
                return FusedPair(value, first_kind.opcode, first, second, shift)
    return None


def _shift(tree: Operation) -> tuple[int, AluTree]:
    """Return the constant by which the rest of ``tree`` is shifted right, 0 if it is not, or not by one that fits."""
    match tree:
        case Operation(kind=AluKind.SHR, a=a, b=Scalar(value=IntImm(value=count))) if 0 <= count <= IMMEDIATE.high:
            return count, a
        case Operation(kind=AluKind.SHL, a=a, b=Scalar(value=IntImm(value=count))) if 0 <= count <= -IMMEDIATE.low:
            return -count, a
        case _:
            return 0, tree


def _ways(operation: Operation) -> Iterator[tuple[AluTree, Tile]]:
    """Yield the operands of an operation that commutes, where the one to the right is an element, not the result's."""
    for left, right in ((operation.a, operation.b), (operation.b, operation.a)):
        if isinstance(right, Tile) and not right.is_result:
            yield left, right


def _are_neighbours(first: Tile, second: Tile, values: Analyzer) -> bool:
    """Return whether ``second`` lies just behind ``first`` in every iteration."""
    one, other = first.place, second.place
    return one.steps == other.steps and values.can_prove(other.base - one.base == 1)

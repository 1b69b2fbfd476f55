"""Whether the loops around several statements of an ALU stage may go around each of them alone.

A reduction is such a sequence: its initial value, then its updates, under the loops over the results::

    for (i, 0, 4) { C[i] = 0; for (k, 0, 8) { C[i] = C[i] + A[i, k] } }

means the same as ``for (i) { C[i] = 0 }; for (i) { for (k) { ... } }``, and takes two kernels instead of eight.
May import ``vta.arith``, ``vta.passes.alu_nest``, ``vta.tir``. Tests: tests/vta/passes/test_alu_hazards.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.passes.alu_nest import Level
from vta.tir.expr import Expr, IntImm, Range
from vta.tir.stmt import AttrStmt, BufferStore, For, IfThenElse, Stmt
from vta.tir.traverse import substitute

__all__ = ["StoreNest", "have_own_blocks", "store_nest"]


@dataclass(frozen=True, slots=True)
class StoreNest:
    """One store under loops and conditions, outermost first."""

    levels: tuple[Level, ...]
    store: BufferStore


def store_nest(stmt: Stmt) -> StoreNest | None:
    """Return ``stmt`` as a nest around a single store, None if it is anything else."""
    levels: list[Level] = []
    while True:
        match stmt:
            case BufferStore():
                return StoreNest(tuple(levels), stmt)
            case For():
                levels.append(stmt)
                stmt = stmt.body
            case IfThenElse(else_case=None):
                levels.append(stmt.condition)
                stmt = stmt.then_case
            case AttrStmt():
                stmt = stmt.body
            case _:
                return None


def have_own_blocks(levels: Sequence[Level], nests: Sequence[StoreNest], analyzer: Analyzer) -> bool:
    """Whether every iteration of the loops ``levels`` stores to a block that no other iteration stores to.

    The block must be the same for all ``nests``, which stand inside.
    """
    outer = [level for level in levels if isinstance(level, For)]
    for loop in [*outer, *(level for nest in nests for level in nest.levels if isinstance(level, For))]:
        analyzer.bind(loop.loop_var, Range(loop.min, loop.extent))
    blocks = [_block(outer, nest, analyzer) for nest in nests]
    first = blocks[0]
    if first is None:
        return False
    for block, nest in zip(blocks, nests, strict=True):
        if block is None or nest.store.buffer.data is not nests[0].store.buffer.data:
            return False
        if block.steps != first.steps or block.span != first.span:
            return False
        if not analyzer.can_prove_equal(block.start, first.start):
            return False
    return _is_apart(first, outer)


@dataclass(frozen=True, slots=True)
class _Block:
    """What one iteration stores: from ``start``, which moves by ``steps``, ``span`` numbers further."""

    steps: tuple[int, ...]
    start: Expr
    span: int


def _block(outer: Sequence[For], nest: StoreNest, analyzer: Analyzer) -> _Block | None:
    if len(nest.store.indices) != 1:
        return None
    index = nest.store.indices[0]
    form = detect_linear_equation(index, [loop.loop_var for loop in outer], analyzer)
    if form is None or not all(isinstance(step, IntImm) for step in form[:-1]):
        return None
    inner = {level.loop_var: level.min for level in nest.levels if isinstance(level, For)}
    start = analyzer.simplify(substitute(form[-1], inner))
    within = analyzer.const_bounds(form[-1] - start)
    if within.lo != 0 or within.hi is None:
        return None
    return _Block(tuple(step.value for step in form[:-1] if isinstance(step, IntImm)), start, within.hi)


def _is_apart(block: _Block, outer: Sequence[For]) -> bool:
    reach = block.span
    moves: list[tuple[int, int]] = []
    for step, loop in zip(block.steps, outer, strict=True):
        if not isinstance(loop.extent, IntImm):
            return False
        if loop.extent.value > 1:
            moves.append((abs(step), loop.extent.value))
    for step, extent in sorted(moves):
        if step <= reach:
            return False
        reach += step * (extent - 1)
    return True

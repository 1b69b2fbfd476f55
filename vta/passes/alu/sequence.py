"""Whether the loops around several statements of an ALU stage may go around each of them alone.

A reduction is such a sequence: its initial value, then its updates, under the loops over the results::

for (i, 0, 4) { C[i] = 0; for (k, 0, 8) { C[i] = C[i] + A[i, k] } }

means the same as ``for (i) { C[i] = 0 }; for (i) { for (k) { ... } }``, and takes two kernels instead of eight. So are
the outputs of a stage that has several. Tests: tests/vta/passes/alu/test_alu_hazards.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vta.arith.const_interval import ConstInterval
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.passes.alu.nest import Level
from vta.tir.expr import BufferLoad, Expr, IntImm, Range
from vta.tir.stmt import AttrStmt, BufferStore, For, IfThenElse, Stmt
from vta.tir.traverse import substitute, walk

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
    """Whether no iteration of the loops ``levels`` touches what another iteration stores, of several ``nests`` inside.

    Each nest stores a block of its own in every iteration. What the others store or read lies within the block of the
    same iteration, or beside all blocks. (How a nest reads what it stores itself is for ``plan_order`` to say.)
    """
    outer = [level for level in levels if isinstance(level, For)]
    for loop in [*outer, *(level for nest in nests for level in nest.levels if isinstance(level, For))]:
        analyzer.bind(loop.loop_var, Range(loop.min, loop.extent))
    for nest in nests:
        block = _block(outer, nest, nest.store.indices, analyzer)
        if block is None or not _is_apart(block, outer):
            return False
        for other in nests:
            if other is not nest and not all(
                _keeps_out(block, access, outer, analyzer) for access in _accesses(nest, other, outer, analyzer)
            ):
                return False
    return True


@dataclass(frozen=True, slots=True)
class _Touched:
    """What one iteration touches: from ``start``, which moves by ``steps``, ``span`` numbers further."""

    steps: tuple[int, ...]
    start: Expr
    span: int

    def ends(self, outer: Sequence[For]) -> tuple[Expr, Expr]:
        """Return the first and the last number over all iterations of ``outer``."""
        first, last = self.start, self.start + self.span
        for step, loop in zip(self.steps, outer, strict=True):
            low, high = loop.min * step, (loop.min + loop.extent - 1) * step
            first, last = first + (low if step > 0 else high), last + (high if step > 0 else low)
        return first, last


def _accesses(nest: StoreNest, other: StoreNest, outer: Sequence[For], analyzer: Analyzer) -> Iterator[_Touched | None]:
    """Yield what ``other`` touches of the memory that ``nest`` stores to; None for what is not known."""
    loads = [node for node in walk(other.store.value) if isinstance(node, BufferLoad)]
    nodes: list[BufferStore | BufferLoad] = [other.store, *loads]
    for node in nodes:
        if node.buffer.data is nest.store.buffer.data:
            yield _block(outer, other, node.indices, analyzer)


def _keeps_out(block: _Touched, access: _Touched | None, outer: Sequence[For], analyzer: Analyzer) -> bool:
    """Whether ``access`` touches what ``block`` stores in the same iteration, or nothing that it stores."""
    if access is None:
        return False
    if access.steps == block.steps:
        distance = analyzer.const_bounds(access.start - block.start)
        if distance.within(ConstInterval(0, block.span - access.span)):
            return True
    (first, last), (block_first, block_last) = access.ends(outer), block.ends(outer)
    return analyzer.can_prove(first > block_last) or analyzer.can_prove(last < block_first)


def _block(outer: Sequence[For], nest: StoreNest, indices: Sequence[Expr], analyzer: Analyzer) -> _Touched | None:
    if len(indices) != 1:
        return None
    form = detect_linear_equation(indices[0], [loop.loop_var for loop in outer], analyzer)
    if form is None or not all(isinstance(step, IntImm) for step in form[:-1]):
        return None
    inner = {level.loop_var: level.min for level in nest.levels if isinstance(level, For)}
    start = analyzer.simplify(substitute(form[-1], inner))
    within = analyzer.const_bounds(form[-1] - start)
    if within.lo != 0 or within.hi is None:
        return None
    return _Touched(tuple(step.value for step in form[:-1] if isinstance(step, IntImm)), start, within.hi)


def _is_apart(block: _Touched, outer: Sequence[For]) -> bool:
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

"""Whether the loops around several statements of an ALU stage may go around each of them alone.

A reduction is such a sequence: its initial value, then its updates, under the loops over the results::

for (i, 0, 4) { C[i] = 0; for (k, 0, 8) { C[i] = C[i] + A[i, k] } }

means the same as ``for (i) { C[i] = 0 }; for (i) { for (k) { ... } }``, and takes two kernels instead of eight. So are
the outputs of a stage that has several. Tests: tests/vta/passes/alu/test_alu_hazards.py and the rest of
tests/vta/passes/alu.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from vta.arith.const_interval import ConstInterval
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.passes.alu.nest import Level
from vta.tir.expr import BufferLoad, Expr, IntImm, Range, const
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
        if block is None:
            return False
        with _conditions(nest, analyzer):
            if not _is_apart(block, outer, analyzer):
                return False
        for other in nests:
            if other is not nest and not all(
                _keeps_out(block, other, indices, outer, analyzer) for indices in _accesses(nest, other)
            ):
                return False
    return True


@dataclass(frozen=True, slots=True)
class _Touched:
    """What one iteration touches: from ``start``, which moves by ``steps``, ``span`` numbers further."""

    steps: tuple[int, ...]
    start: Expr
    span: int

    def at(self, outer: Sequence[For]) -> Expr:
        """Return the first number of the iteration at hand."""
        return self.start + sum((loop.loop_var * step for step, loop in zip(self.steps, outer, strict=True)), const(0))

    def ends(self, outer: Sequence[For]) -> tuple[Expr, Expr]:
        """Return the first and the last number over all iterations of ``outer``."""
        first, last = self.start, self.start + self.span
        for step, loop in zip(self.steps, outer, strict=True):
            low, high = loop.min * step, (loop.min + loop.extent - 1) * step
            first, last = first + (low if step > 0 else high), last + (high if step > 0 else low)
        return first, last


@contextmanager
def _conditions(nest: StoreNest, analyzer: Analyzer) -> Iterator[None]:
    """Take the conditions of ``nest`` for true inside the ``with`` block."""
    with ExitStack() as known:
        for condition in nest.levels:
            if not isinstance(condition, For):
                known.enter_context(analyzer.constraint(condition))
        yield


def _accesses(nest: StoreNest, other: StoreNest) -> Iterator[tuple[Expr, ...]]:
    """Yield the indices with which ``other`` touches the memory that ``nest`` stores to."""
    loads = [node for node in walk(other.store.value) if isinstance(node, BufferLoad)]
    nodes: list[BufferStore | BufferLoad] = [other.store, *loads]
    for node in nodes:
        if node.buffer.data is nest.store.buffer.data:
            yield node.indices


def _keeps_out(
    block: _Touched, nest: StoreNest, indices: Sequence[Expr], outer: Sequence[For], analyzer: Analyzer
) -> bool:
    """Whether ``nest``, at ``indices``, touches what ``block`` stores in one iteration, or nothing that it stores.

    Its conditions tell where it is: at some iterations alone, perhaps, or in a part of the memory.
    """
    if len(indices) != 1:
        return False
    with _conditions(nest, analyzer):
        index = analyzer.simplify(indices[0])
        if analyzer.const_bounds(index - block.at(outer)).within(ConstInterval(0, block.span)):
            return True
        reach = analyzer.const_bounds(index)
        ends: list[tuple[Expr, Expr]] = []
        if reach.lo is not None and reach.hi is not None:
            ends.append((const(reach.lo), const(reach.hi)))
        access = _block(outer, nest, indices, analyzer)
        if access is not None:
            ends.append(access.ends(outer))
        block_first, block_last = block.ends(outer)
        return any(
            analyzer.can_prove(first > block_last) or analyzer.can_prove(last < block_first) for first, last in ends
        )


def _block(outer: Sequence[For], nest: StoreNest, indices: Sequence[Expr], analyzer: Analyzer) -> _Touched | None:
    if len(indices) != 1:
        return None
    form = detect_linear_equation(indices[0], [loop.loop_var for loop in outer], analyzer)
    if form is None or not all(isinstance(step, IntImm) for step in form[:-1]):
        return None
    inner = {level.loop_var: level.min for level in nest.levels if isinstance(level, For)}
    start = analyzer.simplify(substitute(form[-1], inner))
    within = analyzer.const_bounds(form[-1] - start)  # from below 0, where a loop inside runs backwards
    if within.lo is None or within.hi is None:
        return None
    steps = tuple(step.value for step in form[:-1] if isinstance(step, IntImm))
    return _Touched(steps, analyzer.simplify(start + within.lo), within.hi - within.lo)


def _is_apart(block: _Touched, outer: Sequence[For], analyzer: Analyzer) -> bool:
    """Whether each iteration that there is, as far as the analyser knows, has a block of its own."""
    reach = block.span
    moves: list[tuple[int, int]] = []
    for step, loop in zip(block.steps, outer, strict=True):
        values = analyzer.const_bounds(loop.loop_var)
        if values.lo is None or values.hi is None:
            return False
        if values.hi > values.lo:
            moves.append((abs(step), values.hi - values.lo + 1))
    for step, extent in sorted(moves):
        if step <= reach:
            return False
        reach += step * (extent - 1)
    return True

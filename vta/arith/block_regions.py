"""Which elements of a buffer the blocks in a statement touch, while the loops around it stand still.

Tests: tests/vta/arith/test_block_regions.py, tests/vta/tir/schedule/test_moving.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from vta.arith.bounds import Interval, eval_interval
from vta.arith.facts import conjuncts
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.tir.blocks import Access, as_element, as_region, block_writes, reduce_axes
from vta.tir.buffer import Buffer
from vta.tir.expr import BufferLoad, Expr, IntImm, Let, Max, Min, Not, Range, Var, binary, const, same
from vta.tir.stmt import Block, BufferStore, For, IfThenElse, LetStmt, Stmt
from vta.tir.traverse import TirNode, children, substitute, uses_var

__all__ = ["Touch", "analyzer_for", "region_of", "touches", "union", "why_not_all"]


def analyzer_for(loops: Iterable[For]) -> Analyzer:
    """Return an analyser that knows the ranges of the loops' variables."""
    analyzer = Analyzer()
    for loop in loops:
        analyzer.bind(loop.loop_var, Range(loop.min, loop.extent))
    return analyzer


@dataclass(frozen=True, slots=True)
class Touch:
    """An access in a statement: ``access`` in terms of loops, those of ``loops`` being in the statement.

    ``block`` is the innermost block around, ``conditions`` hold where the access happens, ``reduced`` is what the axes
    stand for that the blocks around reduce over, ``domains`` the conditions that say no more than that the axes of
    blocks stay in their domains; that a start runs once is no condition. ``unknown`` are variables that get values in
    the statement.
    """

    access: Access
    writes: bool
    block: Block | None
    loops: tuple[For, ...]
    conditions: tuple[Expr, ...]
    domains: tuple[Expr, ...]
    reduced: tuple[Expr, ...]
    unknown: tuple[Var, ...]

    @property
    def updates(self) -> bool:
        """Whether this is a reduction reading its own result."""
        block = self.block
        if self.writes or block is None or not (block.init is not None or reduce_axes(block)):
            return False
        return any(write.buffer is self.access.buffer for write in block_writes(block))


@dataclass(frozen=True, slots=True)
class _Place:
    values: Mapping[Var, Expr]
    block: Block | None = None
    loops: tuple[For, ...] = ()
    conditions: tuple[Expr, ...] = ()
    domains: tuple[Expr, ...] = ()
    reduced: tuple[Expr, ...] = ()
    unknown: tuple[Var, ...] = ()

    def placed(self, expr: Expr) -> Expr:
        """Return ``expr`` in terms of loops."""
        return substitute(expr, self.values)

    def touch(self, access: Access, *, writes: bool) -> Touch:
        """Return an access here."""
        indices = tuple(map(self.placed, access.indices))
        extents = tuple(map(self.placed, access.extents))
        moved = Access(access.buffer, indices, extents)
        return Touch(moved, writes, self.block, self.loops, self.conditions, self.domains, self.reduced, self.unknown)


def touches(stmt: Stmt, buffer: Buffer) -> list[Touch]:
    """Return every access to ``buffer`` in ``stmt``, in the order of the program."""
    return [touch for touch in _touches(stmt) if touch.access.buffer is buffer]


def _touches(stmt: Stmt) -> Iterator[Touch]:
    stack: list[tuple[TirNode, _Place] | Touch] = [(stmt, _Place({}))]
    while stack:
        top = stack.pop()
        if isinstance(top, Touch):
            yield top
            continue
        node, place = top
        below = children(node)
        inner = place
        match node:
            case BufferLoad():
                yield place.touch(as_element(node), writes=False)
            case BufferStore():
                stack.append(place.touch(as_element(node), writes=True))
            case For():
                bounds = replace(node, min=place.placed(node.min), extent=place.placed(node.extent))
                stack.append((node.body, replace(place, loops=(*place.loops, bounds))))
                below = below[:-1]
            case Let() | LetStmt():
                inner = replace(place, unknown=(*place.unknown, node.var))
            case IfThenElse():
                condition = place.placed(node.condition)
                otherwise = replace(place, conditions=(*place.conditions, Not(condition)))
                if node.else_case is not None:
                    stack.append((node.else_case, otherwise))
                stack.append((node.then_case, replace(place, conditions=(*place.conditions, condition))))
                below = (node.condition,)
            case Block():
                below = (*node.values, node.predicate)
                inside = _inside(node, place)
                if node.reads is None and node.writes is None:
                    stack.append((node.body, inside))
                else:
                    yield from (inside.touch(as_region(part), writes=False) for part in node.reads or ())
                    yield from (inside.touch(as_region(part), writes=True) for part in node.writes or ())
                if node.init is not None:
                    stack.append((node.init, inside))
            case _:
                pass
        stack.extend((child, inner) for child in reversed(below))


def _inside(block: Block, place: _Place) -> _Place:
    values = dict(place.values)
    domains: list[Expr] = []
    for axis, value in zip(block.iter_vars, block.values, strict=True):
        values[axis.var] = place.placed(value)
        if axis.dom is not None:
            domains.append(values[axis.var] < place.placed(axis.dom.min + axis.dom.extent))
            domains.append(place.placed(axis.dom.min) <= values[axis.var])
    always = isinstance(block.predicate, IntImm) and block.predicate.value
    return replace(
        place,
        values=values,
        block=block,
        conditions=place.conditions if always else (*place.conditions, place.placed(block.predicate)),
        domains=(*place.domains, *domains),
        reduced=(*place.reduced, *(place.placed(value) for _, value in reduce_axes(block))),
    )


def region_of(touch: Touch, analyzer: Analyzer) -> list[Interval]:
    """Return for each dimension what the access touches while the loops in the statement run."""
    free: dict[Var, Interval] = dict.fromkeys(touch.unknown, Interval())
    for loop in touch.loops:
        first = eval_interval(loop.min, free, analyzer)
        last = eval_interval(loop.min + loop.extent - 1, free, analyzer)
        free[loop.loop_var] = Interval(first.min, last.max)
    found = []
    for index, extent in zip(touch.access.indices, touch.access.extents, strict=True):
        first = eval_interval(index, free, analyzer)
        last = first if _is_one(extent) else eval_interval(index + extent - 1, free, analyzer)
        found.append(Interval(first.min, last.max))
    return found


def _is_one(extent: Expr) -> bool:
    return isinstance(extent, IntImm) and extent.value == 1


def why_not_all(touch: Touch, analyzer: Analyzer) -> str | None:
    """Return why the access leaves out elements between the first and the last one that it reaches.

    None if it reaches all of them that are in the domains of the blocks' axes.
    """
    for index, extent in zip(touch.access.indices, touch.access.extents, strict=True):
        if not _is_dense(analyzer.simplify(index), extent, touch.loops, analyzer):
            return f"the places {index} have gaps"
    inside = [loop.loop_var for loop in touch.loops]
    domains = [analyzer.simplify(domain) for domain in touch.domains]
    for whole in touch.conditions:
        for condition in conjuncts(analyzer.simplify(whole)):
            if uses_var(condition, inside) and not any(same(condition, known) for known in domains):
                return f"the condition {condition} leaves some out"
    return None


def _is_dense(index: Expr, extent: Expr, loops: Sequence[For], analyzer: Analyzer) -> bool:
    """Whether ``index`` and the ``extent`` places from it reach every integer from the first to the last one."""
    used = [loop for loop in loops if uses_var(index, loop.loop_var)]
    form = detect_linear_equation(index, [loop.loop_var for loop in used], analyzer)
    if form is None:
        return False
    steps: list[tuple[int, int]] = []
    for coefficient, loop in zip(form, used, strict=False):
        if not isinstance(coefficient, IntImm) or not isinstance(loop.extent, IntImm):
            return len(used) == 1 and isinstance(coefficient, IntImm) and abs(coefficient.value) == 1
        steps.append((abs(coefficient.value), loop.extent.value))
    reach = extent.value if isinstance(extent, IntImm) else 1
    for step, count in sorted(steps):
        if step > reach:
            return False
        reach += step * (count - 1)
    return True


def union(intervals: Sequence[Interval], size: Expr, analyzer: Analyzer) -> Range:
    """Return a range with a constant extent around ``intervals`` of a dimension of ``size``; all of it if need be."""
    whole = Range(const(0, size.dtype), size)
    low, high = intervals[0].min, intervals[0].max
    for interval in intervals[1:]:
        low = _outer(Min, low, interval.min, analyzer)
        high = _outer(Max, high, interval.max, analyzer)
    if low is None or high is None:
        return whole
    extent = analyzer.simplify(high - low + 1)
    if not isinstance(extent, IntImm):
        most = analyzer.const_bounds(extent).hi
        if most is None:
            return whole
        extent = const(most, size.dtype)
    assert isinstance(extent, IntImm)
    wraps = extent.value <= 0 or _is_beyond(low, extent) or _is_beyond(high, extent)  # as of an index that is data
    if wraps or (isinstance(size, IntImm) and extent.value >= size.value):
        return whole
    return Range(low, extent)


def _is_beyond(end: Expr, extent: IntImm) -> bool:
    """Whether a constant end of an interval is farther from zero than half of what its type holds."""
    return isinstance(end, IntImm) and abs(end.value) + extent.value >= 1 << (end.dtype.bits - 2)


def _outer(kind: type[Min | Max], a: Expr | None, b: Expr | None, analyzer: Analyzer) -> Expr | None:
    if a is None or b is None:
        return None
    if analyzer.can_prove(a <= b):
        return a if kind is Min else b
    if analyzer.can_prove(b <= a):
        return b if kind is Min else a
    return binary(kind, a, b)

"""Which elements of a buffer a program touches, under TVM's name: ``arith._ffi_api.DomainTouched``.

Tests: tests/vta/arith/test_touched.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from isa.errors import VTAError
from vta.arith.bounds import Interval, eval_interval
from vta.arith.simplify import Analyzer
from vta.tir.buffer import Buffer
from vta.tir.effects import reads_memory
from vta.tir.expr import Broadcast, BufferLoad, Expr, IntImm, IterVar, Max, Min, Ramp, Range, Var, binary, const
from vta.tir.stmt import AttrKey, AttrStmt, BufferStore, For, Stmt
from vta.tir.traverse import TirNode, children, uses_var

__all__ = ["TouchedError", "domain_touched"]


class TouchedError(VTAError, ValueError):
    """Elements of which no range is known."""


def domain_touched(stmt: Stmt, buffer: Buffer, consider_loads: bool, consider_stores: bool) -> list[Range]:
    """Return for each dimension the range of all elements that ``stmt`` reads (or writes); no ranges for none.

    Raises ``TouchedError`` where an index has no bounds in terms of variables that ``stmt`` does not define.
    """
    analyzer = Analyzer()
    found: list[Interval] | None = None
    stack: list[tuple[TirNode, dict[Var, Interval]]] = [(stmt, {})]
    while stack:
        node, free = stack.pop()
        match node:
            case For():
                analyzer.bind(node.loop_var, Range(node.min, node.extent))
                free = {**free, node.loop_var: Interval.of_range(Range(node.min, node.extent))}
            case AttrStmt(key=AttrKey.THREAD_EXTENT | AttrKey.VIRTUAL_THREAD, node=IterVar(var=var)):
                free = {**free, var: Interval.of_range(Range(const(0), node.value))}
            case BufferLoad() if consider_loads and node.buffer is buffer:
                found = _joined(found, node.indices, free, analyzer)
            case BufferStore() if consider_stores and node.buffer is buffer:
                found = _joined(found, node.indices, free, analyzer)
            case _:
                pass
        stack.extend((child, free) for child in reversed(children(node)))
    return [_range(dim, buffer, analyzer, d) for d, dim in enumerate(found or [])]


def _joined(
    found: list[Interval] | None, indices: Sequence[Expr], free: dict[Var, Interval], analyzer: Analyzer
) -> list[Interval]:
    new = [_settled(_of_lanes(index, free, analyzer), free) for index in indices]
    if found is None:
        return new
    return [
        Interval(_either(Min, a.min, b.min, analyzer), _either(Max, a.max, b.max, analyzer))
        for a, b in zip(found, new, strict=True)
    ]


def _of_lanes(index: Expr, free: dict[Var, Interval], analyzer: Analyzer) -> Interval:
    """Return bounds of an index, or of every lane of one."""
    match index:
        case Broadcast(value=value):
            return eval_interval(value, free, analyzer)
        case Ramp():
            first = eval_interval(index.base, free, analyzer)
            last = eval_interval(index.base + index.stride * (index.lanes - 1), free, analyzer)
            return Interval(_either(Min, first.min, last.min, analyzer), _either(Max, first.max, last.max, analyzer))
        case _:
            return eval_interval(index, free, analyzer)


def _settled(interval: Interval, free: dict[Var, Interval]) -> Interval:
    """Return ends that hold for all iterations: none where one reads memory, or a variable of a loop."""
    low, high = (
        None if end is None or reads_memory(end) or uses_var(end, free) else end for end in (interval.min, interval.max)
    )
    return Interval(low, high)


def _either(kind: type[Min | Max], a: Expr | None, b: Expr | None, analyzer: Analyzer) -> Expr | None:
    return None if a is None or b is None else analyzer.simplify(binary(kind, a, b))


def _is_the_whole_type(low: Expr, high: Expr) -> bool:
    """Whether so many integers lie between the ends that their number does not fit the type."""
    constant = isinstance(low, IntImm) and isinstance(high, IntImm)
    return constant and int(high) - int(low) + 1 > low.dtype.bounds[1]


def _range(dim: Interval, buffer: Buffer, analyzer: Analyzer, d: int) -> Range:
    if dim.min is None or dim.max is None or _is_the_whole_type(dim.min, dim.max):
        raise TouchedError(f"the elements of {buffer.name!r} that are touched have no bounds in dimension {d}")
    return Range(dim.min, analyzer.simplify(dim.max - dim.min + 1))

"""Nodes whose constructors take other arguments in TVM: ``Range(begin, end)``, ``IterVar(dom, "name", 0)``.

Tests: tests/vta/compat/test_tvm_nodes.py.
"""

from collections.abc import Mapping

from vta.te.axis_attrs import ITERATION_TYPES
from vta.te.tensor import as_range
from vta.tir import expr

__all__ = ["IterVar", "Range"]


class _Like(type):
    """A name for making nodes; instances are those of the node's own class."""

    kind: type

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.kind)


class Range(metaclass=_Like):
    """``Range(end)`` and ``Range(begin, end)``; ``Range.from_min_extent(begin, extent)``."""

    kind = expr.Range

    def __new__(cls, begin: expr.ExprLike, end: expr.ExprLike | None = None) -> expr.Range:  # type: ignore[misc]
        """Return the range from ``begin`` to ``end`` (not included), or from 0 if only one is given."""
        if end is None:
            return expr.Range(expr.const(0), expr.convert(begin))
        low, high = expr.match_types(begin, end)
        return expr.Range(low, expr.binary(expr.Sub, high, low))

    @staticmethod
    def from_min_extent(min_value: expr.ExprLike, extent: expr.ExprLike) -> expr.Range:
        """Return the range of ``extent`` integers from ``min_value``."""
        low, count = expr.match_types(min_value, extent)
        return expr.Range(low, count)


_KINDS: Mapping[int, expr.IterKind] = {kind.number: kind for kind in expr.IterKind}


class IterVar(metaclass=_Like):
    """``IterVar(dom, var, iter_type)``, and the numbers of how an axis is walked over."""

    kind = expr.IterVar
    DataPar, ThreadIndex, CommReduce, Ordered, DimInfo = range(5)
    Unrolled, Vectorized, Parallelized, Tensorized = (
        ITERATION_TYPES[name] for name in ("Unrolled", "Vectorized", "Parallelized", "Tensorized")
    )

    def __new__(  # type: ignore[misc]  # a name for making nodes
        cls,
        dom: expr.Range | tuple[expr.ExprLike, expr.ExprLike] | None,
        var: expr.Var | str,
        iter_type: int,
        thread_tag: str = "",
    ) -> expr.IterVar:
        """Return the axis."""
        held = expr.Var(var) if isinstance(var, str) else var
        domain = None if dom is None else as_range(dom, f"axis {held.name!r}")
        return expr.IterVar(domain, held, _KINDS.get(iter_type, expr.IterKind.OPAQUE), thread_tag)

"""Iterator maps as expressions. Tests: tests/vta/arith/iter_map/test_detect.py."""

from __future__ import annotations

from vta.arith.iter_map.nodes import IterMapError, IterMark, IterSplitExpr, IterSumExpr
from vta.arith.simplify import Analyzer
from vta.tir.deep import deep
from vta.tir.expr import Expr, Node, const

__all__ = ["normalize_iter_map_to_expr", "source_expr"]


def normalize_iter_map_to_expr(expr: IterSplitExpr | IterSumExpr | Expr) -> Expr:
    """Return the expression that a split or a sum stands for."""
    return _converted(expr, Analyzer())


def source_expr(mark: IterMark) -> Expr:
    """Return the expression that a mark stands for."""
    return _converted(mark.source, Analyzer())


@deep
def _converted(node: object, analyzer: Analyzer) -> Expr:
    match node:
        case IterSumExpr():
            total: Expr = const(0, node.base.dtype)
            for arg in node.args:
                total = total + _converted(arg, analyzer)
            return total + node.base
        case IterSplitExpr():
            source, whole = _converted(node.source.source, analyzer), node.source.extent
            reach = node.lower_factor * node.extent
            if not analyzer.can_prove_equal(reach, whole):
                source = source % reach
            return source // node.lower_factor * node.scale
        case Node():
            return node.asexpr()
        case _:
            raise IterMapError(f"expected a split or a sum of iterators, got {node!r}")

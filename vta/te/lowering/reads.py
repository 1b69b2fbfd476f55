"""Where a tensor is read: the interval of an index while loops run.

Tests: tests/vta/te/test_infer_bound.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from vta.arith.bounds import Interval, eval_interval
from vta.arith.simplify import Analyzer
from vta.tir.deep import deep
from vta.tir.expr import Expr, ProducerLoad, Var
from vta.tir.traverse import map_children, walk

__all__ = ["index_interval"]


def index_interval(index: Expr, environment: Mapping[Var, Interval], analyzer: Analyzer) -> Interval:
    """Return the interval of ``index`` for the variables of ``environment``; an element of a tensor may be anything."""
    if isinstance(index, Var) and index in environment:
        return environment[index]
    if not any(isinstance(node, ProducerLoad) for node in walk(index)):
        return eval_interval(index, environment, analyzer)
    known = dict(environment)

    @deep
    def unknown(expr: Expr) -> Expr:
        if not isinstance(expr, ProducerLoad):
            return map_children(unknown, expr)
        element = Var("element", expr.dtype)
        known[element] = Interval()
        return element

    return eval_interval(unknown(index), known, analyzer)

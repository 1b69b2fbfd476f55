"""Iterators as expressions of the indices that they make.

For the indices ``[x // 4, x % 4]``, x is ``o0*4 + o1``. Tests: tests/vta/arith/iter_map/test_inverse.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vta.arith.iter_map.nodes import IterMapError, IterMark, IterSplitExpr, IterSumExpr
from vta.arith.simplify import Analyzer
from vta.tir.expr import Expr, ExprLike, Var, const, convert
from vta.tir.traverse import free_vars

__all__ = ["inverse_affine_iter_map"]


def inverse_affine_iter_map(iter_map: Sequence[IterSumExpr], outputs: Sequence[ExprLike]) -> dict[Var, Expr]:
    """Return the value of every iterator of ``iter_map`` (from ``detect_iter_map``) where its indices are ``outputs``.

    Raises ``IterMapError`` for overlapping digits, which have several iterators.
    """
    if len(iter_map) != len(outputs):
        raise IterMapError(f"inverse_affine_iter_map: expected {len(iter_map)} outputs, got {len(outputs)}")
    analyzer = Analyzer()
    values: dict[IterMark, Expr] = {}
    for total, output in zip(iter_map, outputs, strict=True):
        if len(total.args) > 1:
            raise IterMapError(
                "inverse_affine_iter_map: expected indices of at most one split, as detect_iter_map gives"
            )
        for arg in total.args:
            _add(values, arg, (convert(output) - total.base) // arg.scale)
    result: dict[Var, Expr] = {}
    for mark in _outermost_first(iter_map):
        value = values[mark]
        source = mark.source
        if isinstance(source, IterSumExpr):
            _take_apart(source, mark, value - source.base, values, analyzer)
            continue
        (var,) = free_vars(source)[:1]
        result[var] = value if isinstance(source, Var) else value + (var - source)
    return {var: analyzer.simplify(value) for var, value in result.items()}


def _take_apart(
    source: IterSumExpr, mark: IterMark, value: Expr, values: dict[IterMark, Expr], analyzer: Analyzer
) -> None:
    """Add the digits of a fused mark's value."""
    reach: Expr = const(1)
    for arg in reversed(source.args):
        if not mark.padded and len(source.args) > 1 and not analyzer.can_prove_equal(arg.scale, reach):
            raise IterMapError("inverse_affine_iter_map: digits overlap, so several iterators have one index")
        reach = arg.scale * arg.extent
        whole = len(source.args) == 1
        _add(values, arg, value if whole else value // arg.scale % arg.extent)


def _add(values: dict[IterMark, Expr], split: IterSplitExpr, value: Expr) -> None:
    part = value * split.lower_factor
    values[split.source] = values[split.source] + part if split.source in values else part


def _outermost_first(iter_map: Sequence[IterSumExpr]) -> list[IterMark]:
    """Return the marks of a map, each before those that it is made of."""
    order: dict[IterMark, None] = {}
    work = [(arg.source, False) for total in iter_map for arg in total.args]
    while work:
        mark, ready = work.pop()
        if ready:
            order.setdefault(mark)
        elif mark not in order:
            work.append((mark, True))
            if isinstance(mark.source, IterSumExpr):
                work += [(arg.source, False) for arg in mark.source.args]
    return list(order)[::-1]

"""What a region covers for certain while loops run: ``arith.estimate_region_lower_bound``.

Tests: tests/vta/arith/test_region_lower_bound.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vta.arith.int_set import IntSet
from vta.arith.iter_map import IterMapLevel, detect_iter_map
from vta.arith.simplify import Analyzer
from vta.tir.expr import Expr, ExprLike, IntImm, Range, Var

__all__ = ["estimate_region_lower_bound"]


def estimate_region_lower_bound(
    region: Sequence[Range], var_dom: Mapping[Var, Range], predicate: ExprLike = True
) -> list[IntSet] | None:
    """Return for each dimension a set all of whose members are in its range for some values of ``var_dom``.

    None where dimensions depend on each other, a range has gaps from step to step, or its size changes.
    """
    analyzer = Analyzer(dict(var_dom))
    turned = [_forwards(domain.min, var_dom, analyzer) for domain in region]
    found = detect_iter_map([low for low, _ in turned], var_dom, predicate, IterMapLevel.Surjective)
    if len(found.indices) != len(region):
        return None
    result: list[IntSet] = []
    for domain, total, (_, backwards) in zip(region, found.indices, turned, strict=True):
        extent = analyzer.simplify(domain.extent)
        low, reach = total.base, extent
        if backwards:
            low = analyzer.simplify(0 - low)
        for split in total.args:
            if not analyzer.can_prove(split.scale <= extent):
                return None
            way = analyzer.simplify((split.extent - 1) * split.scale)
            low = analyzer.simplify(low - way) if backwards else low
            reach = analyzer.simplify(reach + way)
        result.append(IntSet(low, analyzer.simplify(low + reach - 1)))
    return result


def _forwards(low: Expr, iters: Mapping[Var, Range], analyzer: Analyzer) -> tuple[Expr, bool]:
    """Return an index that grows with its iterators, and whether it is the opposite of ``low``."""
    simple = analyzer.simplify(low)
    if detect_iter_map([simple], iters, check_level=IterMapLevel.NoCheck).indices:
        return simple, False
    opposite = analyzer.simplify(0 - simple)
    turned = bool(detect_iter_map([opposite], iters, check_level=IterMapLevel.NoCheck).indices)
    return (opposite, True) if turned and not isinstance(opposite, IntImm) else (simple, False)

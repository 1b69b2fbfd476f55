"""Which operands of an ALU stage are its result, which lie elsewhere, and in which order its iterations may run.

Kernels run one after the other, each over all iterations. That is the stage's meaning only where no iteration reads
what another one writes, and each result is stored once; or where the stage accumulates with a single operation, whose
iterations run in order.

Tests: tests/vta/passes/alu/test_alu_hazards.py and the rest of tests/vta/passes/alu.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice, product

from isa.origin import Origin
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.passes.alu.expression import (
    AluError,
    AluTree,
    Location,
    Operation,
    Scalar,
    Tile,
    leaves,
    map_leaves,
)
from vta.passes.alu.nest import AluNest
from vta.tir.deep import deep
from vta.tir.expr import Add, Expr, IntImm, Min, Range, Var
from vta.tir.traverse import substitute

__all__ = ["Form", "OrderPlan", "plan_order"]


_MOST_BOUNDS = 16
"""So many bounds of the elements that a stage reaches are tried."""


class Form(Enum):
    """How a stage is executed."""

    STORE = "every result is stored once"
    ACCUMULATE = "an operation is applied to the result again and again"
    SPLIT = "some loops must go to the host first"


@dataclass(frozen=True, slots=True)
class OrderPlan:
    """How to execute a stage; ``host`` are the loops that must go to the host first (``Form.SPLIT``).

    ``needs_order``: an operand may be what an earlier iteration stored.
    """

    form: Form
    tree: AluTree
    host: tuple[Var, ...] = ()
    needs_order: bool = False


class _Relation(Enum):
    SAME = "same"
    APART = "apart"
    UNKNOWN = "unknown"


def plan_order(nest: AluNest, name: str, analyzer: Analyzer, origin: Origin | None) -> OrderPlan:
    """Return how ``nest``, the stage into buffer ``name``, is executed; raises ``AluError`` if no order is right."""
    renamed = _other_iteration(nest, analyzer)
    unknown: list[str] = []

    def settle(leaf: Tile | Scalar) -> AluTree:
        if isinstance(leaf, Scalar):
            return leaf
        relation = _relation(leaf.place, nest, renamed, analyzer)
        if relation is _Relation.UNKNOWN:
            unknown.append(leaf.name)
        return replace(leaf, is_result=relation is _Relation.SAME)

    tree = map_leaves(settle, nest.tree)
    update = _accumulation(tree)
    if unknown:
        if update is not None and _is_one_kernel(update) and nest.keeps_order:
            return OrderPlan(Form.ACCUMULATE, update, needs_order=True)
        raise AluError(
            f"ALU stage into {name!r}",
            expected="operands that are the result's own elements, or other memory",
            got=f"{unknown[0]!r}, which may overlap the result",
            hint="write to another buffer, in a stage of its own",
            origin=origin,
        )
    if _is_injective(nest.result.steps, [loop.size for loop in nest.loops]):
        if nest.keeps_order or _stores_each_once(nest, analyzer):
            return OrderPlan(Form.STORE, tree)
        return OrderPlan(Form.SPLIT, tree, tuple(loop.var for loop in nest.loops))
    if update is not None:
        return OrderPlan(Form.ACCUMULATE, update)
    return OrderPlan(Form.SPLIT, tree, _loops_to_host(nest))


def _other_iteration(nest: AluNest, analyzer: Analyzer) -> dict[Var, Var]:
    """Return new variables for the hosted loops, that stand for another iteration."""
    renamed = {loop.loop_var: Var(loop.loop_var.name, loop.loop_var.dtype) for loop in nest.hosted}
    for loop in nest.hosted:
        analyzer.bind(renamed[loop.loop_var], Range(loop.min, substitute(loop.extent, dict(renamed))))
    return renamed


def _relation(place: Location, nest: AluNest, renamed: dict[Var, Var], analyzer: Analyzer) -> _Relation:
    result = nest.result
    if place.steps == result.steps and analyzer.can_prove_equal(place.base, result.base):
        return _Relation.SAME
    with ExitStack() as known:
        for guard in nest.guards:
            known.enter_context(analyzer.constraint(guard))
            known.enter_context(analyzer.constraint(substitute(guard, dict(renamed))))
        return _Relation.APART if _are_apart(place, nest, renamed, analyzer) else _Relation.UNKNOWN


def _are_apart(place: Location, nest: AluNest, renamed: dict[Var, Var], analyzer: Analyzer) -> bool:
    """Return whether no iteration reads at ``place`` what an iteration stores."""
    other = [
        (substitute(first, dict(renamed)), substitute(last, dict(renamed))) for first, last in _ends(nest.result, nest)
    ]
    for first, last in _ends(place, nest):
        for result_first, result_last in other:
            if analyzer.can_prove(first > result_last) or analyzer.can_prove(last < result_first):
                return True
    return False


def _ends(place: Location, nest: AluNest) -> Iterator[tuple[Expr, Expr]]:
    """Yield bounds of the first and the last element that the iterations of the nest's loops reach.

    An incomplete tile has the smaller one of two extents: either of them gives a bound.
    """
    moving = [(step, loop) for step, loop in zip(place.steps, nest.loops, strict=True) if step]
    for extents in islice(product(*(_alternatives(loop.extent) for _, loop in moving)), _MOST_BOUNDS):
        first = last = place.base
        for (step, _), extent in zip(moving, extents, strict=True):
            if step > 0:
                last = last + (extent - 1) * step
            else:
                first = first + (extent - 1) * step
        yield first, last


@deep
def _alternatives(extent: Expr) -> list[Expr]:
    """Return expressions none of which is smaller than ``extent``."""
    match extent:
        case Min(a=a, b=b):
            return [*_alternatives(a), *_alternatives(b)]
        case Add(a=a, b=IntImm() as b):
            return [alternative + b for alternative in _alternatives(a)]
        case _:
            return [extent]


def _accumulation(tree: AluTree) -> Operation | None:
    """Return ``tree`` as ``result kind other`` with an ``other`` that does not read the result, or None."""
    if not isinstance(tree, Operation):
        return None
    for kind, a, b in ((tree.kind, tree.a, tree.b), (tree.kind, tree.b, tree.a)):
        reads = any(isinstance(leaf, Tile) and leaf.is_result for leaf in leaves(b))
        if isinstance(a, Tile) and a.is_result and not reads:
            return Operation(kind, a, b)
        if not kind.commutes:
            return None
    return None


def _is_one_kernel(update: Operation) -> bool:
    """Whether one kernel does the operation on result and operand, iteration after iteration."""
    return isinstance(update.b, Tile) and update.kind.opcode is not None


def _is_injective(steps: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether every iteration has an element of its own."""
    reach = 0
    for step, size in sorted((abs(step), size) for step, size in zip(steps, sizes, strict=True) if size > 1):
        if step <= reach:
            return False
        reach += step * (size - 1)
    return True


def _stores_each_once(nest: AluNest, analyzer: Analyzer) -> bool:
    """Whether no element is stored by two iterations that differ in more than hosted loops that do not move it."""
    form = detect_linear_equation(nest.result.base, [loop.loop_var for loop in nest.hosted], analyzer)
    sizes = [loop.extent for loop in nest.hosted]
    if form is None or not all(isinstance(size, IntImm) for size in sizes):
        return False
    steps = list(nest.result.steps)
    extents = [loop.size for loop in nest.loops]
    for step, size in zip(form, sizes, strict=False):
        if not isinstance(step, IntImm) or not isinstance(size, IntImm):
            return False
        if step.value:
            steps.append(step.value)
            extents.append(size.value)
    return _is_injective(steps, extents)


def _loops_to_host(nest: AluNest) -> tuple[Var, ...]:
    """Return the loops over which the result stands still; all of them if others repeat elements too."""
    moving = [(step, loop.size) for step, loop in zip(nest.result.steps, nest.loops, strict=True) if step]
    still = tuple(loop.var for step, loop in zip(nest.result.steps, nest.loops, strict=True) if not step)
    if still and _is_injective([step for step, _ in moving], [size for _, size in moving]):
        return still
    return tuple(loop.var for loop in nest.loops)

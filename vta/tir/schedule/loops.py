"""Primitives on loops: ``split``, ``fuse``, ``reorder``, and how the iterations of a loop run.

Each returns the new function; what cannot be done is refused in a sentence that names loop and block.
Tests: tests/vta/tir/schedule/test_loops.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from math import prod
from operator import mul

from vta.arith.block_regions import analyzer_for
from vta.tir.blocks import blocks_in
from vta.tir.expr import Expr, IntImm, IterKind, Var, const
from vta.tir.func import PrimFunc
from vta.tir.schedule.bindings import reducing_over, rewritten_bindings
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.schedule.tree import chain_between, loop_of, loops_around, replaced
from vta.tir.stmt import For, ForKind, Stmt
from vta.tir.traverse import uses_var

__all__ = ["add_unit_loop", "fused", "marked", "reordered", "split"]


def _plain(loop: For, primitive: str) -> For:
    if loop.kind is not ForKind.SERIAL:
        raise BlockScheduleError(
            f"{primitive}: loop {loop.loop_var.name!r} is {loop.kind.value} already; {primitive} it before that"
        )
    return loop


def split(func: PrimFunc, var: Var, factors: Sequence[int | None]) -> tuple[PrimFunc, list[Var]]:
    """Split a loop into nested ones of ``factors`` iterations; one of them may be None, for as many as it takes.

    Where the factors do not divide the extent, the blocks inside run under a condition.
    """
    loop = _plain(loop_of(func, var), "split")
    name = var.name
    if len(factors) < 2:
        raise BlockScheduleError(f"split: loop {name!r}: expected two factors or more, got {list(factors)}")
    open_places = [i for i, factor in enumerate(factors) if factor is None]
    if len(open_places) > 1:
        raise BlockScheduleError(f"split: loop {name!r}: at most one factor may be None, got {list(factors)}")
    if any(factor is not None and factor < 1 for factor in factors):
        raise BlockScheduleError(f"split: loop {name!r}: factors are at least 1, got {list(factors)}")
    if not (isinstance(loop.min, IntImm) and loop.min.value == 0):
        raise BlockScheduleError(f"split: loop {name!r} begins at {loop.min}; only loops from 0 are split")
    extents = _extents(loop, factors, open_places)
    variables = [Var(f"{name}_{i}", var.dtype) for i in range(len(extents))]
    value: Expr = variables[0]
    for extent, inner in zip(extents[1:], variables[1:], strict=True):
        value = value * extent + inner
    new_loops = [For(v, const(0, var.dtype), e, loop.body) for v, e in zip(variables, extents, strict=True)]
    around = [*loops_around(func, loop), *new_loops]
    divides = analyzer_for(around).can_prove(value < loop.extent)
    body = rewritten_bindings(loop.body, {var: value}, around, None if divides else value < loop.extent)
    for new in reversed(new_loops):
        body = replace(new, body=body, origin=loop.origin)
    return replaced(func, {id(loop): body}), variables


def _extents(loop: For, factors: Sequence[int | None], open_places: Sequence[int]) -> list[Expr]:
    known = prod(factor for factor in factors if factor is not None)
    dtype = loop.loop_var.dtype
    if open_places:
        rest = analyzer_for([]).simplify((loop.extent + (known - 1)) // known)
        return [rest if factor is None else const(factor, dtype) for factor in factors]
    if isinstance(loop.extent, IntImm) and known < loop.extent.value:
        raise BlockScheduleError(
            f"split: loop {loop.loop_var.name!r} has {loop.extent.value} iterations, but the factors "
            f"{list(factors)} make {known}; one of them may be None, for as many as it takes"
        )
    if not isinstance(loop.extent, IntImm):
        raise BlockScheduleError(
            f"split: loop {loop.loop_var.name!r} has {loop.extent} iterations; let one of the factors be None"
        )
    return [const(factor, dtype) for factor in factors if factor is not None]


def fused(func: PrimFunc, variables: Sequence[Var]) -> tuple[PrimFunc, Var]:
    """Fuse loops, each the only thing in the one before, into one."""
    loops = [_plain(loop_of(func, var), "fuse") for var in variables]
    if len(loops) < 2:
        raise BlockScheduleError("fuse: expected two loops or more")
    for outer, inner in pairwise(loops):
        if outer.body is not inner:
            raise BlockScheduleError(
                f"fuse: loop {inner.loop_var.name!r} is not the only thing in loop {outer.loop_var.name!r}"
            )
        for other in loops:
            if uses_var(inner.extent, other.loop_var) or uses_var(inner.min, other.loop_var):
                raise BlockScheduleError(
                    f"fuse: how often loop {inner.loop_var.name!r} runs depends on loop {other.loop_var.name!r}"
                )
    for loop in loops:
        if not (isinstance(loop.min, IntImm) and loop.min.value == 0):
            raise BlockScheduleError(f"fuse: loop {loop.loop_var.name!r} begins at {loop.min}, not at 0")
    around = loops_around(func, loops[0])
    dtype = loops[0].loop_var.dtype
    var = Var("_".join([*(loop.loop_var.name for loop in loops), "fused"]), dtype)
    extent = analyzer_for(around).simplify(reduce(mul, (loop.extent for loop in loops)))
    values: dict[Var, Expr] = {}
    rest: Expr = var
    for loop in reversed(loops[1:]):
        values[loop.loop_var], rest = rest % loop.extent, rest // loop.extent
    values[loops[0].loop_var] = rest
    new = For(var, const(0, dtype), extent, loops[-1].body, origin=loops[0].origin)
    body = rewritten_bindings(loops[-1].body, values, [*around, new])
    return replaced(func, {id(loops[0]): replace(new, body=body)}), var


def reordered(func: PrimFunc, variables: Sequence[Var]) -> PrimFunc:
    """Put loops of one nest into this order, in the places that they have among the others."""
    loops = [loop_of(func, var) for var in variables]
    names = [var.name for var in variables]
    if len({id(loop) for loop in loops}) != len(loops):
        raise BlockScheduleError(f"reorder: a loop is given twice: {', '.join(names)}")
    if len(loops) < 2:
        return func
    depth = {id(loop): len(loops_around(func, loop)) for loop in loops}
    top, bottom = min(loops, key=lambda x: depth[id(x)]), max(loops, key=lambda x: depth[id(x)])
    chain = chain_between(top, bottom)
    if chain is None or any(all(loop is not link for link in chain) for loop in loops):
        raise BlockScheduleError(
            f"reorder: the loops {', '.join(names)} are not one nest: each must be the only thing in the one around it"
        )
    order = iter(loops)
    new_chain = [next(order) if any(link is loop for loop in loops) else link for link in chain]
    for place, inner in enumerate(new_chain):
        for outer in new_chain[place + 1 :]:
            if uses_var(inner.extent, outer.loop_var) or uses_var(inner.min, outer.loop_var):
                raise BlockScheduleError(
                    f"reorder: how often loop {inner.loop_var.name!r} runs depends on loop {outer.loop_var.name!r}, "
                    "which would come inside of it"
                )
    _require_starts_first(chain, new_chain)
    body: Stmt = bottom.body
    for loop in reversed(new_chain):
        body = replace(loop, body=body)
    return replaced(func, {id(top): body})


def _require_starts_first(chain: Sequence[For], wanted: Sequence[For]) -> None:
    """Refuse an order in which a reduction of a block does not begin where its start is.

    A start runs where the reduced axes are at their beginning. A loop that walks over outputs and reduces (fused ones)
    comes there first for each output only in the order that it has among the loops that reduce.
    """
    for block in blocks_in(chain[-1].body):
        pairs = list(zip(block.iter_vars, block.values, strict=True))
        reduced = [value for axis, value in pairs if axis.kind is not IterKind.DATA_PAR]
        data = [value for axis, value in pairs if axis.kind is IterKind.DATA_PAR]
        walking = [loop for loop in chain if any(uses_var(value, loop.loop_var) for value in reduced)]
        mixed = [loop for loop in walking if any(uses_var(value, loop.loop_var) for value in data)]
        order = [loop for loop in wanted if any(loop is link for link in walking)]
        if block.init is not None and mixed and any(a is not b for a, b in zip(walking, order, strict=True)):
            raise BlockScheduleError(
                f"reorder: loop {mixed[0].loop_var.name!r} walks over outputs of block {block.name!r} and reduces; "
                "decompose_reduction takes the start out before"
            )


def marked(func: PrimFunc, var: Var, kind: ForKind, primitive: str) -> PrimFunc:
    """Let the iterations of a loop run in parallel, as a vector, or written out."""
    loop = loop_of(func, var)
    if loop.kind is not ForKind.SERIAL:
        raise BlockScheduleError(f"{primitive}: loop {var.name!r} is {loop.kind.value} already")
    reducing = reducing_over(loop) if kind is not ForKind.UNROLLED else []
    if reducing:
        raise BlockScheduleError(
            f"{primitive}: block {reducing[0]!r} reduces over loop {var.name!r}, in which order matters; "
            "rfactor makes a loop of partial results"
        )
    return replaced(func, {id(loop): replace(loop, kind=kind)})


def add_unit_loop(func: PrimFunc, stmt: Stmt, name: str) -> tuple[PrimFunc, Var]:
    """Put a loop of one iteration around a statement."""
    var = Var(name)
    return replaced(func, {id(stmt): For(var, const(0), const(1), stmt)}), var

"""Primitives that move a block into a loop of another one: ``compute_at`` and ``reverse_compute_at``.

The block gets loops of its own there, over what one iteration of that loop needs, or gives.
Tests: tests/vta/tir/schedule/test_moving.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vta.arith.block_regions import analyzer_for, region_of, touches, union, why_not_all
from vta.arith.bounds import Interval
from vta.arith.facts import conjuncts
from vta.arith.simplify import Analyzer
from vta.tir.blocks import Access, block_reads, block_writes, reduce_axes
from vta.tir.buffer import Buffer
from vta.tir.expr import And, BufferLoad, Expr, IterKind, IterVar, Range, Var, binary, const, same
from vta.tir.func import PrimFunc
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.schedule.flow import (
    blocks_of,
    holds,
    only_output,
    plain_axes,
    readers,
    require_no_later_writer,
    require_no_pads,
    require_temporary,
    writers,
)
from vta.tir.schedule.stored_tiles import stored_tiles
from vta.tir.schedule.tree import (
    block_named,
    enclosing_block,
    loop_of,
    loops_around,
    replaced,
    without_statement,
)
from vta.tir.stmt import Block, BufferStore, For, SeqStmt, Stmt, seq
from vta.tir.traverse import substitute, uses_var, walk

__all__ = ["compute_at", "reverse_compute_at"]

_LATE, _EARLY = -1, -2
"""As an index: the last and the first place that there may be."""


def _target(func: PrimFunc, name: str, var: Var, primitive: str) -> tuple[Block, For]:
    block, loop = block_named(func, name), loop_of(func, var)
    if holds(loop, block):
        raise BlockScheduleError(f"{primitive}: block {name!r} is in loop {var.name!r} already")
    if enclosing_block(func, block) is not enclosing_block(func, loop):
        raise BlockScheduleError(f"{primitive}: block {name!r} and loop {var.name!r} are not in the same block")
    return block, loop


def _knowing(func: PrimFunc, loop: For) -> Analyzer:
    """Return an analyser that knows the loops around ``loop``, it, and those in it."""
    below = (node for node in walk(loop.body) if isinstance(node, For))
    return analyzer_for([*loops_around(func, loop), loop, *below])


def compute_at(func: PrimFunc, name: str, var: Var, *, unit_loops: bool = True, index: int | None = None) -> PrimFunc:
    """Compute block ``name`` in loop ``var``, where all that read it are: there, what one iteration needs.

    Loops of one iteration are left out unless ``unit_loops``. It stands before the first statement that reads it, or
    where ``index`` says: -1 as late as can be, -2 as early, else at that place in the loop's body.
    """
    block, loop = _target(func, name, var, "compute_at")
    scope = enclosing_block(func, block)
    buffer = only_output(block, "compute_at")
    require_temporary(func, block, buffer, "compute_at")
    require_no_later_writer(scope, block, "compute_at")
    consumers = readers(scope, buffer)
    if not consumers:
        raise BlockScheduleError(f"compute_at: no block reads {buffer.name!r}")
    for reader in consumers:
        if not holds(loop, reader):
            raise BlockScheduleError(
                f"compute_at: block {reader.name!r} reads {buffer.name!r} and is not in loop {var.name!r}"
            )
    tiles = stored_tiles(block, buffer, "compute_at")
    own = _own_conditions(func, block, "compute_at")
    analyzer = _knowing(func, loop)
    regions: list[list[Interval]] = [[] for _ in buffer.shape]
    for touch in touches(loop.body, buffer):
        for dim, interval in enumerate(region_of(touch, analyzer)):
            regions[dim].append(interval)
    needed = [union(found, size, analyzer) for found, size in zip(regions, buffer.shape, strict=True)]
    pairs = [(tile, part) for tile, part in zip(tiles, needed, strict=True) if tile is not None]
    ranges = {tile.axis: tile.steps(part, analyzer) for tile, part in pairs}
    nest = _nest(block, ranges, analyzer, own, unit_loops=unit_loops)
    func = without_statement(func, block)
    loop = loop_of(func, var)
    first = next(i for i, part in enumerate(_parts(loop)) if touches(part, buffer))
    made = _after_what_is_read(loop, block)
    return _put(func, loop, nest, first if index is None else _place(made, first, index, "compute_at"))


def _after_what_is_read(loop: For, block: Block) -> int:
    """Return the first place in ``loop`` at which all is there that ``block`` reads."""
    sources = {read.buffer for read in block_reads(block)}
    writing = [
        place for place, part in enumerate(_parts(loop))
        if any(isinstance(node, BufferStore) and node.buffer in sources for node in walk(part))
    ]  # fmt: skip
    return max(writing, default=-1) + 1


def _place(early: int, late: int, index: int, primitive: str) -> int:
    """Return the place that ``index`` means between two places."""
    if index in (_LATE, _EARLY):
        return late if index == _LATE else early
    if not early <= index <= late:
        raise BlockScheduleError(
            f"{primitive}: index is -1 (late), -2 (early) or a place from {early} to {late} in the loop, not {index}"
        )
    return index


def _parts(loop: For) -> list[Stmt]:
    return list(loop.body.stmts) if isinstance(loop.body, SeqStmt) else [loop.body]


def _put(func: PrimFunc, loop: For, nest: Stmt, place: int) -> PrimFunc:
    parts = _parts(loop)
    parts.insert(place, nest)
    return replaced(func, {id(loop): replace(loop, body=seq(parts))})


def _nest(
    block: Block,
    ranges: Mapping[IterVar, Range],
    analyzer: Analyzer,
    own: Sequence[Expr],
    needed: Sequence[Expr] = (),
    *,
    unit_loops: bool,
) -> Stmt:
    """Return loops around ``block``: over ``ranges`` of its axes, over the whole domain of others.

    The block runs where ``own`` hold, conditions on its axes, and ``needed``, such on the loops around. Loops of one
    iteration are there if ``unit_loops``.
    """
    values: list[Expr] = []
    loops: list[tuple[For, IterKind]] = []
    conditions: list[Expr] = list(needed)
    places: dict[Var, Expr] = {}
    for number, axis in enumerate(block.iter_vars):
        assert axis.dom is not None
        whole = Range(substitute(axis.dom.min, places), substitute(axis.dom.extent, places))
        domain = ranges.get(axis, whole)
        place = domain.min
        if unit_loops or not analyzer.can_prove(domain.extent == 1):
            var = Var(f"ax{number}", axis.var.dtype)
            loops.append((For(var, const(0, var.dtype), domain.extent, block), axis.kind))
            analyzer.bind(var, Range(const(0, var.dtype), domain.extent))
            place = domain.min + var
        value = analyzer.simplify(place)
        values.append(value)
        places[axis.var] = value
        end = whole.min + whole.extent
        conditions += [c for c in (value >= whole.min, value < end) if not analyzer.can_prove(c)]
    predicate: Expr = const(True, "bool")
    for condition in [*conditions, *(substitute(c, places) for c in own)]:
        predicate = binary(And, predicate, condition)
    body: Stmt = replace(block, values=tuple(values), predicate=analyzer.simplify(predicate))
    nest = [loop for loop, kind in loops if kind is IterKind.DATA_PAR]
    nest += [loop for loop, kind in loops if kind is not IterKind.DATA_PAR]
    for loop in reversed(nest):
        body = replace(loop, body=body)
    return body


def _own_conditions(func: PrimFunc, block: Block, primitive: str) -> list[Expr]:
    """Return, in terms of its axes, the conditions under which ``block`` runs that their domains do not say.

    Such ones are left by ``rfactor``, whose axes are parts of one that was split without dividing. What is about loops
    alone that no axis stands for (one iteration, split without dividing) says that the block runs once.
    """
    loops = loops_around(func, block)
    analyzer = analyzer_for(loops)
    values = {axis.var: value for axis, value in zip(block.iter_vars, block.values, strict=True)}
    domains: list[Expr] = []
    for axis, value in zip(block.iter_vars, block.values, strict=True):
        assert axis.dom is not None
        first, extent = (substitute(end, values) for end in (axis.dom.min, axis.dom.extent))
        domains += [analyzer.simplify(value >= first), analyzer.simplify(value < first + extent)]
    with analyzer.assuming(domains):
        found = [part for part in conjuncts(block.predicate) if not analyzer.can_prove(part)]
    axes: dict[Var, Expr] = {value: axis for axis, value in values.items() if isinstance(value, Var)}
    conditions = []
    for condition in found:
        used = [loop.loop_var for loop in loops if uses_var(condition, loop.loop_var)]
        if used and not any(uses_var(value, used) for value in block.values):
            continue
        if not all(var in axes for var in used):
            raise BlockScheduleError(
                f"{primitive}: block {block.name!r} runs only where {condition}, which is not about its axes"
            )
        conditions.append(substitute(condition, axes))
    return conditions


def reverse_compute_at(
    func: PrimFunc, name: str, var: Var, *, unit_loops: bool = True, index: int | None = None
) -> PrimFunc:
    """Compute block ``name`` in loop ``var``, where all that it reads is made: there, what one iteration gives.

    It stands after the last statement that makes something for it; the rest as for ``compute_at``.
    """
    primitive = "reverse_compute_at"
    block, loop = _target(func, name, var, primitive)
    scope = enclosing_block(func, block)
    made = [read for read in block_reads(block) if writers(scope, read.buffer)]
    if not made:
        raise BlockScheduleError(f"{primitive}: block {name!r} reads nothing that another block makes")
    output = only_output(block, primitive)
    _require_no_update(block, output, primitive)
    producers = {read.buffer: writers(scope, read.buffer) for read in made}
    for buffer, blocks in producers.items():
        for producer in blocks:
            if not holds(loop, producer):
                raise BlockScheduleError(
                    f"{primitive}: block {producer.name!r} makes {buffer.name!r} and is not in loop {var.name!r}"
                )
            _require_finished(func, producer, loop, primitive)
    for other in [*readers(scope, output), *writers(scope, output)]:
        if holds(loop, other):
            raise BlockScheduleError(
                f"{primitive}: block {other.name!r} in loop {var.name!r} uses {output.name!r}, too"
            )
    _require_nothing_between(scope, block, loop, output)
    own = _own_conditions(func, block, primitive)
    analyzer = _knowing(func, loop)
    ranges: dict[IterVar, Range] = {}
    for read in made:
        written = _written(loop, read.buffer, analyzer)
        axes = _read_axes(block, read, primitive)
        require_no_pads(block, axes, read.buffer, primitive)
        for axis, found in zip(axes, written, strict=True):
            _settle(ranges, axis, found, block, analyzer)
    needed = _outer_conditions(loop, list(producers), block, analyzer)
    nest = _nest(block, ranges, analyzer, own, needed, unit_loops=unit_loops)
    func = without_statement(func, block)
    loop = loop_of(func, var)
    last = max(i for i, part in enumerate(_parts(loop)) if any(touches(part, buffer) for buffer in producers))
    place = last + 1 if index is None else _place(last + 1, len(_parts(loop)), index, primitive)
    return _put(func, loop, nest, place)


def _require_no_update(block: Block, output: Buffer, primitive: str) -> None:
    """Refuse a block that adds to what was there before: in a loop that makes a part twice, it would add that twice."""
    own = any(isinstance(node, BufferLoad) and node.buffer is output for node in walk(block.body))
    if block.init is None and (own or reduce_axes(block)):
        raise BlockScheduleError(
            f"{primitive}: block {block.name!r} changes what {output.name!r} held before; move a sum with its start, "
            "before decompose_reduction"
        )


def _require_nothing_between(scope: Block, block: Block, loop: For, output: Buffer) -> None:
    """Refuse to move ``block`` up past one that uses its output: the start of a sum that was taken out of it."""
    order = blocks_of(scope)
    inside = [holds(loop, other) for other in order]
    after = len(order) - inside[::-1].index(True)
    for other in order[after : next(i for i, known in enumerate(order) if known is block)]:
        if any(access.buffer is output for access in (*block_reads(other), *block_writes(other))):
            raise BlockScheduleError(
                f"reverse_compute_at: block {other.name!r}, between loop {loop.loop_var.name!r} and block "
                f"{block.name!r}, uses {output.name!r}"
            )


def _outer_conditions(loop: For, buffers: Sequence[Buffer], block: Block, analyzer: Analyzer) -> list[Expr]:
    """Return the conditions on ``loop`` and the loops around it under which ``buffers`` are made in it."""
    found: list[list[Expr]] = []
    for touch in (touch for buffer in buffers for touch in touches(loop.body, buffer) if touch.writes):
        inside = [inner.loop_var for inner in touch.loops]
        parts = [part for whole in touch.conditions for part in conjuncts(analyzer.simplify(whole))]
        found.append([part for part in parts if not uses_var(part, inside) and not analyzer.can_prove(part)])
    for other in found[1:]:
        alike = all(any(same(a, b) for b in other) for a in found[0]) and len(other) == len(found[0])
        if not alike:
            raise BlockScheduleError(
                f"reverse_compute_at: what block {block.name!r} reads is made under conditions that differ in loop "
                f"{loop.loop_var.name!r}: {_listed(found[0])}; {_listed(other)}"
            )
    return found[0] if found else []


def _listed(conditions: Sequence[Expr]) -> str:
    return " and ".join(map(str, conditions)) or "always"


def _written(loop: For, buffer: Buffer, analyzer: Analyzer) -> list[Range]:
    """Return the part of ``buffer`` that is written in one iteration of ``loop``."""
    regions: list[list[Interval]] = [[] for _ in buffer.shape]
    for touch in touches(loop.body, buffer):
        if not touch.writes:
            continue
        reason = why_not_all(touch, analyzer)
        if reason is not None:
            name = "" if touch.block is None else f"block {touch.block.name!r} "
            raise BlockScheduleError(
                f"reverse_compute_at: {name}does not make whole parts of {buffer.name!r} in one iteration of loop "
                f"{loop.loop_var.name!r}: {reason}"
            )
        for dim, interval in enumerate(region_of(touch, analyzer)):
            regions[dim].append(interval)
    return [union(found, size, analyzer) for found, size in zip(regions, buffer.shape, strict=True)]


def _read_axes(block: Block, load: Access, primitive: str) -> list[IterVar]:
    axes = plain_axes(block, load)
    if axes is None:
        raise BlockScheduleError(
            f"{primitive}: block {block.name!r} reads {load.buffer.name!r} at {', '.join(map(str, load.indices))}; "
            "expected one axis for each dimension, each once"
        )
    return axes


def _settle(ranges: dict[IterVar, Range], axis: IterVar, found: Range, block: Block, analyzer: Analyzer) -> None:
    """Let ``axis`` run over ``found``; refuse a second range, and a part of a reduction."""
    before = ranges.setdefault(axis, found)
    if not (analyzer.can_prove_equal(before.min, found.min) and analyzer.can_prove_equal(before.extent, found.extent)):
        raise BlockScheduleError(
            f"reverse_compute_at: block {block.name!r} reads two parts of axis {axis.name!r} that differ"
        )
    assert axis.dom is not None
    whole = analyzer.can_prove_equal(axis.dom.extent, found.extent)
    if axis.kind is not IterKind.DATA_PAR and not whole:
        raise BlockScheduleError(
            f"reverse_compute_at: block {block.name!r} reduces over axis {axis.name!r}, of which one iteration gives "
            "a part"
        )


def _require_finished(func: PrimFunc, producer: Block, loop: For, primitive: str) -> None:
    """Refuse a producer whose elements are finished only after several iterations of ``loop`` or of loops around it."""
    for outer in [*loops_around(func, loop), loop]:
        if any(uses_var(value, outer.loop_var) for _, value in reduce_axes(producer)):
            raise BlockScheduleError(
                f"{primitive}: block {producer.name!r} reduces over loop {outer.loop_var.name!r}; what it makes is "
                "not finished inside of that loop"
            )

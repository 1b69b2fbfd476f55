"""Memory that blocks need: as deep in the loops as it can live, and no more than is touched there.

A buffer of a block moves into a loop where every iteration writes what it reads before it reads that, and no
reduction goes on from one iteration to the next. In a loop over ``i`` in steps of four, for example::

    block "root" {                          block "root" {
      alloc B: Buffer([16])                   for (i, 0, 4) {
      for (i, 0, 4) {                           realize(B, [(i*4):((i*4) + 4)], True {
        for (j, 0, 4) {                           for (j, 0, 4) {
          B[(i*4) + j] = ...                        B[(i*4) + j] = ...
        }                                         }
        for (j, 0, 4) {                           for (j, 0, 4) {
          C[(i*4) + j] = B[(i*4) + j]               C[(i*4) + j] = B[(i*4) + j]

Buffers that are reached by pointers of which no block says what they touch stay as they are. The alignment of a
dimension (``storage_align``) becomes an attribute. Tests: tests/vta/passes/generic/test_compact_buffer_allocation.py.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from isa.config import VTAConfig
from vta.arith.block_regions import Touch, analyzer_for, region_of, touches, union, why_not_all
from vta.arith.bounds import Interval
from vta.arith.facts import conjuncts
from vta.arith.simplify import Analyzer
from vta.tir.blocks import STORAGE_ALIGN_KEY, block_writes, blocks_in
from vta.tir.buffer import Buffer
from vta.tir.dtype import HANDLE
from vta.tir.expr import Builtin, Call, IntImm, Range, same
from vta.tir.func import PrimFunc
from vta.tir.stmt import AttrKey, AttrStmt, Block, BufferRealize, Evaluate, For, Stmt
from vta.tir.traverse import TirNode, children, map_stmt, uses_var, walk

__all__ = ["compact_buffer_allocation"]


def compact_buffer_allocation(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
    """Return ``func`` with the buffers of blocks realised where they are used, as large as it takes there."""
    if not any(isinstance(node, Block) and node.alloc_buffers for node in walk(func.body)):
        return func
    return replace(func, body=map_stmt(func.body, _settled))


def _settled(stmt: Stmt) -> Stmt:
    """Return a block whose buffers are realised in its body, but for those that must stay its own."""
    if not isinstance(stmt, Block) or not stmt.alloc_buffers:
        return stmt
    body = stmt.body
    kept: list[Buffer] = []
    for buffer in reversed(stmt.alloc_buffers):
        body = _aligned(body, buffer)
        in_start = stmt.init is not None and bool(touches(stmt.init, buffer))
        if in_start or _is_pointed_at(body, buffer) or not touches(body, buffer):
            kept.insert(0, buffer)
        else:
            body = _placed(body, buffer)
    return replace(stmt, body=body, alloc_buffers=tuple(kept))


def _aligned(body: Stmt, buffer: Buffer) -> Stmt:
    """Return ``body`` under what blocks in it say of the alignment of ``buffer``."""
    for block in blocks_in(body):
        entries = block.annotations.get(STORAGE_ALIGN_KEY, ())
        written = list(dict.fromkeys(write.buffer for write in block_writes(block)))
        assert isinstance(entries, tuple), "made by storage_align"
        for entry in entries:
            match entry:
                case (int() as index, int() as dim, int() as factor, int() as offset) if written[index] is buffer:
                    value = Call(HANDLE, Builtin.TUPLE, (IntImm(dim), IntImm(factor), IntImm(offset)))
                    body = AttrStmt(buffer, AttrKey.STORAGE_ALIGN, value, body, block.origin)
                case _:
                    continue
    return body


def _is_pointed_at(body: Stmt, buffer: Buffer) -> bool:
    """Whether the memory is reached in ways that no block accounts for: by pointer, or by a view of it."""
    stack: list[TirNode] = [body]
    while stack:
        node = stack.pop()
        if node is buffer.data or (isinstance(node, AttrStmt) and isinstance(node.node, tuple) and buffer in node.node):
            return True
        below = children(node)
        if isinstance(node, Block) and node.writes is not None:
            below = tuple(child for child in below if child is not node.body)
        stack.extend(below)
    return False


def _placed(stmt: Stmt, buffer: Buffer) -> Stmt:
    """Return ``stmt`` with ``buffer`` realised around the smallest part that can have it for itself."""
    path = _way_down(stmt, buffer)
    analyzer = analyzer_for(node for node in walk(stmt) if isinstance(node, For))
    for block in blocks_in(stmt):
        for axis in block.iter_vars:
            if axis.dom is not None:
                analyzer.bind(axis.var, axis.dom)
    chosen = stmt
    for outer, inner in pairwise(path):
        if isinstance(outer, For) and not _has_for_itself(inner, buffer, outer, analyzer):
            break
        chosen = inner
    bounds = _bounds(chosen, buffer, analyzer)

    def realised(node: Stmt) -> Stmt:
        return BufferRealize(buffer, bounds, node, origin=node.origin) if node is chosen else node

    return map_stmt(stmt, realised)


def _way_down(stmt: Stmt, buffer: Buffer) -> list[Stmt]:
    """Return statements from ``stmt`` inwards, each the only part of the one before that touches ``buffer``.

    The last one is a block with no other in it, at the latest.
    """
    path = [stmt]
    while True:
        node = path[-1]
        if isinstance(node, Block) and (node.writes is not None or sum(1 for _ in blocks_in(node)) == 1):
            return path
        parts = [child for child in children(node) if touches(_as_statement(child), buffer)]
        if len(parts) != 1 or not isinstance(parts[0], Stmt) or (isinstance(node, Block) and parts[0] is node.init):
            return path
        path.append(parts[0])


def _as_statement(node: TirNode) -> Stmt:
    return node if isinstance(node, Stmt) else Evaluate(node)


def _has_for_itself(stmt: Stmt, buffer: Buffer, loop: For, analyzer: Analyzer) -> bool:
    """Whether each iteration of ``loop``, whose body has ``stmt``, writes what it reads of ``buffer`` before."""
    written: list[Touch] = []
    for touch in touches(stmt, buffer):
        if touch.writes:
            if any(uses_var(value, loop.loop_var) for value in touch.reduced):
                return False
            written.append(touch)
        elif not touch.updates and not any(_covers(write, touch, analyzer) for write in written):
            return False
    return bool(written)


def _covers(write: Touch, read: Touch, analyzer: Analyzer) -> bool:
    """Whether all that ``read`` reads has been written by ``write``."""
    if why_not_all(write, analyzer) is not None:
        return False
    known = [analyzer.simplify(condition) for condition in (*write.domains, *read.conditions)]
    known = [part for condition in known for part in conjuncts(condition)]
    for condition in write.conditions:
        for part in conjuncts(analyzer.simplify(condition)):
            if not (analyzer.can_prove(part) or any(same(part, fact) for fact in known)):
                return False
    pairs = zip(region_of(read, analyzer), region_of(write, analyzer), strict=True)
    return all(_lies_in(inner, outer, analyzer) for inner, outer in pairs)


def _lies_in(inner: Interval, outer: Interval, analyzer: Analyzer) -> bool:
    if inner.min is None or inner.max is None or outer.min is None or outer.max is None:
        return False
    return analyzer.can_prove(outer.min <= inner.min) and analyzer.can_prove(inner.max <= outer.max)


def _bounds(stmt: Stmt, buffer: Buffer, analyzer: Analyzer) -> tuple[Range, ...]:
    """Return what ``stmt`` touches of ``buffer``."""
    regions = [region_of(touch, analyzer) for touch in touches(stmt, buffer)]
    return tuple(union([region[dim] for region in regions], size, analyzer) for dim, size in enumerate(buffer.shape))

"""Blocks: what their loops compute, written as plain statements, and what they read and write.

Tests: tests/vta/tir/test_blocks.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isa.errors import VTAError
from vta.tir.buffer import Buffer
from vta.tir.dtype import HANDLE
from vta.tir.expr import And, BufferLoad, Expr, IntImm, IterKind, IterVar, Range, Var, binary, const
from vta.tir.regions import BufferRegion
from vta.tir.stmt import (
    AttrKey,
    AttrStmt,
    Block,
    BufferRealize,
    BufferStore,
    IfThenElse,
    Prefetch,
    ProducerRealize,
    ProducerStore,
    Stmt,
    While,
    seq,
)
from vta.tir.traverse import TirNode, children, map_stmt, substitute, walk

__all__ = [
    "STORAGE_ALIGN_KEY",
    "Access",
    "BlockError",
    "as_element",
    "as_region",
    "block_as_loops",
    "block_reads",
    "block_writes",
    "blocks_in",
    "is_opaque",
    "misplaced",
    "reduce_axes",
    "unlowered_block",
    "without_blocks",
]  # fmt: skip


STORAGE_ALIGN_KEY = "buffer_dim_align"
"""The annotation of a block that says how its buffers are aligned: (buffer, dimension, factor, offset) each."""


class BlockError(VTAError, ValueError):
    """A block where none can be."""


def unlowered_block(block: Block) -> BlockError:
    """Return the error of a block that should have been lowered."""
    return BlockError(f"block {block.name!r} is left; LowerBlocks must run before this pass")


def misplaced(stmt: While | Prefetch | ProducerStore | ProducerRealize) -> BlockError:
    """Return the error of a statement that is not for where it stands."""
    match stmt:
        case While():
            return BlockError(
                "a while loop is for programs of the host; in one of the accelerator, loops have a number of iterations"
            )
        case Prefetch():
            return BlockError(f"a prefetch of {stmt.buffer.name!r} is left; StorageFlatten drops it")
        case _:
            return BlockError(f"tensor {stmt.producer.name!r} has no memory yet; lower the schedule first")


def reduce_axes(block: Block) -> list[tuple[IterVar, Expr]]:
    """Return the axes that the block reduces over, with what they stand for."""
    pairs = zip(block.iter_vars, block.values, strict=True)
    return [(axis, value) for axis, value in pairs if axis.kind is IterKind.COMM_REDUCE]


def block_as_loops(block: Block) -> Stmt:
    """Return one execution of the block without the block: axes replaced, the start guarded, memory realised.

    The start (``init``) runs where every reduction axis is at its beginning. Blocks inside stay.
    """
    body = block.body
    if block.init is not None:
        starts = [(axis.var == axis.dom.min).asexpr() for axis, _ in reduce_axes(block) if axis.dom is not None]
        init = block.init if not starts else IfThenElse(_all(starts), block.init, None, block.origin)
        body = seq([init, body])
    values = {axis.var: value for axis, value in zip(block.iter_vars, block.values, strict=True)}
    body = substitute(body, values)
    if not (isinstance(block.predicate, IntImm) and block.predicate.value):
        body = IfThenElse(block.predicate, body, None, block.origin)
    for buffer in reversed(block.alloc_buffers):
        bounds = tuple(Range(const(0), extent) for extent in buffer.shape)
        body = BufferRealize(buffer, bounds, body, origin=block.origin)
    return body


def _all(conditions: Sequence[Expr]) -> Expr:
    result = conditions[0]
    for condition in conditions[1:]:
        result = binary(And, result, condition)
    return result


def without_blocks(stmt: Stmt) -> Stmt:
    """Return ``stmt`` with every block in it as plain statements."""
    return map_stmt(stmt, lambda inner: block_as_loops(inner) if isinstance(inner, Block) else inner)


def blocks_in(stmt: Stmt) -> Iterator[Block]:
    """Yield the blocks in ``stmt``, outer ones first, in the order of the program."""
    return (node for node in walk(stmt) if isinstance(node, Block))


@dataclass(frozen=True, slots=True)
class Access:
    """``extents`` elements of ``buffer`` from ``indices`` on, in each dimension; one element has extents of one."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    extents: tuple[Expr, ...]

    @property
    def is_element(self) -> bool:
        """Whether this is a single element."""
        return all(isinstance(extent, IntImm) and extent.value == 1 for extent in self.extents)


def as_element(node: BufferLoad | BufferStore) -> Access:
    """Return the access to one element."""
    return Access(node.buffer, node.indices, tuple(IntImm(1, index.dtype) for index in node.indices))


def as_region(part: BufferRegion) -> Access:
    """Return the access to a region."""
    return Access(part.buffer, tuple(r.min for r in part.region), tuple(r.extent for r in part.region))


def _accesses(block: Block, kind: type[BufferLoad | BufferStore]) -> Iterator[Access]:
    """Yield what the nodes of a block touch, and what blocks say whose bodies do not show it."""
    stack: list[TirNode] = [block]
    while stack:
        node = stack.pop()
        if isinstance(node, Block) and (node.reads is not None or node.writes is not None):
            yield from map(as_region, (node.reads if kind is BufferLoad else node.writes) or ())
            stack += [*node.values, node.predicate]
            continue
        if isinstance(node, kind):
            yield as_element(node)
        stack.extend(reversed(children(node)))


def block_writes(block: Block) -> list[Access]:
    """Return what the block stores, its start included."""
    return list(_accesses(block, BufferStore))


def block_reads(block: Block) -> list[Access]:
    """Return what the block reads, but for a reduction's own result."""
    reducing = [b for b in blocks_in(block) if b.init is not None or reduce_axes(b)]
    written = {write.buffer for inner in reducing for write in block_writes(inner)}
    return [read for read in _accesses(block, BufferLoad) if read.buffer not in written]


def is_opaque(stmt: Stmt) -> bool:
    """Whether memory is touched in ``stmt`` in another way than by loads and stores: by a pointer, or a view."""
    return any(
        (isinstance(node, Var) and node.dtype == HANDLE)
        or (isinstance(node, AttrStmt) and node.key == AttrKey.BUFFER_BIND_SCOPE)
        for node in walk(stmt)
    )

"""Blocks: what their loops compute, written as plain statements, and what they read and write.

Tests: tests/vta/tir/test_blocks.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isa.errors import VTAError
from vta.tir.buffer import Buffer
from vta.tir.expr import And, BufferLoad, Expr, IntImm, IterKind, IterVar, Range, Var, binary, const
from vta.tir.stmt import (
    Block,
    BufferRealize,
    BufferStore,
    For,
    IfThenElse,
    Prefetch,
    ProducerRealize,
    ProducerStore,
    Stmt,
    While,
    seq,
)
from vta.tir.traverse import map_stmt, substitute, walk

__all__ = [
    "BlockError",
    "block_as_loops",
    "block_reads",
    "block_writes",
    "blocks_in",
    "misplaced",
    "reduce_axes",
    "unlowered_block",
    "without_blocks",
]  # fmt: skip


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


def block_writes(block: Block) -> list[BufferStore]:
    """Return the stores of the block, its start's included."""
    return [node for node in walk(block) if isinstance(node, BufferStore)]


def block_reads(block: Block) -> list[BufferLoad]:
    """Return the elements that the block reads, but for those of a reduction's own result."""
    reduces = block.init is not None or bool(reduce_axes(block))
    written = {store.buffer for store in block_writes(block)} if reduces else set()
    return [node for node in walk(block) if isinstance(node, BufferLoad) and node.buffer not in written]


def loop_ranges(loops: Sequence[For]) -> dict[Var, Range]:
    """Return the range of every loop's variable."""
    return {loop.loop_var: Range(loop.min, loop.extent) for loop in loops}


def buffers_of(block: Block) -> set[Buffer]:
    """Return the buffers that the block touches."""
    return {node.buffer for node in walk(block) if isinstance(node, BufferLoad | BufferStore)}

"""Who writes and who reads what: the data flow between the blocks of a function.

Tests: tests/vta/tir/schedule/test_moving.py, test_inlining.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vta.arith.simplify import Analyzer
from vta.tir.blocks import Access, block_reads, block_writes
from vta.tir.buffer import Buffer
from vta.tir.expr import IterKind, IterVar, Var
from vta.tir.func import PrimFunc
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.schedule.tree import enclosing_block, only_blocks_below
from vta.tir.stmt import Block, Stmt
from vta.tir.traverse import walk

__all__ = [
    "blocks_of",
    "buffer_at",
    "holds",
    "is_reduction",
    "only_output",
    "plain_axes",
    "readers",
    "require_elements",
    "require_no_later_writer",
    "require_no_pads",
    "require_temporary",
    "writers",
]  # fmt: skip


def blocks_of(scope: Block) -> list[Block]:
    """Return the blocks in ``scope`` that are in no other block of it, in the order of the program."""
    return list(only_blocks_below(scope.body))


def readers(scope: Block, buffer: Buffer) -> list[Block]:
    """Return the blocks of ``scope`` that read ``buffer``, a reduction that updates it aside."""
    return [block for block in blocks_of(scope) if any(read.buffer is buffer for read in block_reads(block))]


def writers(scope: Block, buffer: Buffer) -> list[Block]:
    """Return the blocks of ``scope`` that write ``buffer``."""
    return [block for block in blocks_of(scope) if any(write.buffer is buffer for write in block_writes(block))]


def only_output(block: Block, primitive: str) -> Buffer:
    """Return the buffer that ``block`` writes."""
    found = list(dict.fromkeys(store.buffer for store in block_writes(block)))
    if len(found) != 1:
        raise BlockScheduleError(f"{primitive}: block {block.name!r} writes {len(found)} buffers, not one")
    return found[0]


def require_temporary(func: PrimFunc, block: Block, buffer: Buffer, primitive: str) -> None:
    """Refuse a buffer that is seen outside of the block around ``block``, or that another block writes too."""
    if any(buffer is argument for argument in func.buffer_map.values()):
        raise BlockScheduleError(
            f"{primitive}: block {block.name!r} writes {buffer.name!r}, an argument of the function, which stays whole"
        )
    scope = enclosing_block(func, block)
    if buffer not in scope.alloc_buffers:
        raise BlockScheduleError(
            f"{primitive}: block {block.name!r} writes {buffer.name!r}, which lives on outside of block {scope.name!r}"
        )
    others = [other.name for other in writers(scope, buffer) if other is not block]
    if others:
        raise BlockScheduleError(f"{primitive}: block {others[0]!r} writes {buffer.name!r}, too")


def require_no_later_writer(scope: Block, block: Block, primitive: str) -> None:
    """Refuse to move ``block`` down where something after it changes what it reads."""
    order = blocks_of(scope)
    place = next(i for i, other in enumerate(order) if other is block)
    read = {access.buffer for access in block_reads(block)}
    for later in order[place + 1 :]:
        changed = [write.buffer.name for write in block_writes(later) if write.buffer in read]
        if changed:
            raise BlockScheduleError(
                f"{primitive}: block {later.name!r} changes {changed[0]!r}, which block {block.name!r} reads before"
            )


def require_elements(block: Block, buffer: Buffer, primitive: str) -> None:
    """Refuse a block that gets ``buffer`` as a whole, not element by element: an intrinsic."""
    if any(read.buffer is buffer and not read.is_element for read in block_reads(block)):
        raise BlockScheduleError(
            f"{primitive}: block {block.name!r} gets a part of {buffer.name!r} as memory, not element by element"
        )


def require_no_pads(block: Block, axes: Sequence[IterVar], buffer: Buffer, primitive: str) -> None:
    """Refuse a block that goes over more places than ``buffer``, which it reads at ``axes``, has: one that pads."""
    for axis, size in zip(axes, buffer.shape, strict=True):
        assert axis.dom is not None
        if not Analyzer().can_prove(axis.dom.min + axis.dom.extent <= size):
            raise BlockScheduleError(
                f"{primitive}: block {block.name!r} goes over {axis.dom.extent} places of axis {axis.name!r}, more "
                f"than the {size} that {buffer.name!r} has"
            )


def plain_axes(block: Block, access: Access) -> list[IterVar] | None:
    """Return the axis that each index of an element is, None if an index is anything else or an axis comes twice."""
    by_var = {axis.var: axis for axis in block.iter_vars}
    found: list[IterVar] = []
    for index in access.indices if access.is_element else ():
        if not isinstance(index, Var) or index not in by_var or any(by_var[index] is axis for axis in found):
            return None
        found.append(by_var[index])
    return found if access.is_element else None


def buffer_at(block: Block, index: int, accesses: Sequence[Access], what: str) -> Buffer:
    """Return buffer number ``index`` of those that a block reads, or writes."""
    found = list(dict.fromkeys(access.buffer for access in accesses))
    if not isinstance(index, int) or not 0 <= index < len(found):
        names = ", ".join(buffer.name for buffer in found) or "none"
        raise BlockScheduleError(f"{what}: block {block.name!r} has no buffer {index!r} there; it has: {names}")
    return found[index]


def is_reduction(block: Block) -> bool:
    """Whether ``block`` has a start or an axis to reduce over."""
    return block.init is not None or any(axis.kind is not IterKind.DATA_PAR for axis in block.iter_vars)


def holds(stmt: Stmt, block: Block) -> bool:
    """Whether ``block`` is in ``stmt``."""
    return any(node is block for node in walk(stmt))

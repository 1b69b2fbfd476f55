"""The innermost statement around all that touches a buffer: ``tir.analysis.detect_buffer_access_lca``.

Tests: tests/vta/tir/test_access_lca.py.
"""

from __future__ import annotations

from vta.tir.buffer import Buffer
from vta.tir.expr import BufferLoad
from vta.tir.func import PrimFunc
from vta.tir.stmt import Block, BufferStore, For
from vta.tir.traverse import TirNode, children

__all__ = ["detect_buffer_access_lca"]

_Around = tuple[Block | For, ...]


def detect_buffer_access_lca(func: PrimFunc) -> dict[Buffer, Block | For | None]:
    """Return for each buffer of a function the innermost loop or block with all its accesses; None for the function.

    An access in the start of a reduction, or in what an axis stands for, is one where the block is.
    """
    found: dict[Buffer, _Around] = {}
    stack: list[tuple[TirNode, _Around]] = [(func.body, ())]
    while stack:
        node, around = stack.pop()
        if isinstance(node, BufferLoad | BufferStore):
            before = found.get(node.buffer)
            found[node.buffer] = around if before is None else _shared(before, around)
        inside = (*around, node) if isinstance(node, Block | For) else around
        own = set(map(id, (node.body, node.init))) if isinstance(node, Block) else None
        stack += [(child, inside if own is None or id(child) in own else around) for child in children(node)]
    for buffer in func.buffer_map.values():  # an argument is there before anything else
        if buffer in found:
            found[buffer] = found[buffer][:1] if found[buffer] and isinstance(found[buffer][0], Block) else ()
    return {buffer: around[-1] if around else None for buffer, around in found.items()}


def _shared(a: _Around, b: _Around) -> _Around:
    count = 0
    for x, y in zip(a, b, strict=False):
        if x is not y:
            break
        count += 1
    return a[:count]

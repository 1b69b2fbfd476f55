"""Lay out the places of one special memory (the scratchpads) one after the other in a single allocation.

Every place starts at a whole element of its memory, so that its offset is a scratchpad index. Tests:
tests/vta/passes/storage/test_tagged_merge.py and the rest of tests/vta/passes/storage.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from isa.config import VTAConfig
from vta.passes.errors import PassError
from vta.passes.memory_info import find_memory
from vta.passes.storage.reuse import StoragePlace, is_tagged
from vta.tir.dtype import INT32, INT64, DType
from vta.tir.expr import Expr, IntImm, Var

__all__ = ["CapacityError", "StorageBlock", "check_capacity", "index_constant", "lay_out"]

_DEFAULT_ALIGNMENT_BITS = 32
_NAMES_SHOWN = 6


class CapacityError(PassError):
    """Buffers that need more memory than their scratchpad has."""


@dataclass(frozen=True, slots=True)
class StorageBlock:
    """One allocation: its places and the bit at which each starts; ``bits`` is the whole size."""

    places: tuple[StoragePlace, ...]
    offsets: tuple[int, ...]
    bits: int

    @property
    def var(self) -> Var:
        """The variable of the allocation: that of its first place."""
        return self.places[0].var

    @property
    def scope(self) -> str:
        """The memory."""
        return self.places[0].scope

    @property
    def dtype(self) -> DType:
        """The type in which the allocation counts its elements."""
        return self.places[0].dtype


def lay_out(places: Sequence[StoragePlace], config: VTAConfig) -> list[StorageBlock]:
    """Return the allocations for ``places`` of one attach scope: one a special memory, one a place of other memory."""
    blocks: list[StorageBlock] = []
    done: set[str] = set()
    for place in places:
        if not is_tagged(place.scope):
            blocks.append(StorageBlock((place,), (0,), place.bits))
        elif place.scope not in done:
            done.add(place.scope)
            blocks.append(_merge([p for p in places if p.scope == place.scope], config))
    return blocks


def _merge(places: Sequence[StoragePlace], config: VTAConfig) -> StorageBlock:
    if len(places) == 1:
        return StorageBlock((places[0],), (0,), places[0].bits)
    info = find_memory(config, places[0].scope)
    alignment = info.max_simd_bits if info is not None else _DEFAULT_ALIGNMENT_BITS
    offsets: list[int] = []
    end = 0
    for place in places:
        offsets.append(end)
        end += -(-place.bits // alignment) * alignment
    return StorageBlock(tuple(places), tuple(offsets), end)


def check_capacity(blocks: Sequence[StorageBlock], config: VTAConfig) -> None:
    """Raise ``CapacityError`` if the blocks of one scratchpad do not fit, naming buffers, need and limit."""
    for scope in dict.fromkeys(block.scope for block in blocks):
        info = find_memory(config, scope)
        mine = [block for block in blocks if block.scope == scope]
        bits = sum(-(-block.bits // info.unit_bits) * info.unit_bits for block in mine) if info else 0
        if info is None or bits <= info.max_num_bits:
            continue
        allocations = [a for block in mine for place in block.places for a in place.allocations]
        raise CapacityError(
            f"memory {scope!r} is too small for {_names(mine, info.unit_bits)}",
            expected=f"at most {info.depth} elements ({info.max_num_bits // 8} bytes)",
            got=f"{bits // info.unit_bits} elements ({bits // 8} bytes)",
            hint=f"an element is {info.rows}x{info.columns} {info.dtype}; use smaller tiles or fewer virtual threads",
            origin=allocations[0].origin,
        )


def _names(blocks: Sequence[StorageBlock], unit_bits: int) -> str:
    """Return "'A' (12 elements), 'B' (3)", each place under the names that share it."""
    parts: list[str] = []
    for place in (place for block in blocks for place in block.places):
        names = list(dict.fromkeys(a.buffer_var.name for a in place.allocations))
        shown = "/".join(names[:3]) + ("/..." if len(names) > 3 else "")
        count = -(-place.bits // unit_bits)
        parts.append(f"{shown!r} ({count} element{'' if count == 1 else 's'})")
    rest = len(parts) - _NAMES_SHOWN
    return ", ".join(parts[:_NAMES_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def index_constant(value: int) -> Expr:
    """Return ``value`` as an index: int32, or int64 where that is too small."""
    return IntImm(value, INT32 if value <= INT32.bounds[1] else INT64)

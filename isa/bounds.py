"""Accesses out of range, in words: every engine and the checker say the same of the same mistake.

Tests: ``tests/isa/test_bounds.py``.
"""

from isa.extents import dram_reach, row_starts
from isa.instructions import Load, Store

__all__ = ["index_text", "outside_text", "row_outside", "sram_text"]


def index_text(name: str, index: int, depth: int) -> str:
    """Say that index ``index`` of ``name`` lies outside a buffer of ``depth`` elements."""
    return f"{name} index {index} is out of range, the buffer has {depth} elements"


def sram_text(name: str, base: int, count: int, depth: int) -> str:
    """Say that ``count`` elements from ``base`` on leave scratchpad ``name``, which has ``depth``."""
    return f"{name} elements {base} to {base + count - 1} are out of range, the buffer has {depth} elements"


def outside_text(subject: str, begin: int, end: int, dram: range) -> str | None:
    """Say that bytes ``begin`` to ``end - 1`` lie outside ``dram``, the addresses of memory; None if they lie inside.

    ``subject`` begins the sentence: it names the bytes and ends with the verb.
    """
    if begin < dram.start:
        return f"{subject} out of range, memory begins at {dram.start:#x}"
    if end > dram.stop:
        return f"{subject} out of range, memory ends at {dram.stop:#x}"
    return None


def row_outside(transfer: Load | Store, elem_bytes: int, dram: range) -> str | None:
    """Name the first row that lies outside memory, of a transfer that moves anything; None if all rows lie inside."""
    begin, end = transfer.dram_base * elem_bytes, (transfer.dram_base + dram_reach(transfer)) * elem_bytes
    if dram.start <= begin and end <= dram.stop:
        return None
    row = transfer.x_size * elem_bytes
    for start in row_starts(transfer):
        begin = start * elem_bytes
        text = outside_text(f"DRAM bytes {begin:#x} to {begin + row - 1:#x} are", begin, begin + row, dram)
        if text is not None:
            return text
    raise AssertionError("of a transfer that leaves memory, a row does")

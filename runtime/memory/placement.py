"""A program's own memory contents, put where the program says they are.

Tests: ``tests/runtime/test_session.py``.
"""

from collections.abc import Mapping

import numpy as np

from isa.program import Program
from runtime.memory.device_memory import PAGE_BYTES, Allocation, DeviceMemory

__all__ = ["page_ranges", "place_image"]


def place_image(memory: DeviceMemory, program: Program) -> list[Allocation]:
    """Claim the pages that a program names and fill them; return the blocks, for the caller to free.

    Raises ``DeviceMemoryError`` where something is in use; then nothing is claimed.
    """
    blocks: list[Allocation] = []
    try:
        blocks += (memory.claim(begin, end - begin) for begin, end in page_ranges(program))
    except BaseException:
        for block in blocks:
            memory.free(block)
        raise
    space = memory.address_space()
    for address, data in _contents(program).items():
        space[address : address + len(data)] = np.frombuffer(data, np.uint8)
    return blocks


def _contents(program: Program) -> Mapping[int, bytes]:
    contents = {segment.address: segment.data for segment in program.memory.segments}
    if program.uops:
        contents[program.uop_base] = np.array(program.uops, "<u4").tobytes()
    return contents


def page_ranges(program: Program) -> list[tuple[int, int]]:
    """Return the page ranges that the program's segments, outputs and micro-ops lie in, merged."""
    ranges = [(segment.address, segment.nbytes) for segment in program.memory.segments]
    ranges += [(output.address, output.nbytes) for output in program.memory.outputs]
    ranges.append((program.uop_base, program.uop_bytes))
    merged: list[tuple[int, int]] = []
    for address, nbytes in sorted(ranges):
        if not nbytes:
            continue
        begin, end = address // PAGE_BYTES * PAGE_BYTES, -(-(address + nbytes) // PAGE_BYTES) * PAGE_BYTES
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged

"""A launch that stores micro-ops for itself, rehearsed on the interpreter: only running it tells what its loads bring.

Tests: ``tests/runtime/devices/tsim/test_rehearsal.py``.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from isa.bounds import row_outside
from isa.bulk import decode_all
from isa.extents import moved_elements
from isa.footprint import dram_rows
from isa.instructions import MemoryId, Store
from isa.reference import InterpreterError, Reference
from isa.tokens import token_order
from runtime.devices.tsim.stream import Fault, Foreseen, InstructionStream
from runtime.memory.device_memory import FIRST_ADDRESS

__all__ = ["rehearse"]

Bytes = npt.NDArray[np.uint8]
Scratchpads = Callable[[MemoryId], npt.NDArray[np.int32] | npt.NDArray[np.uint32]]


def rehearse(stream: InstructionStream, scratchpads: Scratchpads, memory: Bytes) -> Foreseen:
    """Return what the launch is going to execute. ``memory``, all of DRAM, is used, and left as it was.

    Instructions are executed one by one, as slowly as on target ``reference``.
    """
    machine = Reference(stream.config, memory, skip_execution=stream.skip, first_address=FIRST_ADDRESS)
    machine.uop[:], machine.inp[:] = scratchpads(MemoryId.UOP), scratchpads(MemoryId.INP)
    machine.wgt[:], machine.acc[:] = scratchpads(MemoryId.WGT), scratchpads(MemoryId.ACC)
    instructions = decode_all(stream.array, stream.config)
    order = token_order(instructions).executed
    overwritten: list[tuple[int, Bytes]] = []
    try:
        for count, index in enumerate(order):
            instruction = instructions[index]
            if isinstance(instruction, Store) and not stream.skip:
                overwritten += _under(instruction, stream.config.out_elem_bytes, memory)
            try:
                machine.step(instruction)
            except InterpreterError as error:
                message = str(error).partition(": ")[2]  # without the index, which a single step does not know
                return Foreseen(np.array(order[:count], np.int64), Fault(index, message))
    finally:
        for begin, data in reversed(overwritten):
            memory[begin : begin + len(data)] = data
    return stream.whole


def _under(store: Store, elem_bytes: int, memory: Bytes) -> list[tuple[int, Bytes]]:
    """Return what lies where ``store`` is going to write, if it writes anything."""
    if not moved_elements(store) or row_outside(store, elem_bytes, range(FIRST_ADDRESS, len(memory))) is not None:
        return []
    return [(begin, memory[begin:end].copy()) for begin, end in dram_rows(store, elem_bytes)]

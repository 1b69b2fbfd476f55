"""The scratchpads of the simulated core as numbers, read from the memories of its netlist.

Tests: ``tests/runtime/devices/tsim/test_memories.py``.
"""

from typing import TYPE_CHECKING, assert_never

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.instructions import MemoryId
from isa.reference import unpack

if TYPE_CHECKING:
    from hw.sim import CompiledDesign

__all__ = ["read_scratchpad"]

_BANKS = 4
"""Of the accumulator, or one for each element of a smaller one."""


def read_scratchpad(
    design: "CompiledDesign", config: VTAConfig, memory: MemoryId
) -> npt.NDArray[np.int32] | npt.NDArray[np.uint32]:
    """Return a copy of a scratchpad of an idle core, shaped as in ``isa.reference.Reference``."""
    match memory:
        case MemoryId.UOP:
            halves = [design.memory(f"compute.uops.copy_0_{half}.memory") for half in range(2)]  # even and odd ones
            return np.stack(halves, axis=1).reshape(-1).astype(np.uint32)
        case MemoryId.INP:
            rows = _inputs(design, config)
            return unpack(rows, config.inp_width).reshape(-1, config.batch, config.block_in)
        case MemoryId.WGT:
            rows = _element_bytes(design, "load.wgt", config.wgt_elem_bits)
            return unpack(rows, config.wgt_width).reshape(-1, config.block_out, config.block_in)
        case MemoryId.ACC | MemoryId.ACC_8BIT | MemoryId.OUT:
            return unpack(_accumulator(design, config), config.acc_width).reshape(-1, config.batch, config.block_out)
        case _:
            assert_never(memory)


def _inputs(design: "CompiledDesign", config: VTAConfig) -> npt.NDArray[np.uint8]:
    """Return the input elements, which lie in turn in banks where a step reads several of them, in order."""
    if not config.depthwise_taps:
        return _element_bytes(design, "load.inp", config.inp_elem_bits)
    banks = 1 << (config.depthwise_taps - 1).bit_length()
    names = [f"load.inp.bank_{bank}" for bank in range(banks)]
    stacked = np.stack([_element_bytes(design, name, config.inp_elem_bits) for name in names], axis=1)
    return stacked.reshape(config.inp_depth, -1)


def _accumulator(design: "CompiledDesign", config: VTAConfig) -> npt.NDArray[np.uint8]:
    """Return the elements of the accumulator, which lie in banks, in order."""
    banks = min(_BANKS, config.acc_depth)
    stacked: npt.NDArray[np.uint8] = np.stack(
        [_element_bytes(design, f"compute.accumulator.bank_{bank}", config.acc_elem_bits) for bank in range(banks)]
    )
    address = np.arange(config.acc_depth)
    mixed = address >> 4 ^ address >> 5 ^ address >> 6 ^ address >> 7 ^ address >> 8
    place = address ^ (mixed & 1) << 1  # as hw.accumulator.place_of
    elements: npt.NDArray[np.uint8] = stacked[place % banks, address // banks]
    return elements


def _element_bytes(design: "CompiledDesign", name: str, bits: int) -> npt.NDArray[np.uint8]:
    """Return the bytes of each element of the ``hw.scratchpad.Scratchpad`` of this name, shape (depth, bits / 8).

    Where it has several memories, rows of each are whole words of 64 bits: parts of an element are beats.
    """
    whole = f"{name}.memory"
    names = [whole]
    if whole not in design.memories:
        names = [f"{whole}_{index}" for index in range(sum(other.startswith(f"{whole}_") for other in design.memories))]
    parts = [np.ascontiguousarray(design.memory(part)) for part in names]
    found = np.concatenate([rows.view(np.uint8).reshape(len(rows), -1) for rows in parts], axis=1)
    return np.ascontiguousarray(found[:, : bits // 8])

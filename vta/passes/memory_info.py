"""What the passes need to know about a memory scope: its element, its size, who fills it.

Tests: tests/vta/passes/test_memory_info.py.
"""

from dataclasses import dataclass
from difflib import get_close_matches

from isa.config import VTAConfig
from isa.instructions import MemoryId, Module
from isa.origin import Origin
from vta.passes.errors import PassError
from vta.tir.dtype import DType
from vta.tir.scopes import ACC_SCOPE, INP_SCOPE, WGT_SCOPE

__all__ = ["MemoryInfo", "MemoryScopeError", "find_memory", "memory_info", "output_memory"]


class MemoryScopeError(PassError):
    """A memory scope that the accelerator does not have."""


@dataclass(frozen=True, slots=True)
class MemoryInfo:
    """One on-chip memory.

    An element (what one SRAM index stands for) is a tile of ``rows`` by ``columns`` numbers of ``dtype``.
    ``unit_bits`` and ``max_simd_bits`` are the bits of one element, ``max_num_bits`` those of the whole memory.
    ``memory`` is the id in a LOAD or STORE, ``queue`` the module that executes it.
    """

    scope: str
    dtype: DType
    rows: int
    columns: int
    max_num_bits: int
    memory: MemoryId
    queue: Module

    @property
    def lanes(self) -> int:
        """Numbers in one element."""
        return self.rows * self.columns

    @property
    def unit_bits(self) -> int:
        """Bits of one element, which is the unit of addressing."""
        return self.lanes * self.dtype.bits

    @property
    def max_simd_bits(self) -> int:
        """Bits to which allocations are aligned: one element."""
        return self.unit_bits

    @property
    def depth(self) -> int:
        """Elements that fit."""
        return self.max_num_bits // self.unit_bits


def find_memory(config: VTAConfig, scope: str) -> MemoryInfo | None:
    """Return the on-chip memory called ``scope``, or None (DRAM, host memory)."""
    match scope:
        case "local.inp_buffer":
            return MemoryInfo(
                scope=INP_SCOPE,
                dtype=DType(config.inp_dtype),
                rows=config.batch,
                columns=config.block_in,
                max_num_bits=8 * config.inp_buff_bytes,
                memory=MemoryId.INP,
                queue=Module.LOAD,
            )
        case "local.wgt_buffer":
            return MemoryInfo(
                scope=WGT_SCOPE,
                dtype=DType(config.wgt_dtype),
                rows=config.block_out,
                columns=config.block_in,
                max_num_bits=8 * config.wgt_buff_bytes,
                memory=MemoryId.WGT,
                queue=Module.LOAD,
            )
        case "local.acc_buffer":
            return MemoryInfo(
                scope=ACC_SCOPE,
                dtype=DType(config.acc_dtype),
                rows=config.batch,
                columns=config.block_out,
                max_num_bits=8 * config.acc_buff_bytes,
                memory=MemoryId.ACC,
                queue=Module.COMPUTE,
            )
        case _:
            return None


def memory_info(config: VTAConfig, scope: str, origin: Origin | str | None = None) -> MemoryInfo:
    """Return the on-chip memory called ``scope``; raises ``MemoryScopeError`` for any other name.

    ``origin`` is the stage that wants it.
    """
    info = find_memory(config, scope)
    if info is None:
        close = get_close_matches(scope, (INP_SCOPE, WGT_SCOPE, ACC_SCOPE), n=1)
        raise MemoryScopeError(
            "unknown memory scope",
            expected=f"{INP_SCOPE!r}, {WGT_SCOPE!r} or {ACC_SCOPE!r}",
            got=f"{scope!r}",
            hint=f"did you mean {close[0]!r}?" if close else "",
            origin=origin,
        )
    return info


def output_memory(config: VTAConfig) -> MemoryInfo:
    """Return how a STORE sees the accumulator: the low ``out_width`` bits of each number, memory id OUT."""
    return MemoryInfo(
        scope=ACC_SCOPE,
        dtype=DType(config.out_dtype),
        rows=config.batch,
        columns=config.block_out,
        max_num_bits=8 * config.out_buff_bytes,
        memory=MemoryId.OUT,
        queue=Module.STORE,
    )

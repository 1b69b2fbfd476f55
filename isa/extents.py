"""How far an instruction reaches: the numbers that follow from its fields, for one instruction or for columns of many.

Whoever has to know what an instruction touches starts here: ``isa.footprint`` makes sets of elements of these numbers,
devices compare them with what there is, traces list the rows. The reference interpreter alone goes step by step, and
is what they are tested against. Tests: ``tests/isa/test_extents.py``.
"""

# ruff: noqa: D102  # the properties of the protocols are the fields of isa.layout

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Protocol, TypeVar, assert_never, overload

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.instructions import Alu, Gemm, Load, MemoryId, Store

__all__ = [
    "ALU_OPERANDS",
    "GEMM_OPERANDS",
    "LoopColumns",
    "LoopFields",
    "LoopOperand",
    "TileFields",
    "TransferColumns",
    "all_row_starts",
    "by_memory",
    "dram_reach",
    "factors_of",
    "last_index",
    "loop_steps",
    "moved_elements",
    "operands_of",
    "row_starts",
    "taps_of",
    "tile_elements",
]

Column = npt.NDArray[np.int64]

Number = TypeVar("Number", int, Column)
_Read = TypeVar("_Read", int, Column, covariant=True)


class TileFields(Protocol[_Read]):
    """The shape of what a LOAD or a STORE moves, or columns with the shapes of many."""

    @property
    def y_size(self) -> _Read: ...
    @property
    def x_size(self) -> _Read: ...
    @property
    def x_stride(self) -> _Read: ...
    @property
    def y_pad_0(self) -> _Read: ...
    @property
    def y_pad_1(self) -> _Read: ...
    @property
    def x_pad_0(self) -> _Read: ...
    @property
    def x_pad_1(self) -> _Read: ...


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TransferColumns:
    """The fields of many LOADs or STOREs, a column each."""

    memory: Column
    sram_base: Column
    dram_base: Column
    y_size: Column
    x_size: Column
    x_stride: Column
    y_pad_0: Column
    y_pad_1: Column
    x_pad_0: Column
    x_pad_1: Column

    @classmethod
    def of(cls, columns: Mapping[str, Column]) -> "TransferColumns":
        """Return the columns of an ``isa.bulk.FieldTable`` of LOAD or STORE."""
        return cls(**{field.name: columns[field.name] for field in fields(cls)})


class LoopFields(Protocol[_Read]):
    """What a GEMM and an ALU instruction have in common, or columns of it."""

    @property
    def iter_out(self) -> _Read: ...
    @property
    def iter_in(self) -> _Read: ...


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LoopColumns:
    """The loops of many GEMM or ALU instructions, a column each."""

    uop_bgn: Column
    uop_end: Column
    iter_out: Column
    iter_in: Column

    @classmethod
    def of(cls, columns: Mapping[str, Column]) -> "LoopColumns":
        """Return the columns of an ``isa.bulk.FieldTable`` of GEMM or ALU."""
        return cls(**{field.name: columns[field.name] for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class LoopOperand:
    """An operand of GEMM or ALU: micro-op field ``field`` names elements of ``memory``, errors call it ``name``.

    It is not used where the instruction's flag ``unless`` is set.
    """

    field: str
    memory: MemoryId
    name: str
    unless: str = ""


_DESTINATION = LoopOperand("dst", MemoryId.ACC, "accumulator")

GEMM_OPERANDS = (
    _DESTINATION,
    LoopOperand("src", MemoryId.INP, "input", unless="reset"),
    LoopOperand("wgt", MemoryId.WGT, "weight", unless="reset"),
)
"""The destination first, then the rest in the order in which engines check them."""

ALU_OPERANDS = (_DESTINATION, LoopOperand("src", MemoryId.ACC, "accumulator", unless="use_imm"))
"""As ``GEMM_OPERANDS``."""


def operands_of(loops: Gemm | Alu) -> tuple[LoopOperand, ...]:
    """Return the operands that an instruction uses."""
    match loops:
        case Gemm():
            return GEMM_OPERANDS[:1] if loops.reset else GEMM_OPERANDS
        case Alu():
            return ALU_OPERANDS[:1] if loops.use_imm else ALU_OPERANDS
        case _:
            assert_never(loops)


def taps_of(loops: Gemm | Alu, operand: LoopOperand, config: VTAConfig) -> int:
    """Return how many elements from its index on an operand of each step is: one, or one a tap, or two if fused."""
    match loops:
        case Gemm(depthwise=True) if operand.memory is MemoryId.INP:
            return config.depthwise_taps
        case Alu(fused=True) if operand.field == "src":
            return 2
        case _:
            return 1


_FACTORS: Mapping[str, Callable[[Gemm | Alu], tuple[int, int]]] = {
    field: attrgetter(f"{field}_factor_out", f"{field}_factor_in") for field in ("dst", "src", "wgt")
}


def factors_of(loops: Gemm | Alu, field: str) -> tuple[int, int]:
    """Return what the outer and the inner loop add to micro-op field ``field``, which the instruction uses."""
    return _FACTORS[field](loops)


def moved_elements(transfer: TileFields[Number]) -> Number:
    """Return how many elements a transfer moves between DRAM and chip; with none it does nothing, not even pad."""
    return transfer.x_size * transfer.y_size


def tile_elements(transfer: TileFields[Number]) -> Number:
    """Return how many consecutive scratchpad elements a transfer that moves anything touches, pads included."""
    width = transfer.x_pad_0 + transfer.x_size + transfer.x_pad_1
    return width * (transfer.y_pad_0 + transfer.y_size + transfer.y_pad_1)


def dram_reach(transfer: TileFields[Number]) -> Number:
    """Return the elements from ``dram_base`` to the end of the last row of a transfer that moves anything."""
    return (transfer.y_size - 1) * transfer.x_stride + transfer.x_size


def row_starts(transfer: Load | Store) -> list[int]:
    """Return the DRAM element at which each row begins."""
    return [transfer.dram_base + y * transfer.x_stride for y in range(transfer.y_size)]


def all_row_starts(transfers: TransferColumns) -> tuple[Column, Column]:
    """Return, for each row of each transfer in turn, which transfer it belongs to and the DRAM element it begins at."""
    rows = np.where(transfers.x_size != 0, transfers.y_size, 0)
    which = np.repeat(np.arange(len(rows)), rows)
    number = np.arange(len(which)) - np.repeat(np.cumsum(rows) - rows, rows)
    return which, transfers.dram_base[which] + number * transfers.x_stride[which]


def by_memory(memories: Column, value_of: Callable[[MemoryId], int]) -> Column:
    """Return ``value_of`` applied to each memory in a column of them."""
    table = np.zeros(max(MemoryId) + 1, np.int64)
    for memory in MemoryId:
        table[memory] = value_of(memory)
    column: Column = table[memories]
    return column


@overload
def loop_steps(loops: Gemm | Alu) -> int: ...
@overload
def loop_steps(loops: LoopColumns) -> Column: ...
def loop_steps(loops: Gemm | Alu | LoopColumns) -> int | Column:
    """Return how many tensor operations an instruction does: micro-ops times the iterations of both loops."""
    if isinstance(loops, LoopColumns):
        count: Column = np.maximum(loops.uop_end - loops.uop_bgn, 0)
        return count * loops.iter_out * loops.iter_in
    return max(loops.uop_end - loops.uop_bgn, 0) * loops.iter_out * loops.iter_in


def last_index(base: Number, loops: LoopFields[Number], *, outer: Number, inner: Number) -> Number:
    """Return the greatest index that ``base`` becomes in loops that run and add ``outer`` and ``inner`` per step."""
    return (loops.iter_out - 1) * outer + (loops.iter_in - 1) * inner + base

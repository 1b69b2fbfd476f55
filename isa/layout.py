"""Which bits of a word mean what: the one description behind encoder, decoder, assembler, documentation and hardware.

A layout lists its fields from bit 0 upwards and covers every bit, unused ones included, so that no position is written
down twice: positions follow from widths. `docs/isa.md` is printed from here. Tests: ``tests/isa/test_layout.py``.
"""

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.instructions import AluOpcode, MemoryId, Opcode

__all__ = [
    "ALU_OPCODE", "IMMEDIATE", "OPCODE", "EncodingError", "Field", "Layout", "instruction_layouts", "uop_layout",
]  # fmt: skip

_HALF = 64


class EncodingError(VTAError, ValueError):
    """A value that its field cannot hold, or an instruction that no engine may be given."""


@dataclass(frozen=True, slots=True)
class Field:
    """One named bit field; ``signed`` fields hold two's complement, ``unused`` ones only zero.

    A field with ``entries`` holds those of an enumeration; ``ValueError`` if one of them does not fit.
    """

    name: str
    width: int
    signed: bool = False
    unused: bool = False
    doc: str = ""
    entries: type[IntEnum] | None = None

    def __post_init__(self) -> None:
        """Refuse an enumeration that the field cannot hold."""
        for entry in self.entries or ():
            if not self.low <= entry <= self.high:
                raise ValueError(f"{self.refusal(entry)} ({entry.name}): take a free code, or widen the field")

    @property
    def low(self) -> int:
        """The smallest value that the field holds."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """The largest value that the field holds."""
        return 0 if self.unused else self.low + (1 << self.width) - 1

    def encode(self, value: int) -> int:
        """Return the bits that hold ``value``."""
        try:
            value = operator.index(value)
        except TypeError:
            raise EncodingError(f"field {self.name!r} holds a whole number, not {value!r}") from None
        if not self.low <= value <= self.high:
            raise EncodingError(self.refusal(value))
        return value & ((1 << self.width) - 1)

    def decode(self, bits: int) -> int:
        """Return the value that ``bits`` (``width`` of them) hold."""
        if self.signed and bits >> (self.width - 1):
            return bits - (1 << self.width)
        return bits

    def refusal(self, value: int) -> str:
        """Say that ``value`` does not fit."""
        kind = "signed bits" if self.signed else "bits"
        if self.width == 1:
            kind = kind.removesuffix("s")
        return f"field {self.name!r} holds {self.width} {kind}, not {value}"


OPCODE = Field("opcode", 3, doc="which kind of instruction", entries=Opcode)
"""The lowest bits of every instruction word."""

ALU_OPCODE = Field("alu_opcode", 3, doc="operation", entries=AluOpcode)
IMMEDIATE = Field("imm", 16, signed=True, doc="immediate operand")


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of one kind of word from bit 0 upwards; ``offsets`` are their lowest bits, in the same order."""

    name: str
    fields: tuple[Field, ...]
    offsets: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Derive the offsets and refuse a name that is used twice."""
        offsets, position = [], 0
        for entry in self.fields:
            offsets.append(position)
            position += entry.width
        if len({entry.name for entry in self.fields}) != len(self.fields):
            raise ValueError(f"layout {self.name!r} has two fields of one name")
        object.__setattr__(self, "offsets", tuple(offsets))

    @property
    def width(self) -> int:
        """Bits of the whole word."""
        return sum(entry.width for entry in self.fields)

    @property
    def used(self) -> tuple[Field, ...]:
        """The fields that carry a value."""
        return tuple(entry for entry in self.fields if not entry.unused)

    def field(self, name: str) -> Field:
        """Return the field called ``name``; ``KeyError`` if there is none."""
        for entry in self.fields:
            if entry.name == name:
                return entry
        raise KeyError(name)

    @property
    def unused_mask(self) -> int:
        """The bits that must be zero."""
        placed = zip(self.fields, self.offsets, strict=True)
        return sum(((1 << entry.width) - 1) << offset for entry, offset in placed if entry.unused)

    def pack(self, values: Mapping[str, int]) -> int:
        """Return the word whose used fields have ``values`` (a value for each) and whose other bits are zero."""
        word = 0
        for entry, offset in zip(self.fields, self.offsets, strict=True):
            if not entry.unused:
                word |= entry.encode(values[entry.name]) << offset
        return word

    def unpack(self, word: int) -> dict[str, int]:
        """Return the value of every field of ``word``, unused ones included."""
        return {
            entry.name: entry.decode((word >> offset) & ((1 << entry.width) - 1))
            for entry, offset in zip(self.fields, self.offsets, strict=True)
        }


def _filled(fields: tuple[Field, ...], start: int, size: int) -> tuple[Field, ...]:
    """Return ``fields`` and, if they take less than ``size`` bits, one unused field named after its first bit."""
    used = sum(entry.width for entry in fields)
    if used == size:
        return fields
    filler = Field(f"unused_{start + used}", size - used, unused=True, doc="zero")
    return (*fields, filler)


def _instruction(name: str, low: tuple[Field, ...], high: tuple[Field, ...]) -> Layout:
    """Return a 128-bit layout; every kind has opcode and dependency flags in front, and no field crosses bit 64."""
    common = (
        OPCODE,
        Field("pop_prev", 1, doc="take a token from the module to the left before starting"),
        Field("pop_next", 1, doc="take a token from the module to the right before starting"),
        Field("push_prev", 1, doc="give a token to the module to the left when complete"),
        Field("push_next", 1, doc="give a token to the module to the right when complete"),
    )
    return Layout(name, _filled((*common, *low), 0, _HALF) + _filled(high, _HALF, _HALF))


@functools.lru_cache(maxsize=64)
def instruction_layouts(config: VTAConfig) -> Mapping[str, Layout]:
    """Return the 128-bit layouts by name of opcode (LOAD, STORE, GEMM, ALU, FINISH)."""
    uop, acc = config.log_uop_depth, config.log_acc_depth
    inp, wgt = config.log_inp_depth, config.log_wgt_depth
    memory_low = (
        Field("memory", 3, doc="on-chip memory", entries=MemoryId),
        Field("sram_base", 16, doc="first element of the on-chip memory"),
        Field("dram_base", 32, doc="first element in DRAM (address / bytes of an element)"),
    )
    memory_high = (
        Field("y_size", 16, doc="rows"),
        Field("x_size", 16, doc="elements of a row"),
        Field("x_stride", 16, doc="elements from one row to the next in DRAM"),
        Field("y_pad_0", 4, doc="rows of zeros before"),
        Field("y_pad_1", 4, doc="rows of zeros after"),
        Field("x_pad_0", 4, doc="zeros before each row"),
        Field("x_pad_1", 4, doc="zeros after each row"),
    )
    loops = (
        Field("uop_bgn", uop, doc="first micro-op"),
        Field("uop_end", uop + 1, doc="micro-op after the last"),
        Field("iter_out", 14, doc="iterations of the outer loop"),
        Field("iter_in", 14, doc="iterations of the inner loop"),
    )
    dst = (
        Field("dst_factor_out", acc, doc="added to dst at each step of the outer loop"),
        Field("dst_factor_in", acc, doc="added to dst at each step of the inner loop"),
    )
    gemm_high = (
        *dst,
        Field("src_factor_out", inp, doc="added to src at each step of the outer loop"),
        Field("src_factor_in", inp, doc="added to src at each step of the inner loop"),
        Field("wgt_factor_out", wgt, doc="added to wgt at each step of the outer loop"),
        Field("wgt_factor_in", wgt, doc="added to wgt at each step of the inner loop"),
    )
    alu_high = (
        *dst,
        Field("src_factor_out", acc, doc="added to src at each step of the outer loop"),
        Field("src_factor_in", acc, doc="added to src at each step of the inner loop"),
        ALU_OPCODE,
        Field("use_imm", 1, doc="operand 1 is imm, not acc[src]"),
        IMMEDIATE,
    )
    lane_by_lane = Field("depthwise", 1, doc="multiply input elements from src on, one a tap, lane by lane")
    flags = (lane_by_lane,) if config.depthwise_taps else ()
    gemm_low = (Field("reset", 1, doc="zero acc[dst] instead of adding to it"), *loops, *flags)
    in_one = Field("fused", 1, doc="a second operation, with acc[src + 1], and a shift by imm follow in the same step")
    alu_flags = (in_one,) if config.fused_alu else ()
    alu_low = (Field("unused_7", 1, unused=True, doc="zero"), *loops, *alu_flags)
    return MappingProxyType(
        {
            "LOAD": _instruction("LOAD", memory_low, memory_high),
            "STORE": _instruction("STORE", memory_low, memory_high),
            "GEMM": _instruction("GEMM", gemm_low, gemm_high),
            "FINISH": _instruction("FINISH", (), ()),
            "ALU": _instruction("ALU", alu_low, alu_high),
        }
    )


@functools.lru_cache(maxsize=64)
def uop_layout(config: VTAConfig) -> Layout:
    """Return the 32-bit layout of a micro-op."""
    acc, source = config.log_acc_depth, max(config.log_acc_depth, config.log_inp_depth)
    fields = (
        Field("dst", acc, doc="accumulator element"),
        Field("src", source, doc="input element (GEMM) or accumulator element (ALU)"),
        Field("wgt", config.log_wgt_depth, doc="weight element (GEMM)"),
    )
    return Layout("UOP", _filled(fields, 0, 32))

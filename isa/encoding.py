"""Instructions and micro-ops to words and back, one at a time or in bulk.

Nothing is cut: a value that does not fit its field is refused by name, and so is an illegal word (``isa.legality``).
``isa.bulk`` does the same for whole arrays. Tests: ``tests/isa/test_encoding.py``.
"""

import functools
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import assert_never

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.instructions import (
    Alu,
    AluOpcode,
    Deps,
    Finish,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    MicroOp,
    Opcode,
    Store,
    numbered,
)
from isa.layout import OPCODE, EncodingError, Layout, instruction_layouts, uop_layout
from isa.legality import broken_rule

__all__ = [
    "INSTRUCTION_BYTES",
    "OPCODE_MASK",
    "DecodingError",
    "EncodingError",
    "decode",
    "decode_uop",
    "encode",
    "encode_uop",
    "encode_values",
    "field_values",
    "instruction_from_values",
    "layout_name",
    "require_flags",
    "value_getters",
    "value_names",
]

INSTRUCTION_BYTES = 16
"""Bytes of an instruction in DRAM: two little-endian 64-bit words, bits 63:0 first."""

_FLAGS = ("pop_prev", "pop_next", "push_prev", "push_next")
_DEPS = tuple(
    Deps(pop_prev=a, pop_next=b, push_prev=c, push_next=d)
    for d in (False, True)
    for c in (False, True)
    for b in (False, True)
    for a in (False, True)
)
"""Every combination of flags; the index has pop_prev in bit 0."""


_MEMORIES = tuple(MemoryId)
_OPERATIONS = tuple(AluOpcode)
_NAME_OF_OPCODE = {entry.value: entry.name for entry in Opcode}
OPCODE_MASK = (1 << OPCODE.width) - 1
"""The bits of every word that hold its opcode; the layouts begin with them."""


class DecodingError(VTAError, ValueError):
    """A word that no engine may execute."""


def layout_name(instruction: Instruction) -> str:
    """Return the key of the instruction's layout."""
    match instruction:
        case Load():
            return "LOAD"
        case Store():
            return "STORE"
        case Gemm():
            return "GEMM"
        case Alu():
            return "ALU"
        case Finish():
            return "FINISH"
        case _:
            assert_never(instruction)


def value_names(name: str, config: VTAConfig) -> tuple[str, ...]:
    """Return the fields that an instruction of layout ``name`` has a value for: all but opcode and unused bits."""
    return tuple(f.name for f in instruction_layouts(config)[name].used if f.name != "opcode")


@functools.lru_cache(maxsize=64)
def value_getters(config: VTAConfig) -> Mapping[str, Callable[[Instruction], tuple[int, ...]]]:
    """Return, for each layout, the function that reads ``value_names`` from an instruction, in that order."""
    return {
        name: attrgetter(*(f"deps.{field}" if field in _FLAGS else field for field in value_names(name, config)))
        for name in instruction_layouts(config)
    }


def field_values(instruction: Instruction, config: VTAConfig) -> dict[str, int]:
    """Return the value of each used field but the opcode, by name."""
    name = layout_name(instruction)
    values = value_getters(config)[name](instruction)
    return dict(zip(value_names(name, config), values, strict=True))


def instruction_from_values(name: str, values: Mapping[str, int]) -> Instruction:
    """Return the instruction of layout ``name`` with these (legal) field values; unused fields are not looked at."""
    v = values
    deps = _DEPS[v["pop_prev"] | v["pop_next"] << 1 | v["push_prev"] << 2 | v["push_next"] << 3]
    match name:
        case "LOAD" | "STORE":
            kind = Load if name == "LOAD" else Store
            return kind(
                memory=_MEMORIES[v["memory"]],
                sram_base=v["sram_base"],
                dram_base=v["dram_base"],
                y_size=v["y_size"],
                x_size=v["x_size"],
                x_stride=v["x_stride"],
                y_pad_0=v["y_pad_0"],
                y_pad_1=v["y_pad_1"],
                x_pad_0=v["x_pad_0"],
                x_pad_1=v["x_pad_1"],
                deps=deps,
            )
        case "GEMM":
            return Gemm(
                reset=bool(v["reset"]),
                depthwise=bool(v.get("depthwise", 0)),
                uop_bgn=v["uop_bgn"],
                uop_end=v["uop_end"],
                iter_out=v["iter_out"],
                iter_in=v["iter_in"],
                dst_factor_out=v["dst_factor_out"],
                dst_factor_in=v["dst_factor_in"],
                src_factor_out=v["src_factor_out"],
                src_factor_in=v["src_factor_in"],
                wgt_factor_out=v["wgt_factor_out"],
                wgt_factor_in=v["wgt_factor_in"],
                deps=deps,
            )
        case "ALU":
            return Alu(
                alu_opcode=_OPERATIONS[v["alu_opcode"]],
                fused=bool(v.get("fused", 0)),
                use_imm=bool(v["use_imm"]),
                imm=v["imm"],
                uop_bgn=v["uop_bgn"],
                uop_end=v["uop_end"],
                iter_out=v["iter_out"],
                iter_in=v["iter_in"],
                dst_factor_out=v["dst_factor_out"],
                dst_factor_in=v["dst_factor_in"],
                src_factor_out=v["src_factor_out"],
                src_factor_in=v["src_factor_in"],
                deps=deps,
            )
        case "FINISH":
            return Finish(deps=deps)
        case _:
            raise KeyError(name)


def encode_values(name: str, values: Mapping[str, int], config: VTAConfig) -> int:
    """Return the word of layout ``name`` with these field values (the opcode's is not needed)."""
    values = {**values, "opcode": Opcode[name]}
    try:
        word = instruction_layouts(config)[name].pack(values)
    except EncodingError as error:
        raise EncodingError(f"{name}: {error}") from None
    rule = broken_rule(name, values, config)
    if rule is not None:
        raise EncodingError(rule.explain(values))
    return word


def encode(instruction: Instruction, config: VTAConfig) -> int:
    """Return the 128-bit word; ``EncodingError`` names a field that is out of range or the rule that is broken."""
    require_flags(instruction, config)
    return encode_values(layout_name(instruction), field_values(instruction, config), config)


def require_flags(instruction: Instruction, config: VTAConfig) -> None:
    """Raise ``EncodingError`` where ``instruction`` has a flag that words of ``config`` have no bit for."""
    if isinstance(instruction, Gemm) and instruction.depthwise and not config.depthwise_taps:
        raise EncodingError(
            "GEMM: depthwise is set, but words of this configuration have no such flag; set DEPTHWISE_TAPS"
        )
    if isinstance(instruction, Alu) and instruction.fused and not config.fused_alu:
        raise EncodingError("ALU: fused is set, but words of this configuration have no such flag; set FUSED_ALU")


def decode(word: int, config: VTAConfig) -> Instruction:
    """Return the instruction in a 128-bit word; ``DecodingError`` says why a word is illegal."""
    if not 0 <= word < 1 << 128:
        raise DecodingError(f"an instruction word has 128 bits, not {word:#x}")
    opcode = word & OPCODE_MASK
    if opcode not in _NAME_OF_OPCODE:
        raise DecodingError(_unknown_opcode(opcode))
    name = _NAME_OF_OPCODE[opcode]
    layout = instruction_layouts(config)[name]
    values = layout.unpack(word)
    for field in layout.fields:
        if field.unused and values[field.name]:
            raise DecodingError(_unused_bits(layout, field.name, values[field.name]))
    rule = broken_rule(name, values, config)
    if rule is not None:
        raise DecodingError(rule.explain(values))
    return instruction_from_values(name, values)


def encode_uop(uop: MicroOp, config: VTAConfig) -> int:
    """Return the 32-bit word of a micro-op; ``EncodingError`` names a field that is out of range."""
    try:
        return uop_layout(config).pack({"dst": uop.dst, "src": uop.src, "wgt": uop.wgt})
    except EncodingError as error:
        raise EncodingError(f"micro-op: {error}") from None


def decode_uop(word: int, config: VTAConfig) -> MicroOp:
    """Return the micro-op in a 32-bit word; ``DecodingError`` if it has more bits or unused ones are set."""
    if not 0 <= word < 1 << 32:
        raise DecodingError(f"a micro-op word has 32 bits, not {word:#x}")
    layout = uop_layout(config)
    values = layout.unpack(word)
    for field in layout.fields:
        if field.unused and values[field.name]:
            raise DecodingError(_unused_bits(layout, field.name, values[field.name]))
    return MicroOp(dst=values["dst"], src=values["src"], wgt=values["wgt"])


def _unknown_opcode(opcode: int) -> str:
    return f"opcode {opcode} is unknown; the opcodes are {numbered(Opcode)}"


def _unused_bits(layout: Layout, name: str, value: int) -> str:
    bit = name.removeprefix("unused_")
    return f"{layout.name}: unused bits from bit {bit} on must be zero, not {value:#x}"

"""From a ``Program`` to assembly that ``isa.text.assembler`` reads back as the same program.

Tables as in ``isa.text.syntax``. Tests: ``tests/isa/text/test_assembly.py``.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from isa.config import VTAConfig
from isa.encoding import DecodingError, decode_uop, layout_name, value_getters, value_names
from isa.instructions import Alu, Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.origin import Origin
from isa.program import MemorySegment, OutputRegion, Program
from isa.text.data import describe
from isa.text.syntax import MNEMONICS, RESERVED_LABEL, Mnemonic, is_label

__all__ = ["disassemble", "format_instruction"]

_OPTIONAL = ("ypad", "xpad", "unused_imm")
"""Operands that are left out where their value is the default; all others are written for the reader."""


def disassemble(program: Program) -> str:
    """Return the text of ``program``: configuration, DRAM, micro-ops, instructions."""
    lines = [".config " + " ".join(f"{key}={value}" for key, value in program.config.to_dict().items())]
    for segment in program.memory.segments:
        lines.append("")
        lines += _segment(segment)
    for output in program.memory.outputs:
        lines += ["", f".output {_header(output)}"]
    if program.uops or program.uop_base:
        lines += ["", f".uop address={program.uop_base:#x}", *_uops(program)]
    lines += ["", ".text", *_instructions(program)]
    return "\n".join(lines) + "\n"


def _header(region: MemorySegment | OutputRegion) -> str:
    assert region.shape is not None
    name = region.name if is_label(region.name) else json.dumps(region.name)
    shape = ",".join(str(extent) for extent in region.shape) or "()"
    return f"{name} address={region.address:#x} type={region.dtype} shape={shape}"


def _segment(segment: MemorySegment) -> Iterator[str]:
    yield f".data {_header(segment)}"
    for line in describe(segment.data, segment.dtype):
        yield f"    {line}"


def _uops(program: Program) -> Iterator[str]:
    for place, word in enumerate(program.uops):
        try:
            uop = decode_uop(word, program.config)
        except DecodingError:
            yield f"    word={word:#010x}  ; {place}"
        else:
            yield f"    dst={uop.dst} src={uop.src} wgt={uop.wgt}  ; {place}"


def _instructions(program: Program) -> Iterator[str]:
    formatter = _Formatter(program)
    origins: dict[Origin, str] = {}
    for instruction, origin in zip(program.instructions, program.origins, strict=True):
        line = "    " + formatter.format(instruction)
        if origin is not None:
            if origin not in origins:
                origins[origin] = "  @ " + " ".join(map(json.dumps, origin.texts()))
            line += origins[origin]
        yield line


def format_instruction(instruction: Instruction, config: VTAConfig) -> str:
    """Return one line for ``instruction``, addresses as numbers."""
    return _Formatter(Program(config=config, instructions=())).format(instruction)


@dataclass(frozen=True, slots=True)
class _Label:
    """A name for the bytes from ``begin`` to ``end - 1``."""

    name: str
    begin: int
    end: int


class _Formatter:
    """Formats instructions of one program; what depends on the configuration alone is worked out once."""

    def __init__(self, program: Program) -> None:
        self._config = program.config
        self._labels = _labels(program)
        self._getters: Mapping[str, Callable[[Instruction], tuple[int, ...]]] = value_getters(program.config)
        layouts = {mnemonic.layout for mnemonic in MNEMONICS.values()}
        self._names = {layout: value_names(layout, program.config) for layout in layouts}

    def format(self, instruction: Instruction) -> str:
        """Return the line of one instruction."""
        layout = layout_name(instruction)
        values = dict(zip(self._names[layout], self._getters[layout](instruction), strict=True))
        mnemonic = _mnemonic(instruction, values)
        words = [mnemonic.name]
        for operand in mnemonic.operands:
            numbers = [values[name] for name in operand.fields]
            if operand.name in _OPTIONAL and not any(numbers):
                continue
            if operand.fields == ("imm",) and operand.name != _immediate(instruction):
                continue
            if operand.name == "dram":
                assert mnemonic.memory is not None
                words.append(f"dram={self._dram(numbers[0], mnemonic.memory)}")
                continue
            words.append(f"{operand.name}={operand.separator.join([str(int(number)) for number in numbers])}")
        words += [flag for flag in mnemonic.flags if values.get(flag, flag in _own_flags(instruction))]
        return " ".join(words)

    def _dram(self, element: int, memory: MemoryId) -> str:
        """Return ``LABEL``, ``LABEL+N`` or a number for a DRAM element."""
        elem_bytes = self._config.elem_bytes(memory)
        address = element * elem_bytes
        for label in self._labels:
            if label.begin <= address < label.end and label.begin % elem_bytes == 0:
                distance = element - label.begin // elem_bytes
                return f"{label.name}+{distance}" if distance else label.name
        return f"{element:#x}"


def _own_flags(instruction: Instruction) -> tuple[str, ...]:
    """Return those of its flags for which words of some configurations have no bit."""
    match instruction:
        case Gemm(depthwise=True):
            return ("depthwise",)
        case Alu(fused=True):
            return ("fused",)
        case _:
            return ()


def _immediate(instruction: Instruction) -> str:
    """Return how the field ``imm`` is written."""
    match instruction:
        case Alu(use_imm=True):
            return "imm"
        case Alu(fused=True):
            return "shift"
        case _:
            return "unused_imm"


def _mnemonic(instruction: Instruction, values: Mapping[str, int]) -> Mnemonic:
    """Return the first row of the table that fits: a no-op's where every other field is zero."""
    match instruction:
        case Load() | Store() if instruction.is_nop and not any(_without_flags(values)):
            name = f"nop.{instruction.module.name.lower()}"
            if MNEMONICS[name].fixed["memory"] == instruction.memory:
                return MNEMONICS[name]
    match instruction:
        case Load():
            names = {MemoryId.ACC_8BIT: "load.acc8"}
            return MNEMONICS[names.get(instruction.memory, f"load.{instruction.memory.name.lower()}")]
        case Store(memory=MemoryId.OUT):
            return MNEMONICS["store"]
        case Store():
            return MNEMONICS[f"store.{instruction.memory.name.lower()}"]
        case Alu():
            return MNEMONICS[f"alu.{instruction.alu_opcode.name.lower()}"]
        case Gemm() | Finish():
            return MNEMONICS[layout_name(instruction).lower()]
        case _:
            assert_never(instruction)


def _without_flags(values: Mapping[str, int]) -> Iterator[int]:
    flags = MNEMONICS["finish"].flags
    return (value for name, value in values.items() if name not in flags and name != "memory")


def _labels(program: Program) -> list[_Label]:
    """Return the names that stand for one address, widest use first: data, outputs, micro-ops."""
    regions = [(segment.name, segment.address, segment.nbytes) for segment in program.memory.segments]
    regions += [(output.name, output.address, output.nbytes) for output in program.memory.outputs]
    if program.uops or program.uop_base:
        regions.append((RESERVED_LABEL, program.uop_base, program.uop_bytes))
    addresses: dict[str, set[int]] = {}
    for name, address, _ in regions:
        addresses.setdefault(name, set()).add(address)
    reserved = any(name == RESERVED_LABEL for name, _, _ in regions[:-1])
    return [
        _Label(name, address, address + nbytes)
        for name, address, nbytes in regions
        if is_label(name) and len(addresses[name]) == 1 and not (reserved and name == RESERVED_LABEL)
    ]

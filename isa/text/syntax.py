"""How assembly is written: mnemonics and operands as tables, for assembler, disassembler and documentation.

An operand names the fields that it fills; widths and ranges come from ``isa.layout``.
Tests: ``tests/isa/text/test_assembly.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from isa.alu_semantics import alu_semantics
from isa.instructions import AluOpcode, MemoryId, Module

__all__ = ["FLAGS", "MNEMONICS", "RESERVED_LABEL", "UOP_OPERANDS", "Mnemonic", "TextOperand", "is_label"]

FLAGS = ("pop_prev", "pop_next", "push_prev", "push_next")
"""Dependency flags, written by their name alone."""

RESERVED_LABEL = "uops"
"""The label of the first micro-op in DRAM."""


@dataclass(frozen=True, slots=True)
class TextOperand:
    """``NAME=V`` or ``NAME=V,V``: numbers for ``fields`` in order; ``implies`` are fields that it sets besides."""

    name: str
    fields: tuple[str, ...]
    doc: str
    separator: str = ","
    required: bool = False
    implies: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Mnemonic:
    """One way to start a line: ``layout`` of the word, ``fixed`` field values, and what may follow.

    ``defaults`` are the values of fields that the line does not mention.
    """

    name: str
    layout: str
    fixed: Mapping[str, int]
    operands: tuple[TextOperand, ...]
    flags: tuple[str, ...]
    defaults: Mapping[str, int]
    doc: str
    memory: MemoryId | None = None


_MEMORY = (
    TextOperand("sram", ("sram_base",), "first element of the on-chip memory (0)"),
    TextOperand("dram", ("dram_base",), "first element in DRAM: a number, LABEL, LABEL+N or LABEL-N (0)"),
    TextOperand("y", ("y_size",), "rows (1)"),
    TextOperand("x", ("x_size",), "elements of a row", required=True),
    TextOperand("stride", ("x_stride",), "elements from one row to the next in DRAM (as many as x)"),
    TextOperand("ypad", ("y_pad_0", "y_pad_1"), "rows of zeros before and after (0,0)"),
    TextOperand("xpad", ("x_pad_0", "x_pad_1"), "zeros before and after each row (0,0)"),
)
_LOOPS = (
    TextOperand("uop", ("uop_bgn", "uop_end"), "micro-ops: first, and one after the last", ":", required=True),
    TextOperand("iter", ("iter_out", "iter_in"), "iterations of the outer and inner loop (1,1)"),
    TextOperand("dst", ("dst_factor_out", "dst_factor_in"), "added to dst at each outer, inner step (0,0)"),
    TextOperand("src", ("src_factor_out", "src_factor_in"), "added to src at each outer, inner step (0,0)"),
)
_GEMM = (
    *_LOOPS,
    TextOperand("wgt", ("wgt_factor_out", "wgt_factor_in"), "added to wgt at each outer, inner step (0,0)"),
)
_ALU = (
    *_LOOPS,
    TextOperand("imm", ("imm",), "operand 1 is this number, not acc[src]", implies=(("use_imm", 1),)),
    TextOperand("shift", ("imm",), "a fused step shifts right by this number, or left by its opposite (0)"),
    TextOperand("unused_imm", ("imm",), "contents of the imm field of a word that does not use it (0)"),
)

UOP_OPERANDS = (
    TextOperand("dst", ("dst",), "accumulator element (0)"),
    TextOperand("src", ("src",), "input element (GEMM) or accumulator element (ALU) (0)"),
    TextOperand("wgt", ("wgt",), "weight element (GEMM) (0)"),
)

_MEMORY_DEFAULTS = {
    "sram_base": 0,
    "dram_base": 0,
    "y_size": 1,
    "x_size": 0,
    "y_pad_0": 0,
    "y_pad_1": 0,
    "x_pad_0": 0,
    "x_pad_1": 0,
}
_LOOP_DEFAULTS = {
    "iter_out": 1,
    "iter_in": 1,
    "dst_factor_out": 0,
    "dst_factor_in": 0,
    "src_factor_out": 0,
    "src_factor_in": 0,
}
_NO_FLAGS = dict.fromkeys(FLAGS, 0)
_LOADS = {
    "load.uop": (MemoryId.UOP, "copy micro-ops to the micro-op buffer"),
    "load.wgt": (MemoryId.WGT, "copy weights"),
    "load.inp": (MemoryId.INP, "copy inputs"),
    "load.acc": (MemoryId.ACC, "copy accumulators"),
    "load.acc8": (MemoryId.ACC_8BIT, "copy int8 numbers, widened to accumulators"),
    "load.out": (MemoryId.OUT, "never legal; for listings of bad programs"),
}
_NOPS = {
    Module.LOAD: ("LOAD", MemoryId.INP),
    Module.COMPUTE: ("LOAD", MemoryId.UOP),
    Module.STORE: ("STORE", MemoryId.UOP),
}


def _memory(name: str, layout: str, memory: MemoryId, doc: str) -> Mnemonic:
    fixed = {"memory": memory}
    defaults = {**_NO_FLAGS, **_MEMORY_DEFAULTS}
    return Mnemonic(name, layout, fixed, _MEMORY, FLAGS, defaults, doc, memory)


def _nop(module: Module, layout: str, memory: MemoryId) -> Mnemonic:
    name = f"nop.{module.name.lower()}"
    fixed = {**dict.fromkeys(_MEMORY_DEFAULTS, 0), "x_stride": 0, "memory": memory}
    return Mnemonic(name, layout, fixed, (), FLAGS, _NO_FLAGS, f"only tokens, in the {module.name.lower()} module")


def _alu(operation: AluOpcode) -> Mnemonic:
    fixed = {"alu_opcode": operation}
    doc = alu_semantics(operation).formula
    defaults = {**_NO_FLAGS, **_LOOP_DEFAULTS, "fused": 0, "use_imm": 0, "imm": 0}
    return Mnemonic(f"alu.{operation.name.lower()}", "ALU", fixed, _ALU, ("fused", *FLAGS), defaults, doc)


_GEMM_DEFAULTS = {**_NO_FLAGS, **_LOOP_DEFAULTS, "wgt_factor_out": 0, "wgt_factor_in": 0, "reset": 0, "depthwise": 0}

_GEMM_FLAGS = ("reset", "depthwise", *FLAGS)

MNEMONICS: Mapping[str, Mnemonic] = {
    entry.name: entry
    for entry in (
        *(_memory(name, "LOAD", memory, doc) for name, (memory, doc) in _LOADS.items()),
        _memory("store", "STORE", MemoryId.OUT, "copy the low bits of accumulators to DRAM"),
        *(
            _memory(f"store.{memory.name.lower()}", "STORE", memory, "a store that moves nothing")
            for memory in MemoryId
            if memory != MemoryId.OUT
        ),
        Mnemonic("gemm", "GEMM", {}, _GEMM, _GEMM_FLAGS, _GEMM_DEFAULTS, "multiply and accumulate, or reset"),
        *(_alu(operation) for operation in AluOpcode),
        Mnemonic("finish", "FINISH", {}, (), FLAGS, _NO_FLAGS, "the end of the program; it may pop"),
        *(_nop(module, layout, memory) for module, (layout, memory) in _NOPS.items()),
    )
}


def is_label(name: str) -> bool:
    """Return whether ``name`` can be written in ``dram=``: letters, digits, ``_`` and ``.``, no digit first."""
    return name.isascii() and name.replace(".", "_").isidentifier() and not name.startswith(".")

"""The bottom of the toolchain: configuration, instruction set, programs, assembler, reference interpreter, checker.

Needs nothing but the standard library and numpy. The names that other packages use most are re-exported here.
"""

from isa.bulk import (
    array_to_words,
    decode_all,
    decode_fields,
    encode_all,
    encode_fields,
    words_to_array,
)
from isa.check.checker import Finding, FindingKind, Severity, check, is_valid
from isa.check.sanitizer import sanitize
from isa.config import ConfigError, VTAConfig
from isa.encoding import (
    DecodingError,
    EncodingError,
    decode,
    decode_uop,
    encode,
    encode_uop,
)
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
    Module,
    Opcode,
    Store,
)
from isa.layout import Field, Layout, instruction_layouts, uop_layout
from isa.origin import Origin
from isa.program import MemoryImage, MemorySegment, OutputRegion, Program, ProgramError
from isa.program_file import load_program, save_program
from isa.reference import InterpreterError, Reference, execute
from isa.text.assembler import AssemblyError, assemble, assemble_file
from isa.text.disassembler import disassemble, format_instruction
from isa.tokens import token_order

__all__ = [
    "Alu",
    "AluOpcode",
    "AssemblyError",
    "ConfigError",
    "DecodingError",
    "Deps",
    "EncodingError",
    "Field",
    "Finding",
    "FindingKind",
    "Finish",
    "Gemm",
    "Instruction",
    "InterpreterError",
    "Layout",
    "Load",
    "MemoryId",
    "MemoryImage",
    "MemorySegment",
    "MicroOp",
    "Module",
    "Opcode",
    "Origin",
    "OutputRegion",
    "Program",
    "ProgramError",
    "Reference",
    "Severity",
    "Store",
    "VTAConfig",
    "array_to_words",
    "assemble",
    "assemble_file",
    "check",
    "decode",
    "decode_all",
    "decode_fields",
    "decode_uop",
    "disassemble",
    "encode",
    "encode_all",
    "encode_fields",
    "encode_uop",
    "execute",
    "format_instruction",
    "instruction_layouts",
    "is_valid",
    "load_program",
    "sanitize",
    "save_program",
    "token_order",
    "uop_layout",
    "words_to_array",
]

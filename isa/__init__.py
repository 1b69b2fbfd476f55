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

__all__ = [
    "Alu",
    "AluOpcode",
    "ConfigError",
    "DecodingError",
    "Deps",
    "EncodingError",
    "Field",
    "Finish",
    "Gemm",
    "Instruction",
    "Layout",
    "Load",
    "MemoryId",
    "MicroOp",
    "Module",
    "Opcode",
    "Store",
    "VTAConfig",
    "array_to_words",
    "decode",
    "decode_all",
    "decode_fields",
    "decode_uop",
    "encode",
    "encode_all",
    "encode_fields",
    "encode_uop",
    "instruction_layouts",
    "uop_layout",
    "words_to_array",
]

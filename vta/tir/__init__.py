"""TIR: the compiler's intermediate representation, under TVM's names.

Nodes are built by the operators on expressions and by the functions of ``vta.tir.ops``; see ``vta.tir.expr`` and
``vta.tir.stmt`` for the grammar. ``tir.Select`` is the node; ``tir.select`` converts its operands.
"""

from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    CommReducer,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    ProducerLoad,
    Ramp,
    Range,
    Reduce,
    Select,
    Shuffle,
    StringImm,
    Sub,
    Var,
    const,
    convert,
)
from vta.tir.func import IRModule, PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.ops import (
    abs,  # noqa: A004
    all,  # noqa: A004
    any,  # noqa: A004
    ceil,
    exp,
    floor,
    floordiv,
    floormod,
    if_then_else,
    likely,
    log,
    max,  # noqa: A004
    max_value,
    min,  # noqa: A004
    min_value,
    power,
    round,  # noqa: A004
    select,
    sigmoid,
    sqrt,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)
from vta.tir.printer import to_text
from vta.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Prefetch,
    ProducerRealize,
    ProducerStore,
    SeqStmt,
    Stmt,
    While,
)
from vta.tir.structural import structural_equal
from vta.tir.verify import verify

__all__ = [
    "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "Allocate", "And", "AssertStmt", "AttrStmt", "Broadcast", "Buffer",
    "BufferLoad", "BufferRealize", "BufferStore", "Call", "Cast", "CommReducer", "Div", "Evaluate", "Expr",
    "FloatImm", "FloorDiv", "FloorMod", "For", "IRModule", "IfThenElse", "IntImm", "IterVar", "Let", "LetStmt",
    "Max", "Min", "Mod", "Mul", "Not", "Or", "Prefetch", "PrimFunc", "ProducerLoad", "ProducerRealize",
    "ProducerStore", "Ramp", "Range", "Reduce", "Select", "SeqStmt", "Shuffle", "Stmt", "StringImm", "Sub", "Var",
    "While",
    "abs", "all", "any", "ceil", "const", "convert", "decl_buffer", "exp", "floor", "floordiv", "floormod",
    "if_then_else", "likely", "log", "max", "max_value", "min", "min_value", "power", "round", "run_func", "select",
    "sigmoid", "sqrt", "structural_equal", "tanh", "to_text", "trunc", "truncdiv", "truncmod", "verify",
]  # fmt: skip

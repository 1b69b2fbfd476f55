"""The expressions of TIR: immutable nodes, closed by the union ``Expr``, and the operators that build them.

Nodes compare by structure; ``Var`` and ``IterVar`` compare by identity. ``a == b`` between expressions gives an
``Equality``: true or false where Python asks (``if``, ``assert``, ``in``), an ``EQ`` node where an expression is
wanted. Operators fold constants and neutral elements and nothing else; ``vta.arith`` does the rest.
Tests: tests/vta/tir/test_expr.py.
"""

from vta.tir.expr.arithmetic import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Binary,
    Compare,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Or,
    Sub,
)
from vta.tir.expr.builtin import (
    Builtin,
)
from vta.tir.expr.coercion import (
    ExprLike,
    binary,
    bitwise,
    cast_to,
    const,
    constant_like,
    convert,
    logical_or_bitwise,
    match_types,
    true_divide,
)
from vta.tir.expr.iteration import (
    CommReducer,
    IterKind,
    IterVar,
    Range,
)
from vta.tir.expr.nodes import (
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    DataProducer,
    Expr,
    FloatImm,
    IntImm,
    Let,
    Not,
    PointerType,
    PrimType,
    ProducerLoad,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    SizeVar,
    StringImm,
    Var,
    same,
    structural_hash,
)
from vta.tir.expr.operators import (
    Equality,
    ExprError,
    Node,
    Operators,
)
from vta.tir.expr.types import PlainInt

__all__ = [
    "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "And", "Binary", "Broadcast", "BufferLoad", "Builtin", "Call",
    "Cast", "CommReducer", "Compare", "DataProducer", "Div", "Equality", "Expr", "ExprError", "ExprLike",
    "FloatImm", "FloorDiv", "FloorMod", "IntImm", "IterKind", "IterVar", "Let", "Max", "Min", "Mod", "Mul",
    "Node", "Not", "Operators", "Or", "PlainInt", "PointerType", "PrimType", "ProducerLoad", "Ramp", "Range",
    "Reduce", "Select",
    "Shuffle", "SizeVar", "StringImm", "Sub", "Var", "binary", "bitwise", "cast_to", "const", "constant_like",
    "convert", "logical_or_bitwise", "match_types", "same", "structural_hash", "true_divide",
]  # fmt: skip

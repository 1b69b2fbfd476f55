"""The expressions of TIR: immutable nodes, closed by the union ``Expr``, and the operators that build them.

Nodes compare by structure; ``Var`` and ``IterVar`` compare by identity. ``a == b`` between expressions gives an
``Equality``: true or false where Python asks (``if``, ``assert``, ``in``), an ``EQ`` node where an expression is
wanted. Operators fold constants and neutral elements and nothing else; ``vta.arith`` does the rest.
May import ``vta.tir.dtype`` alone. Tests: tests/vta/tir/test_expr.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

import numpy as np

from vta.tir.dtype import BOOL, FLOAT32, HANDLE, INT32, DType, Kind

if TYPE_CHECKING:
    from vta.tir.buffer import Buffer

__all__ = [
    "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "And", "Binary", "Broadcast", "BufferLoad", "Builtin", "Call", "Cast",
    "CommReducer", "Compare", "DataProducer", "Div", "Equality", "Expr", "ExprError", "ExprLike", "FloatImm",
    "FloorDiv", "FloorMod", "IntImm", "IterKind", "IterVar", "Let", "Max", "Min", "Mod", "Mul", "Not", "Or",
    "PointerType", "ProducerLoad", "Ramp", "Range", "Reduce", "Select", "StringImm", "Sub", "Var", "binary", "const",
    "convert", "match_types", "same",
]  # fmt: skip


class ExprError(TypeError):
    """Operands that do not make an expression."""


class Equality:
    """The result of ``a == b`` (or ``!=``): a Python truth value by structure, or an ``EQ``/``NE`` node."""

    __slots__ = ("a", "b", "negated")

    def __init__(self, a: Expr, b: object, *, negated: bool) -> None:
        self.a = a
        self.b = b
        self.negated = negated

    def __bool__(self) -> bool:
        return same(self.a, self._other()) is not self.negated

    def _other(self) -> object:
        """Return the other side; a number as a constant of the expression's type, if it fits there."""
        match self.b:
            case Operators():
                return self.b.asexpr()
            case int() | float() | np.generic():
                try:
                    return _constant_like(self.b, self.a.dtype)
                except ExprError:
                    return self.b
            case _:
                return self.b

    def asexpr(self) -> Expr:
        """Return the comparison as an expression."""
        return binary(NE if self.negated else EQ, self.a, self.b)


class Operators:
    """Python's operators on whatever has ``asexpr()``: expressions, iteration variables, tensor elements."""

    __slots__ = ()

    def asexpr(self) -> Expr:
        """Return the expression that this object stands for."""
        raise NotImplementedError

    def __add__(self, other: ExprLike) -> Expr:
        return binary(Add, self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return binary(Add, other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return binary(Sub, self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return binary(Sub, other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return binary(Mul, self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return binary(Mul, other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return _true_divide(self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return _true_divide(other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return binary(FloorDiv, self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return binary(FloorDiv, other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return binary(FloorMod, self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return binary(FloorMod, other, self)

    def __neg__(self) -> Expr:
        expr = self.asexpr()
        return binary(Sub, const(0, expr.dtype), expr)

    def __lt__(self, other: ExprLike) -> Expr:
        return binary(LT, self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return binary(LE, self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return binary(GT, self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return binary(GE, self, other)

    def __eq__(self, other: object) -> Equality:  # type: ignore[override]  # a deferred comparison, see Equality
        return Equality(self.asexpr(), other, negated=False)

    def __ne__(self, other: object) -> Equality:  # type: ignore[override]  # a deferred comparison, see Equality
        return Equality(self.asexpr(), other, negated=True)

    def __hash__(self) -> int:
        return _structural_hash(self.asexpr())

    def __lshift__(self, other: ExprLike) -> Expr:
        return _bitwise(Builtin.SHIFT_LEFT, self, other)

    def __rlshift__(self, other: ExprLike) -> Expr:
        return _bitwise(Builtin.SHIFT_LEFT, other, self)

    def __rshift__(self, other: ExprLike) -> Expr:
        return _bitwise(Builtin.SHIFT_RIGHT, self, other)

    def __rrshift__(self, other: ExprLike) -> Expr:
        return _bitwise(Builtin.SHIFT_RIGHT, other, self)

    def __and__(self, other: ExprLike) -> Expr:
        return _logical_or_bitwise(And, Builtin.BITWISE_AND, self, other)

    def __or__(self, other: ExprLike) -> Expr:
        return _logical_or_bitwise(Or, Builtin.BITWISE_OR, self, other)

    def __xor__(self, other: ExprLike) -> Expr:
        return _bitwise(Builtin.BITWISE_XOR, self, other)

    def __invert__(self) -> Expr:
        expr = self.asexpr()
        return Not(expr) if expr.dtype == BOOL else Call(expr.dtype, Builtin.BITWISE_NOT, (expr,))

    def __bool__(self) -> bool:
        raise ExprError(
            f"{type(self).__name__} has no truth value while a program is described; use te.if_then_else, "
            "tir.all, tir.any or tir.Select instead of if, and, or"
        )

    def __iter__(self) -> Iterator[Expr]:
        raise ExprError(f"{type(self).__name__} is one scalar; it cannot be iterated")

    def astype(self, dtype: str) -> Expr:
        """Return this value converted to ``dtype``."""
        return cast_to(self.asexpr(), DType(dtype))


class Node(Operators):
    """What every expression node shares; ``dtype`` is the type of its value."""

    __slots__ = ()

    if TYPE_CHECKING:
        __match_args__: tuple[str, ...]

        @property
        def dtype(self) -> DType: ...

    def asexpr(self) -> Expr:
        """Return the node itself."""
        return cast("Expr", self)

    def __str__(self) -> str:
        from vta.tir.printer import to_text  # the printer imports the nodes

        return to_text(self.asexpr())


@dataclass(frozen=True, slots=True)
class PointerType:
    """What a ``handle`` variable points to: elements of ``element`` in memory ``scope`` ("" or "global": DRAM)."""

    element: DType
    scope: str = "global"


@dataclass(frozen=True, slots=True, eq=False)
class Var(Node):
    """A variable. Two variables are the same only if they are the same object; ``name`` is for readers."""

    name: str
    dtype: DType = INT32
    pointer: PointerType | None = None

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, slots=True, eq=False)
class IntImm(Node):
    """An integer (or, with dtype bool, truth) constant that fits its type."""

    value: int
    dtype: DType = INT32

    def __post_init__(self) -> None:
        low, high = self.dtype.bounds
        if not low <= self.value <= high:
            raise ExprError(f"constant {self.value} does not fit {self.dtype}, which holds {low} to {high}")

    def __index__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0

    def __int__(self) -> int:
        return self.value


@dataclass(frozen=True, slots=True, eq=False)
class FloatImm(Node):
    """A floating point constant."""

    value: float
    dtype: DType = FLOAT32


@dataclass(frozen=True, slots=True, eq=False)
class StringImm(Node):
    """A string argument of an intrinsic or attribute."""

    value: str

    @property
    def dtype(self) -> DType:
        """Strings are handles."""
        return HANDLE


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Node):
    """``value`` converted to ``dtype`` (two's complement wrap between integers)."""

    dtype: DType
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class _Pair(Node):
    a: Expr
    b: Expr


class Binary(_Pair):
    """Arithmetic on two operands of one type."""

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        """The type of the operands."""
        return self.a.dtype


class Compare(_Pair):
    """A comparison of two operands of one type."""

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        """bool, with the operands' lanes."""
        return BOOL if self.a.dtype.lanes == 1 else BOOL.with_lanes(self.a.dtype.lanes)


class Add(Binary):
    """a + b."""

    __slots__ = ()


class Sub(Binary):
    """a - b."""

    __slots__ = ()


class Mul(Binary):
    """a * b."""

    __slots__ = ()


class Div(Binary):
    """Quotient rounded towards zero (integers), or exact (floats)."""

    __slots__ = ()


class Mod(Binary):
    """Remainder with the sign of the dividend."""

    __slots__ = ()


class FloorDiv(Binary):
    """Quotient rounded down."""

    __slots__ = ()


class FloorMod(Binary):
    """Remainder with the sign of the divisor."""

    __slots__ = ()


class Min(Binary):
    """The smaller operand."""

    __slots__ = ()


class Max(Binary):
    """The larger operand."""

    __slots__ = ()


class EQ(Compare):
    """a == b."""

    __slots__ = ()


class NE(Compare):
    """a != b."""

    __slots__ = ()


class LT(Compare):
    """a < b."""

    __slots__ = ()


class LE(Compare):
    """a <= b."""

    __slots__ = ()


class GT(Compare):
    """a > b."""

    __slots__ = ()


class GE(Compare):
    """a >= b."""

    __slots__ = ()


class And(Compare):
    """Both operands (bool) hold; ``b`` may be evaluated or not when ``a`` is false."""

    __slots__ = ()


class Or(Compare):
    """One of the operands (bool) holds."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Not(Node):
    """The operand (bool) does not hold."""

    a: Expr

    @property
    def dtype(self) -> DType:
        """The type of the operand."""
        return self.a.dtype


@dataclass(frozen=True, slots=True, eq=False)
class Select(Node):
    """``true_value`` if ``condition`` else ``false_value``; both may be evaluated."""

    condition: Expr
    true_value: Expr
    false_value: Expr

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self.true_value.dtype


@dataclass(frozen=True, slots=True, eq=False)
class BufferLoad(Node):
    """One element of ``buffer``; as many indices as the buffer has dimensions."""

    buffer: Buffer
    indices: tuple[Expr, ...]

    @property
    def dtype(self) -> DType:
        """The element type, with the lanes of a vector index."""
        lanes = self.indices[-1].dtype.lanes if self.indices else 1
        return self.buffer.dtype if lanes == 1 else self.buffer.dtype.with_lanes(lanes)


class DataProducer(Protocol):
    """What a ``ProducerLoad`` reads: a tensor of ``vta.te``, before it has a buffer."""

    @property
    def name(self) -> str:
        """For readers."""
        ...

    @property
    def shape(self) -> tuple[Expr, ...]:
        """Extent of each dimension."""
        ...

    @property
    def dtype(self) -> DType:
        """Element type."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ProducerLoad(Node):
    """One element of a tensor in a te compute body; lowering replaces it by a ``BufferLoad``."""

    producer: DataProducer
    indices: tuple[Expr, ...]

    @property
    def dtype(self) -> DType:
        """The tensor's element type."""
        return self.producer.dtype


@dataclass(frozen=True, slots=True, eq=False)
class Ramp(Node):
    """The vector base, base + stride, ... of ``lanes`` values."""

    base: Expr
    stride: Expr
    lanes: int

    @property
    def dtype(self) -> DType:
        """The base's type, as a vector."""
        return self.base.dtype.with_lanes(self.lanes)


@dataclass(frozen=True, slots=True, eq=False)
class Broadcast(Node):
    """``lanes`` copies of one value."""

    value: Expr
    lanes: int

    @property
    def dtype(self) -> DType:
        """The value's type, as a vector."""
        return self.value.dtype.with_lanes(self.lanes)


@dataclass(frozen=True, slots=True, eq=False)
class Let(Node):
    """``body`` with ``var`` standing for ``value``."""

    var: Var
    value: Expr
    body: Expr

    @property
    def dtype(self) -> DType:
        """The body's type."""
        return self.body.dtype


class Builtin(StrEnum):
    """The intrinsics that a ``Call`` may name; values are their printed names."""

    CALL_EXTERN = "tir.call_extern"
    ACCESS_PTR = "tir.tvm_access_ptr"
    ADDRESS_OF = "tir.address_of"
    TYPE_ANNOTATION = "tir.type_annotation"
    TUPLE = "tir.tvm_tuple"
    THREAD_CONTEXT = "tir.tvm_thread_context"
    IF_THEN_ELSE = "tir.if_then_else"
    LIKELY = "tir.likely"
    SHIFT_LEFT = "tir.shift_left"
    SHIFT_RIGHT = "tir.shift_right"
    BITWISE_AND = "tir.bitwise_and"
    BITWISE_OR = "tir.bitwise_or"
    BITWISE_XOR = "tir.bitwise_xor"
    BITWISE_NOT = "tir.bitwise_not"
    ABS = "tir.fabs"
    EXP = "tir.exp"
    LOG = "tir.log"
    SQRT = "tir.sqrt"
    TANH = "tir.tanh"
    SIGMOID = "tir.sigmoid"
    POW = "tir.pow"
    FLOOR = "tir.floor"
    CEIL = "tir.ceil"
    ROUND = "tir.round"
    TRUNC = "tir.trunc"
    COMMAND_HANDLE = "tir.vta.command_handle"
    UOP_PUSH = "tir.vta.uop_push"
    COPROC_SYNC = "tir.vta.coproc_sync"
    COPROC_DEP_PUSH = "tir.vta.coproc_dep_push"
    COPROC_DEP_POP = "tir.vta.coproc_dep_pop"
    COPROC_READ_BARRIER = "tir.vta.coproc_read_barrier"
    COPROC_WRITE_BARRIER = "tir.vta.coproc_write_barrier"


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """An intrinsic applied to ``args``; the first argument of ``CALL_EXTERN`` is the symbol (a ``StringImm``)."""

    dtype: DType
    op: Builtin
    args: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Range:
    """The integers ``min`` to ``min + extent - 1``."""

    min: Expr
    extent: Expr


class IterKind(StrEnum):
    """The kinds of iteration variables; values are TVM's names."""

    DATA_PAR = "DataPar"
    COMM_REDUCE = "CommReduce"
    THREAD_INDEX = "ThreadIndex"
    OPAQUE = "Opaque"


@dataclass(frozen=True, slots=True, eq=False)
class IterVar(Operators):
    """An axis: a variable with its domain. Compares by identity; ``thread_tag`` is for thread axes ("cthread")."""

    dom: Range | None
    var: Var
    kind: IterKind = IterKind.DATA_PAR
    thread_tag: str = ""

    def asexpr(self) -> Expr:
        """Return the variable."""
        return self.var

    @property
    def name(self) -> str:
        """The variable's name."""
        return self.var.name

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, slots=True)
class CommReducer:
    """A commutative, associative combination: ``result`` of ``lhs`` and ``rhs``, with its neutral element."""

    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[Expr, ...]
    identity: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Reduce(Node):
    """Element ``value_index`` of ``source`` combined over ``axis`` where ``condition`` holds; te bodies only."""

    combiner: CommReducer
    source: tuple[Expr, ...]
    axis: tuple[IterVar, ...]
    condition: Expr
    value_index: int = 0
    init: tuple[Expr, ...] = ()

    @property
    def dtype(self) -> DType:
        """The type of the chosen source."""
        return self.source[self.value_index].dtype


Expr: TypeAlias = (
    Var | IntImm | FloatImm | StringImm | Cast | Add | Sub | Mul | Div | Mod | FloorDiv | FloorMod | Min | Max
    | EQ | NE | LT | LE | GT | GE | And | Or | Not | Select | BufferLoad | ProducerLoad | Ramp | Broadcast
    | Let | Call | Reduce
)  # fmt: skip

ExprLike: TypeAlias = Operators | Equality | int | float | str | np.generic
"""Whatever ``convert`` turns into an expression."""


def same(a: object, b: object) -> bool:
    """Whether two expressions (or tuples of them) are equal by structure; variables by identity."""
    if a is b:
        return True
    if isinstance(a, Node):
        if type(a) is not type(b) or isinstance(a, Var):
            return False
        if isinstance(a, _Pair):
            return same(a.a, b.a) and same(a.b, b.b)  # type: ignore[attr-defined]  # b is of the same type
        return all(same(getattr(a, f), getattr(b, f)) for f in a.__match_args__)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Operators) or isinstance(b, Operators):
        return False
    return bool(a == b)


def _structural_hash(expr: Expr) -> int:
    if isinstance(expr, Var):
        return id(expr)
    return hash((type(expr), *(getattr(expr, f) for f in expr.__match_args__)))


def const(value: float, dtype: str = "int32") -> Expr:
    """Return a constant of ``dtype``; raises ``ExprError`` if it does not fit."""
    kind = DType(dtype)
    if kind.lanes > 1:
        return Broadcast(const(value, kind.element), kind.lanes)
    if kind.is_float:
        return FloatImm(float(value), kind)
    if isinstance(value, float) and not value.is_integer():
        raise ExprError(f"constant {value} is not an integer, but {dtype} was asked for")
    return IntImm(int(value), kind)


def convert(value: ExprLike | object, dtype: str | None = None) -> Expr:
    """Return ``value`` as an expression: a scalar (of ``dtype`` if given), a string, anything with ``asexpr()``."""
    match value:
        case Operators() | Equality():
            return value.asexpr()
        case bool() | np.bool_():
            return const(int(value), dtype or BOOL)
        case int() | np.integer():
            return const(int(value), dtype or _default_int(int(value)))
        case float() | np.floating():
            return const(float(value), dtype or "float32")
        case str():
            return StringImm(value)
        case _:
            raise ExprError(f"{value!r} ({type(value).__name__}) is not an expression")


def _default_int(value: int) -> str:
    return "int32" if -(1 << 31) <= value < 1 << 31 else "int64"


def cast_to(value: Expr, dtype: DType) -> Expr:
    """Return ``value`` as ``dtype``: itself, a folded constant, or a ``Cast``."""
    if value.dtype == dtype:
        return value
    if isinstance(value, IntImm) and dtype.is_int and dtype.lanes == 1:
        return IntImm(_wrap(value.value, dtype), dtype)
    if isinstance(value, IntImm) and dtype.is_float and dtype.lanes == 1:
        return FloatImm(float(value.value), dtype)
    if dtype.lanes > 1 and value.dtype.lanes == 1:
        return Broadcast(cast_to(value, dtype.element), dtype.lanes)
    return Cast(dtype, value)


def _wrap(value: int, dtype: DType) -> int:
    low, _ = dtype.bounds
    return (value - low) % (1 << dtype.bits) + low


def match_types(a: ExprLike | object, b: ExprLike | object) -> tuple[Expr, Expr]:
    """Convert both operands and bring them to one type, as TVM does: constants follow, wider wins, float wins."""
    x = a if isinstance(a, bool | int | float | np.generic) else convert(a)
    y = b if isinstance(b, bool | int | float | np.generic) else convert(b)
    if isinstance(x, Node) and not isinstance(y, Node):
        y = _constant_like(y, x.dtype)
    elif isinstance(y, Node) and not isinstance(x, Node):
        x = _constant_like(x, y.dtype)
    p, q = convert(x), convert(y)
    if p.dtype.lanes != q.dtype.lanes:
        lanes = max(p.dtype.lanes, q.dtype.lanes)
        p, q = cast_to(p, p.dtype.with_lanes(lanes)), cast_to(q, q.dtype.with_lanes(lanes))
    if p.dtype == q.dtype:
        return p, q
    wide = _wider(p.dtype, q.dtype)
    return cast_to(p, wide), cast_to(q, wide)


def _constant_like(value: object, dtype: DType) -> Expr:
    if isinstance(value, float | np.floating) and not dtype.is_float:
        return convert(value)
    return convert(value, None if dtype.kind is Kind.HANDLE else dtype)


def _wider(a: DType, b: DType) -> DType:
    if Kind.HANDLE in (a.kind, b.kind):
        raise ExprError(f"operands of types {a} and {b} do not go together")
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.kind is Kind.BOOL:
        return b
    if b.kind is Kind.BOOL or a.bits > b.bits:
        return a
    if a.bits == b.bits:
        return a if a.kind is Kind.UINT else b
    return b


_FOLD: dict[type[Node], Callable[[int, int], int]] = {
    Add: lambda a, b: a + b, Sub: lambda a, b: a - b, Mul: lambda a, b: a * b, Min: min, Max: max,
    FloorDiv: lambda a, b: a // b, FloorMod: lambda a, b: a % b,
    Div: lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    Mod: lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
    EQ: lambda a, b: a == b, NE: lambda a, b: a != b, LT: lambda a, b: a < b, LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b, GE: lambda a, b: a >= b, And: lambda a, b: a & b, Or: lambda a, b: a | b,
}  # fmt: skip


def binary(kind: type[Binary | Compare], a: ExprLike | object, b: ExprLike | object) -> Expr:
    """Build ``kind(a, b)``: operands brought to one type, constants and neutral elements folded."""
    x, y = match_types(a, b)
    if isinstance(x, IntImm) and isinstance(y, IntImm):
        if kind in (Div, Mod, FloorDiv, FloorMod) and y.value == 0:
            raise ExprError(f"{kind.__name__} of {x.value} by zero")
        folded = _FOLD[kind](x.value, y.value)
        return IntImm(int(folded), BOOL) if issubclass(kind, Compare) else IntImm(_wrap(folded, x.dtype), x.dtype)
    neutral = _neutral(kind, x, y)
    return cast("Expr", kind(x, y)) if neutral is None else neutral


def _neutral(kind: type[Binary | Compare], x: Expr, y: Expr) -> Expr | None:
    """Return the value of ``kind(x, y)`` where a constant operand decides it (x + 0, x * 1, x * 0, x // 1, ...)."""
    a = x.value if isinstance(x, IntImm) else None
    b = y.value if isinstance(y, IntImm) else None
    if kind is Add:
        return y if a == 0 else x if b == 0 else None
    if kind is Sub:
        return x if b == 0 else None
    if kind is Mul:
        if a == 0 or b == 0:
            return x if a == 0 else y
        return y if a == 1 else x if b == 1 else None
    if kind in (Div, FloorDiv):
        return x if b == 1 else None
    if kind in (Mod, FloorMod):
        return IntImm(0, x.dtype) if b == 1 else None
    if kind is And:
        return (y if a else x) if a is not None else (x if b else y) if b is not None else None
    if kind is Or:
        return (x if a else y) if a is not None else (y if b else x) if b is not None else None
    return None


def _true_divide(a: ExprLike, b: ExprLike) -> Expr:
    x, y = match_types(a, b)
    if not x.dtype.is_float:
        raise ExprError("/ between integers is ambiguous; use // (floor) or tir.truncdiv")
    return Div(x, y)


def _bitwise(op: Builtin, a: ExprLike, b: ExprLike) -> Expr:
    x, y = match_types(a, b)
    if not x.dtype.is_int:
        raise ExprError(f"{op} needs integer operands, not {x.dtype}")
    return Call(x.dtype, op, (x, y))


def _logical_or_bitwise(kind: type[Compare], op: Builtin, a: ExprLike, b: ExprLike) -> Expr:
    x, y = match_types(a, b)
    return binary(kind, x, y) if x.dtype.kind is Kind.BOOL else _bitwise(op, x, y)

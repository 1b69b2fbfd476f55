"""The expression nodes of TIR, closed by the union ``Expr``.

Nodes compare by structure (``same``); ``Var`` and ``IterVar`` by identity. Tests: tests/vta/tir/test_expr.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from vta.tir import expr as expr_package
from vta.tir.dtype import FLOAT32, HANDLE, INT32, DType
from vta.tir.expr.arithmetic import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Or,
    Sub,
)  # fmt: skip
from vta.tir.expr.builtin import Builtin
from vta.tir.expr.iteration import CommReducer, IterVar
from vta.tir.expr.operators import ExprError, Node, Operators
from vta.tir.expr.types import PlainInt, PointerType, PrimType

if TYPE_CHECKING:
    from vta.tir.buffer import Buffer

__all__ = [
    "Broadcast", "BufferLoad", "Call", "Cast", "DataProducer", "Expr", "FloatImm", "IntImm", "Let", "Not",
    "PointerType", "PrimType", "ProducerLoad", "Ramp", "Reduce", "Select", "Shuffle", "SizeVar", "StringImm", "Var",
    "same", "structural_hash",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Var(Node):
    """A variable. Two variables are the same only if they are the same object; ``name`` is for readers.

    Also with a type of TVM's as its ``dtype``.
    """

    name: str
    dtype: DType = INT32
    pointer: PointerType | None = None

    def __post_init__(self) -> None:
        if isinstance(self.dtype, PointerType):
            object.__setattr__(self, "pointer", self.dtype)
            object.__setattr__(self, "dtype", HANDLE)
        elif type(self.dtype) is not DType:
            object.__setattr__(
                self, "dtype", self.dtype.dtype if isinstance(self.dtype, PrimType) else DType(self.dtype)
            )

    @property
    def type_annotation(self) -> PointerType | PrimType:
        """What the variable is, or points to."""
        return self.pointer or PrimType(self.dtype)

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, slots=True, eq=False)
class SizeVar(Var):
    """A variable that is at least 0: the size of something."""


@dataclass(frozen=True, slots=True, eq=False)
class IntImm(Node):
    """An integer (or, with dtype bool, truth) constant that fits its type; also in TVM's order, (dtype, value)."""

    value: int
    dtype: DType = INT32

    def __post_init__(self) -> None:
        if type(self.dtype) is not DType:
            _set_constant(self, self.value, self.dtype)
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
    """A floating point constant, infinity beyond what its type holds; also in TVM's order, (dtype, value)."""

    value: float
    dtype: DType = FLOAT32

    def __post_init__(self) -> None:
        if type(self.dtype) is not DType:
            _set_constant(self, self.value, self.dtype)
        largest = _LARGEST.get(self.dtype)
        if largest is not None and largest <= abs(self.value) < math.inf:
            object.__setattr__(self, "value", math.copysign(math.inf, self.value))


_LARGEST: dict[str, float] = {"float16": 65520.0, "float32": math.ldexp(2 - 2**-24, 127)}
"""From here on, the nearest number of the type is infinity."""


def _set_constant(node: IntImm | FloatImm, first: object, second: object) -> None:
    """Give ``node`` its fields: the type is whichever of the two is a string."""
    value, dtype = (second, first) if isinstance(first, str) else (first, second)
    if not isinstance(dtype, str) or not isinstance(value, int | float):
        raise ExprError(f"{type(node).__name__} takes a number and a type, not {first!r} and {second!r}")
    object.__setattr__(node, "value", value)
    object.__setattr__(node, "dtype", DType(dtype))


def _settle(node: Node, name: str) -> None:
    """Make field ``name`` of a new node an expression, if it was given a number, an element or ``a == b``."""
    value = getattr(node, name)
    if not isinstance(value, Node):
        object.__setattr__(node, name, expr_package.convert(value))


def _settle_all(node: Node, name: str) -> None:
    """Make field ``name`` of a new node a tuple of expressions."""
    values = getattr(node, name)
    if type(values) is not tuple or not all(isinstance(value, Node) for value in values):
        object.__setattr__(node, name, tuple(expr_package.convert(value) for value in values))


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

    def __post_init__(self) -> None:
        if type(self.dtype) is DType and isinstance(self.value, Node):
            return
        if not isinstance(self.dtype, str):
            raise ExprError(f"Cast takes the type first, then the value: Cast('int32', x), not {self.dtype!r}")
        object.__setattr__(self, "dtype", DType(self.dtype))
        object.__setattr__(self, "value", expr_package.convert(self.value))


@dataclass(frozen=True, slots=True, eq=False)
class Not(Node):
    """The operand (bool) does not hold."""

    a: Expr
    dtype: DType = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _settle(self, "a")
        object.__setattr__(self, "dtype", self.a.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Select(Node):
    """``true_value`` if ``condition`` else ``false_value``; both may be evaluated."""

    condition: Expr
    true_value: Expr
    false_value: Expr
    dtype: DType = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _settle(self, "condition")
        if not (isinstance(self.true_value, Node) and isinstance(self.false_value, Node)):
            x, y = expr_package.match_types(self.true_value, self.false_value)
            object.__setattr__(self, "true_value", x)
            object.__setattr__(self, "false_value", y)
        object.__setattr__(self, "dtype", self.true_value.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class BufferLoad(Node):
    """One element of ``buffer``; as many indices as the buffer has dimensions."""

    buffer: Buffer
    indices: tuple[Expr, ...]

    def __post_init__(self) -> None:
        _settle_all(self, "indices")

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

    def __post_init__(self) -> None:
        if not (isinstance(self.base, Node) and isinstance(self.stride, Node)):
            base, stride = expr_package.match_types(self.base, self.stride)
            object.__setattr__(self, "base", base)
            object.__setattr__(self, "stride", stride)

    @property
    def dtype(self) -> DType:
        """The base's type, as a vector."""
        return self.base.dtype.with_lanes(self.lanes)


@dataclass(frozen=True, slots=True, eq=False)
class Broadcast(Node):
    """``lanes`` copies of one value."""

    value: Expr
    lanes: int

    def __post_init__(self) -> None:
        _settle(self, "value")

    @property
    def dtype(self) -> DType:
        """The value's type, as a vector."""
        return self.value.dtype.with_lanes(self.lanes)


@dataclass(frozen=True, slots=True, eq=False)
class Shuffle(Node):
    """Lanes of ``vectors``, chosen by ``indices``, constants that count the lanes of one vector after the other.

    One index gives a number, several give a vector.
    """

    vectors: tuple[Expr, ...]
    indices: tuple[int, ...]

    def __post_init__(self) -> None:
        _settle_all(self, "vectors")
        object.__setattr__(self, "indices", tuple(PlainInt(_lane_number(index)) for index in self.indices))
        kinds = {vector.dtype.element for vector in self.vectors}
        if len(kinds) != 1 or not self.indices:
            raise ExprError(
                f"Shuffle takes vectors of one type and one index or more, not {', '.join(map(str, kinds)) or 'none'} "
                f"and {len(self.indices)} indices"
            )
        lanes = sum(vector.dtype.lanes for vector in self.vectors)
        outside = [index for index in self.indices if not 0 <= index < lanes]
        if outside:
            raise ExprError(f"Shuffle: there is no lane {outside[0]}; the vectors have {lanes} lanes")

    @property
    def dtype(self) -> DType:
        """The vectors' element, as many times as there are indices."""
        element = self.vectors[0].dtype.element
        return element if len(self.indices) == 1 else element.with_lanes(len(self.indices))

    def source(self, lane: int) -> tuple[Expr, int]:
        """Return the vector that lane ``lane`` comes from, and which of its lanes it is."""
        place = self.indices[lane]
        for vector in self.vectors:
            if place < vector.dtype.lanes:
                return vector, place
            place -= vector.dtype.lanes
        raise AssertionError("an index was checked when the node was made")


def _lane_number(index: object) -> int:
    if isinstance(index, IntImm):
        return index.value
    if isinstance(index, int) and not isinstance(index, bool):
        return index
    raise ExprError(f"Shuffle: expected a constant as the number of a lane, got {index}")


@dataclass(frozen=True, slots=True, eq=False)
class Let(Node):
    """``body`` with ``var`` standing for ``value``."""

    var: Var
    value: Expr
    body: Expr
    dtype: DType = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _settle(self, "value")
        _settle(self, "body")
        object.__setattr__(self, "dtype", self.body.dtype)


def _builtin(name: str) -> Builtin:
    """Return the intrinsic of that printed name."""
    found = next((op for op in Builtin if op == name), None)
    if found is None:
        raise ExprError(f"there is no intrinsic {name!r}")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """An intrinsic applied to ``args``; the first argument of ``CALL_EXTERN`` is the symbol (a ``StringImm``)."""

    dtype: DType
    op: Builtin
    args: tuple[Expr, ...] = ()

    def __post_init__(self) -> None:
        if type(self.dtype) is not DType:
            object.__setattr__(self, "dtype", DType(self.dtype))
        if type(self.op) is str:
            object.__setattr__(self, "op", _builtin(self.op))
        _settle_all(self, "args")


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
    | Shuffle | Let | Call | Reduce
)  # fmt: skip


def same(a: object, b: object) -> bool:
    """Whether two expressions (or tuples of them) are equal by structure; variables by identity."""
    if a is b:
        return True
    pairs = [(a, b)]
    shared: set[tuple[int, int]] = set()
    while pairs:
        x, y = pairs.pop()
        if x is y:
            continue
        if isinstance(x, Node):
            if type(x) is not type(y) or isinstance(x, Var):
                return False
            if (id(x), id(y)) in shared:  # found on another way down, and equal or still to be compared
                continue
            shared.add((id(x), id(y)))
            pairs += [(getattr(x, f), getattr(y, f)) for f in reversed(x.__match_args__)]
        elif isinstance(x, tuple):
            if not isinstance(y, tuple) or len(x) != len(y):
                return False
            pairs += zip(reversed(x), reversed(y), strict=True)
        elif not _same_leaf(x, y):
            return False
    return True


def _same_leaf(a: object, b: object) -> bool:
    if isinstance(a, Operators) or isinstance(b, Operators):
        return False
    if isinstance(a, float) and isinstance(b, float):  # 0.0 and -0.0 are two numbers, a NaN is the same as itself
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (math.isnan(a) and math.isnan(b))
    return bool(a == b)


def structural_hash(expr: Expr) -> int:
    """Return a hash that expressions of equal structure share."""
    done: dict[int, int] = {}
    stack: list[tuple[Node, bool]] = [(expr, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if isinstance(node, Var):
            done[id(node)] = id(node)
        elif ready:
            done[id(node)] = hash((type(node), *(_hashable(getattr(node, f), done) for f in node.__match_args__)))
        else:
            stack.append((node, True))
            stack += [(child, False) for f in node.__match_args__ for child in _nodes(getattr(node, f))]
    return done[id(expr)]


def _nodes(value: object) -> list[Node]:
    """Return the expressions in a field."""
    items = value if isinstance(value, tuple) else (value,)
    return [item for item in items if isinstance(item, Node)]


def _hashable(value: object, done: dict[int, int]) -> object:
    """Return what stands for a field in a hash: the hashes of the expressions in it."""
    if isinstance(value, Node):
        return done[id(value)]
    return tuple(_hashable(item, done) for item in value) if isinstance(value, tuple) else value

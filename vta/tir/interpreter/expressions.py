"""The interpreter's expressions: TIR to Python source, with the range of every integer to leave out needless wrapping.

Integers wrap as two's complement, floats round to their type after every operation, every index is checked unless its
range shows that it lies inside. Tests: tests/vta/tir/test_interpreter.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from isa.errors import VTAError
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.dtype import BOOL, DType, Kind
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
    Builtin,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Shuffle,
    Sub,
    Var,
)
from vta.tir.interpreter.llvm_intrinsics import FUSED, intrinsic_name, without_llvm
from vta.tir.traverse import map_children

__all__ = ["BufferLayout", "Code", "ExprWriter", "InterpreterError", "LayoutDimension", "lane"]


class InterpreterError(VTAError, RuntimeError):
    """A program that the interpreter cannot run, or that does something undefined."""


@dataclass(frozen=True, slots=True)
class Code:
    """Python source of a value; ``lo`` and ``hi`` bound an integer, and mean nothing for other types.

    ``value`` is the integer of a literal. (What has a range of one integer may still have to be computed: for a check.)
    """

    text: str
    lo: int = 0
    hi: int = 0
    value: int | None = None


@dataclass(frozen=True, slots=True)
class LayoutDimension:
    """One dimension of a buffer in memory: valid indices are ``low`` to ``low + extent - 1``."""

    low: Code
    extent: Code
    stride: Code


@dataclass(frozen=True, slots=True)
class BufferLayout:
    """Where a buffer lies: the list that holds its elements, the offset of its first one, its dimensions."""

    memory: str
    offset: Code
    dims: tuple[LayoutDimension, ...]


_SIGNS: dict[type[Expr], str] = {
    Add: "+", Sub: "-", Mul: "*", EQ: "==", NE: "!=", LT: "<", LE: "<=", GT: ">", GE: ">=", And: "and", Or: "or",
}  # fmt: skip
_FLOAT_CALLS = {
    Builtin.ABS: "abs", Builtin.EXP: "_exp", Builtin.LOG: "_log", Builtin.SQRT: "_sqrt", Builtin.TANH: "_tanh",
    Builtin.SIGMOID: "_sigmoid", Builtin.POW: "_pow", Builtin.FLOOR: "_floor", Builtin.CEIL: "_ceil",
    Builtin.ROUND: "_round", Builtin.TRUNC: "_trunc",
    **{op: f"_{op.value.removeprefix('tir.')}" for op in (
        Builtin.ERF, Builtin.SIN, Builtin.COS, Builtin.TAN, Builtin.ASIN, Builtin.ACOS, Builtin.ATAN, Builtin.SINH,
        Builtin.COSH, Builtin.ASINH, Builtin.ACOSH, Builtin.ATANH, Builtin.EXP2, Builtin.LOG2, Builtin.LOG10,
        Builtin.LOG1P, Builtin.ATAN2, Builtin.HYPOT, Builtin.COPYSIGN, Builtin.NEXTAFTER, Builtin.FMOD,
    )},
}  # fmt: skip
_BITWISE = {Builtin.BITWISE_AND: "&", Builtin.BITWISE_OR: "|", Builtin.BITWISE_XOR: "^"}
_TRUTH = (0, 1)
_FORMATS = {
    "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q",
    "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip
"""How ``struct`` writes numbers of a type."""


def lane(expr: Expr, number: int) -> Expr:
    """Return lane ``number`` of a vector expression as a scalar one; what is scalar stays."""
    done: dict[int, Expr] = {}

    @deep
    def of(node: Expr) -> Expr:
        if id(node) not in done:
            done[id(node)] = picked(node)
        return done[id(node)]

    def picked(node: Expr) -> Expr:
        match node:
            case _ if node.dtype.lanes == 1:
                return node
            case Ramp():
                return node.base + node.stride * number
            case Broadcast():
                return node.value
            case Shuffle():
                return lane(*node.source(number))
            case Cast():
                return Cast(node.dtype.element, of(node.value))
            case Call():
                return Call(node.dtype.element, node.op, tuple(map(of, node.args)))
            case _:
                return map_children(of, node)

    return of(expr)


def number(value: int) -> Code:
    """Return the code of a known integer."""
    return Code(str(value) if value >= 0 else f"({value})", value, value, value)


def combine(sign: str, a: Code, b: Code) -> Code:
    """Return ``a sign b`` for +, - and * on unbounded integers, with neutral operands left out."""
    if a.value is not None and b.value is not None:
        return number({"+": a.value + b.value, "-": a.value - b.value, "*": a.value * b.value}[sign])
    if b.value == (1 if sign == "*" else 0):
        return a
    if sign == "-" and a.text == b.text and a.text.isidentifier():
        return number(0)
    if (sign == "*" and a.value == 1) or (sign == "+" and a.value == 0):
        return b
    corners = {
        "+": (a.lo + b.lo, a.hi + b.hi),
        "-": (a.lo - b.hi, a.hi - b.lo),
        "*": (a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi),
    }[sign]
    return Code(f"({a.text} {sign} {b.text})", min(corners), max(corners))


def wrap(code: Code, dtype: DType) -> Code:
    """Return ``code`` brought into ``dtype``: unchanged if it fits already."""
    low, high = dtype.bounds
    if low <= code.lo and code.hi <= high:
        return code
    mask = (1 << dtype.bits) - 1
    if code.value is not None:
        return number((code.value - low & mask) + low)
    text = f"({code.text} & {mask})" if low == 0 else f"((({code.text} + {-low}) & {mask}) - {-low})"
    return Code(text, low, high)


@dataclass(slots=True)
class ExprWriter:
    """Writes expressions; knows the Python names and ranges of variables and where buffers lie.

    ``locate`` is asked for the place of a buffer that is not among ``places``.
    """

    locate: Callable[[Buffer], BufferLayout]
    names: dict[Var, Code] = field(default_factory=dict)
    places: dict[Buffer, BufferLayout] = field(default_factory=dict)
    lets: int = 0

    @deep
    def write(self, expr: Expr) -> Code:
        """Return the source of a scalar expression."""
        match expr:
            case Var():
                if expr not in self.names:
                    raise InterpreterError(f"variable {expr.name!r} has no value here; is it a parameter or a loop's?")
                return self.names[expr]
            case IntImm():
                return number(expr.value)
            case FloatImm():
                return Code(f"float({str(expr.value)!r})")
            case Add() | Sub() | Mul():
                a, b = self.write(expr.a), self.write(expr.b)
                if expr.dtype.is_float:
                    return _rounded(f"{a.text} {_SIGNS[type(expr)]} {b.text}", expr.dtype)
                return wrap(combine(_SIGNS[type(expr)], a, b), expr.dtype)
            case EQ() | NE() | LT() | LE() | GT() | GE() | And() | Or():
                a, b = self.write(expr.a), self.write(expr.b)
                return Code(f"({a.text} {_SIGNS[type(expr)]} {b.text})", *_TRUTH)
            case Not():
                return Code(f"(not {self.write(expr.a).text})", *_TRUTH)
            case BufferLoad():
                place = self.place(expr.buffer)
                bounds = expr.dtype.bounds if not expr.dtype.is_float else (0, 0)
                return Code(f"{place.memory}[{self.index(expr.buffer, expr.indices)}]", *bounds)
            case FloorDiv() | FloorMod() | Div() | Mod():
                return self._division(expr)
            case Min() | Max():
                return self._extreme(expr)
            case Cast():
                return self._cast(expr)
            case Select():
                return self._choice(expr.condition, expr.true_value, expr.false_value)
            case Let():
                return self._let(expr)
            case Call():
                return self._call(expr)
            case Shuffle() if expr.dtype.lanes == 1:
                return self.write(lane(*expr.source(0)))
            case _:
                raise InterpreterError(f"cannot run {type(expr).__name__} {expr}; lower it first")

    def place(self, buffer: Buffer) -> BufferLayout:
        """Return where ``buffer`` lies."""
        if buffer not in self.places:
            self.places[buffer] = self.locate(buffer)
        return self.places[buffer]

    def index(self, buffer: Buffer, indices: tuple[Expr, ...]) -> str:
        """Return the source of the checked position of an element in its buffer's list."""
        place = self.place(buffer)
        if len(indices) != len(place.dims):
            raise InterpreterError(
                f"buffer {buffer.name!r} has {len(place.dims)} dimensions, but an access has {len(indices)} indices"
            )
        total = place.offset
        for number_, (index, dim) in enumerate(zip(indices, place.dims, strict=True)):
            checked = self._checked(self.write(index), dim, buffer, number_)
            total = combine("+", total, combine("*", combine("-", checked, dim.low), dim.stride))
        return total.text

    def _checked(self, index: Code, dim: LayoutDimension, buffer: Buffer, number_: int) -> Code:
        """Return ``index``, with a check that it lies in the dimension unless its range says so."""
        low, extent = dim.low, dim.extent
        if low.value is not None and low.value <= index.lo and index.hi < low.value + extent.lo:
            return index
        if index.text == low.text and index.text.isidentifier() and extent.lo > 0:
            return index
        end = combine("+", low, extent)
        where = f"{buffer.name!r}, {number_}, {low.text}, {end.text}"
        text = f"(_t if {low.text} <= (_t := {index.text}) < {end.text} else _outside(_t, {where}))"
        return Code(text, max(index.lo, low.lo), max(low.lo, min(index.hi, end.hi)))

    def _division(self, expr: FloorDiv | FloorMod | Div | Mod) -> Code:
        a, b = self.write(expr.a), self.write(expr.b)
        if expr.dtype.is_float:
            if not isinstance(expr, Div):
                raise InterpreterError(f"cannot run {type(expr).__name__} on {expr.dtype}")
            return _rounded(f"_divide({a.text}, {b.text})", expr.dtype)
        floor = isinstance(expr, FloorDiv | FloorMod) or (a.lo >= 0 and b.lo > 0)
        quotient = isinstance(expr, FloorDiv | Div)
        low, high = expr.dtype.bounds
        if not floor or b.lo <= 0 <= b.hi:
            name = {(True, True): "_floordiv", (True, False): "_floormod", (False, True): "_truncdiv"}
            text = f"{name.get((floor, quotient), '_truncmod')}({a.text}, {b.text})"
            return wrap(Code(text, low - 1, high + 1), expr.dtype)
        if not quotient:
            bounds = (0, b.hi - 1) if b.lo > 0 else (b.lo + 1, 0) if b.hi < 0 else (low, high)
            return Code(f"({a.text} % {b.text})", *bounds)
        corners = (a.lo // b.lo, a.lo // b.hi, a.hi // b.lo, a.hi // b.hi)
        return wrap(Code(f"({a.text} // {b.text})", min(corners), max(corners)), expr.dtype)

    def _extreme(self, expr: Min | Max) -> Code:
        a, b = self.write(expr.a), self.write(expr.b)
        function = min if isinstance(expr, Min) else max
        return Code(f"{function.__name__}({a.text}, {b.text})", function(a.lo, b.lo), function(a.hi, b.hi))

    def _choice(self, condition: Expr, first: Expr, second: Expr) -> Code:
        test, a, b = self.write(condition), self.write(first), self.write(second)
        return Code(f"({a.text} if {test.text} else {b.text})", min(a.lo, b.lo), max(a.hi, b.hi))

    def _cast(self, expr: Cast) -> Code:
        value, source, target = self.write(expr.value), expr.value.dtype, expr.dtype
        if target.is_float:
            return _rounded(f"float({value.text})", target)
        if target == BOOL:
            return Code(f"({value.text} != 0)", *_TRUTH)
        if source.is_float:
            return wrap(Code(f"_to_int({value.text})", target.bounds[0] - 1, target.bounds[1] + 1), target)
        if source.kind is Kind.BOOL:
            return Code(f"int({value.text})", *_TRUTH)
        return wrap(value, target)

    def _let(self, expr: Let) -> Code:
        value = self.write(expr.value)
        self.lets += 1
        name = f"l{self.lets}_{''.join(c if c.isalnum() else '_' for c in expr.var.name)}"
        self.names[expr.var] = Code(name, value.lo, value.hi)
        body = self.write(expr.body)
        return Code(f"(({name} := {value.text}), {body.text})[1]", body.lo, body.hi)

    def _call(self, expr: Call) -> Code:
        match expr.op:
            case Builtin.IF_THEN_ELSE:
                return self._choice(*expr.args)
            case Builtin.LIKELY:
                return self.write(expr.args[0])
            case Builtin.SHIFT_LEFT | Builtin.SHIFT_RIGHT:
                return self._shift(expr)
            case Builtin.BITWISE_AND | Builtin.BITWISE_OR | Builtin.BITWISE_XOR:
                a, b = (self.write(arg).text for arg in expr.args)
                return Code(f"({a} {_BITWISE[expr.op]} {b})", *expr.dtype.bounds)
            case Builtin.BITWISE_NOT:
                value = self.write(expr.args[0])
                return wrap(Code(f"(~{value.text})", ~value.hi, ~value.lo), expr.dtype)
            case Builtin.ISNAN:
                return Code(f"_isnan({self.write(expr.args[0]).text})", *_TRUTH)
            case Builtin.POPCOUNT:
                mask = (1 << expr.dtype.bits) - 1
                return Code(f"({self.write(expr.args[0]).text} & {mask}).bit_count()", 0, expr.dtype.bits)
            case Builtin.CLZ:
                bits = expr.dtype.bits
                text = self.write(expr.args[0]).text
                return Code(f"({bits} - ({text} & {(1 << bits) - 1}).bit_length())", 0, bits)
            case Builtin.REINTERPRET:
                return self._reinterpret(expr.args[0], expr.dtype)
            case Builtin.NEXTAFTER if expr.dtype.bits != 64:
                args = ", ".join(self.write(arg).text for arg in expr.args)
                return Code(f"_nextafter{expr.dtype.bits}({args})")
            case op if op in _FLOAT_CALLS:
                args = ", ".join(self.write(arg).text for arg in expr.args)
                return _rounded(f"{_FLOAT_CALLS[op]}({args})", expr.dtype)
            case Builtin.CALL_EXTERN | Builtin.CALL_PURE_EXTERN if intrinsic_name(expr):
                return self._llvm(expr)
            case op:
                raise InterpreterError(f"cannot run intrinsic {op}; the interpreter is for programs without it")

    def _llvm(self, expr: Call) -> Code:
        name = intrinsic_name(expr)
        if name in FUSED and expr.dtype.bits in (32, 64):
            args = ", ".join(self.write(arg).text for arg in expr.args[1:])
            return Code(f"_fused{expr.dtype.bits}({args})")
        found = without_llvm(expr)
        if found is None:
            raise InterpreterError(f"cannot run {name}; the interpreter is for programs without it")
        return self.write(found)

    def _reinterpret(self, value: Expr, target: DType) -> Code:
        if value.dtype.bits != target.bits:
            raise InterpreterError(f"cannot run tir.reinterpret of {value.dtype} as {target}: lanes of another size")
        text = f"_reinterpreted({self.write(value).text}, {_FORMATS[value.dtype]!r}, {_FORMATS[target]!r})"
        return Code(text) if target.is_float else Code(text, *target.bounds)

    def _shift(self, expr: Call) -> Code:
        value, count = (self.write(arg) for arg in expr.args)
        bits = expr.dtype.bits
        known = count.lo >= 0 and count.hi < bits
        amount = count.text if known else f"_shift_count({count.text}, {bits})"
        if expr.op is Builtin.SHIFT_RIGHT:
            return Code(f"({value.text} >> {amount})", min(value.lo, 0), max(value.hi, 0))
        most = 1 << (count.hi if known else bits - 1)
        code = Code(f"({value.text} << {amount})", min(value.lo * most, value.lo), max(value.hi * most, value.hi))
        return wrap(code, expr.dtype)


def _rounded(text: str, dtype: DType) -> Code:
    return Code(f"({text})" if dtype.bits == 64 else f"_f{dtype.bits}({text})")

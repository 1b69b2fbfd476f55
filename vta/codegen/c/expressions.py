"""TIR expressions to C: a variable for every operation, with the meaning that ``vta.codegen.arithmetic`` has in LLVM.

Integers wrap (sums are done in unsigned types), division rounds as TIR says, floats become the nearest integer that
there is. Tests: tests/vta/codegen/c/test_expressions.py.
"""

from dataclasses import dataclass, field

from vta.codegen.c.block import Writer
from vta.codegen.c.types import c_type, literal, memory_type, unsigned
from vta.codegen.llvm_types import CodegenError
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.dtype import DType, Kind
from vta.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Binary,
    BufferLoad,
    Builtin,
    Call,
    Cast,
    Compare,
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
    Select,
    Sub,
    Var,
)

__all__ = ["Scope", "emit_expr", "emit_place"]

_COMPARES: dict[type[Compare], str] = {EQ: "==", NE: "!=", LT: "<", LE: "<=", GT: ">", GE: ">="}

_MATH: dict[Builtin, str] = {
    Builtin.ABS: "fabs",
    Builtin.SQRT: "sqrt",
    Builtin.FLOOR: "floor",
    Builtin.CEIL: "ceil",
    Builtin.TRUNC: "trunc",
    Builtin.ROUND: "rint",
    Builtin.ERF: "erf",
    Builtin.COPYSIGN: "copysign",
    Builtin.FMOD: "fmod",
    Builtin.EXP: "exp",
    Builtin.LOG: "log",
    Builtin.POW: "pow",
    Builtin.TANH: "tanh",
}
"""Functions of <math.h> for doubles; those for floats have an ``f`` behind the name."""


@dataclass(slots=True, eq=False)
class Scope:
    """Where code is written, what TIR's variables are called, and the name of the function for errors."""

    writer: Writer
    where: str
    names: dict[Var, str] = field(default_factory=dict)

    def named(self, var: Var) -> str:
        """Return the name of a variable; raises ``CodegenError`` for one that nothing defines."""
        if var not in self.names:
            raise CodegenError(f"{self.where}: variable {var.name!r} is not defined here")
        return self.names[var]


@deep
def emit_expr(scope: Scope, expr: Expr) -> str:
    """Write the computation of ``expr`` and return the variable or constant that has its value."""
    match expr:
        case Var():
            return scope.named(expr)
        case IntImm() | FloatImm():
            return literal(expr.dtype, expr.value)
        case BufferLoad():
            return _emit_load(scope, expr)
        case And() | Or():
            return _emit_logic(scope, expr)
        case Compare():
            a, b = emit_expr(scope, expr.a), emit_expr(scope, expr.b)
            return scope.writer.value("bool", f"{a} {_COMPARES[type(expr)]} {b}")
        case Binary():
            return _emit_binary(scope, expr)
        case Cast():
            return _emit_cast(scope, emit_expr(scope, expr.value), expr.value.dtype, expr.dtype)
        case Select():
            return _emit_choice(scope, expr.condition, expr.true_value, expr.false_value)
        case Not():
            return scope.writer.value("bool", f"!{emit_expr(scope, expr.a)}")
        case Let():
            scope.names[expr.var] = emit_expr(scope, expr.value)
            return emit_expr(scope, expr.body)
        case Call():
            return _emit_call(scope, expr)
        case _:
            raise CodegenError(
                f"{scope.where}: {type(expr).__name__} has no C code; lower it for a CPU without vectors"
            )


def emit_place(scope: Scope, buffer: Buffer, indices: tuple[Expr, ...]) -> str:
    """Return the element of a buffer as C's ``buffer[offset]``."""
    offset = buffer.offset_of(indices)
    return f"{scope.named(buffer.data)}[{_sum_text(scope, offset) or emit_expr(scope, offset)}]"


@deep
def _sum_text(scope: Scope, expr: Expr, *, factor: bool = False) -> str | None:
    """Return sums and products of variables and constants as C, None for another expression.

    An offset is within an array, so that it does not overflow.
    """
    match expr:
        case Var() if expr.dtype.bits >= 32:
            return emit_expr(scope, expr)
        case IntImm() if expr.dtype.bits >= 32:
            return f"({expr.value})" if expr.value < 0 else str(expr.value)
        case Add() | Sub() | Mul() if expr.dtype.kind is Kind.INT and expr.dtype.bits >= 32:
            inner = isinstance(expr, Mul)
            a = _sum_text(scope, expr.a, factor=inner)
            b = _sum_text(scope, expr.b, factor=inner or isinstance(expr, Sub))
            if a is None or b is None:
                return None
            text = f"{a} {'*' if inner else '+' if isinstance(expr, Add) else '-'} {b}"
            return f"({text})" if factor and not inner else text
        case _:
            return None


def _emit_load(scope: Scope, load: BufferLoad) -> str:
    kind = c_type(load.dtype)
    memory_type(load.buffer.dtype)
    place = emit_place(scope, load.buffer, load.indices)
    return scope.writer.value(kind, f"{place} != 0" if load.dtype.kind is Kind.BOOL else place)


def _emit_logic(scope: Scope, expr: And | Or) -> str:
    """Write an operation whose second operand is computed only if the first one does not decide it."""
    no, yes = IntImm(0, expr.dtype), IntImm(1, expr.dtype)
    if isinstance(expr, And):
        return _emit_choice(scope, expr.a, expr.b, no)
    return _emit_choice(scope, expr.a, yes, expr.b)


def _emit_choice(scope: Scope, condition: Expr, true_value: Expr, false_value: Expr) -> str:
    """Write a choice of which the other side is not computed."""
    writer, test = scope.writer, emit_expr(scope, condition)
    if isinstance(true_value, IntImm | FloatImm | Var) and isinstance(false_value, IntImm | FloatImm | Var):
        sides = f"{emit_expr(scope, true_value)} : {emit_expr(scope, false_value)}"
        return writer.value(c_type(true_value.dtype), f"{test} ? {sides}")
    name = writer.variable()
    writer.line(f"{c_type(true_value.dtype)} {name};")
    with writer.block(f"if ({test}) {{"):
        writer.line(f"{name} = {emit_expr(scope, true_value)};")
    with writer.block("else {"):
        writer.line(f"{name} = {emit_expr(scope, false_value)};")
    return name


def _emit_binary(scope: Scope, expr: Binary) -> str:
    a, b = emit_expr(scope, expr.a), emit_expr(scope, expr.b)
    dtype, kind = expr.dtype, c_type(expr.dtype)
    match expr:
        case Add() | Sub() | Mul():
            sign = {Add: "+", Sub: "-", Mul: "*"}[type(expr)]
            return scope.writer.value(kind, _wrapping(dtype, sign, a, b))
        case Min():
            return scope.writer.value(kind, f"{a} < {b} ? {a} : {b}")
        case Max():
            return scope.writer.value(kind, f"{a} > {b} ? {a} : {b}")
        case Div() if dtype.is_float:
            return scope.writer.value(kind, f"{a} / {b}")
        case Div() | FloorDiv() | Mod() | FloorMod():
            return scope.writer.value(kind, _division(scope, expr, a, b))
        case _:
            raise CodegenError(f"{scope.where}: {type(expr).__name__} has no C code")


def _wrapping(dtype: DType, sign: str, a: str, b: str) -> str:
    """Return a sum, difference or product that wraps around as two's complement does."""
    if dtype.is_float:
        return f"{a} {sign} {b}"
    wide = unsigned(dtype)
    return f"({c_type(dtype)})(({wide}){a} {sign} ({wide}){b})"


def _division(scope: Scope, expr: Binary, a: str, b: str) -> str:
    """Return a quotient or remainder by a constant other than 0 and -1, for which nothing can go wrong."""
    if not isinstance(expr.b, IntImm) or expr.b.value in (0, -1) or not expr.dtype.is_int:
        raise CodegenError(f"{scope.where}: a division by anything but a constant (not 0, not -1) has no C code")
    sign = "/" if isinstance(expr, Div | FloorDiv) else "%"
    if isinstance(expr, Div | Mod) or expr.dtype.kind is Kind.UINT:
        return f"({c_type(expr.dtype)})({a} {sign} {b})"
    below = f"({a} % {b} != 0 && ({a} < 0) != ({b} < 0))"
    if sign == "/":
        return f"({c_type(expr.dtype)})({a} / {b} - {below})"
    return f"({c_type(expr.dtype)})({a} % {b} + ({below} ? {b} : 0))"


def _emit_cast(scope: Scope, value: str, source: DType, target: DType) -> str:
    kind = c_type(target)
    if source == target:
        return value
    if target.kind is Kind.BOOL:
        return scope.writer.value(kind, f"{value} != 0")
    if not source.is_float or target.is_float:
        return scope.writer.value(kind, f"({kind}){value}")
    low, high = target.bounds
    c_type(source)
    # The bound above the highest number is a power of two, which a float holds; the highest number may be none.
    least, beyond = literal(source, float(low)), literal(source, float(high + 1))
    text = (
        f"{value} != {value} ? 0 : {value} < {least} ? {literal(target, low)} : "
        f"{value} >= {beyond} ? {literal(target, high)} : ({kind}){value}"
    )
    return scope.writer.value(kind, text)


def _emit_call(scope: Scope, expr: Call) -> str:
    value, kind = scope.writer.value, c_type(expr.dtype)
    match expr.op, expr.args:
        case Builtin.LIKELY, (argument,):
            return emit_expr(scope, argument)
        case Builtin.IF_THEN_ELSE, (condition, true_value, false_value):
            return _emit_choice(scope, condition, true_value, false_value)
        case Builtin.SHIFT_LEFT | Builtin.SHIFT_RIGHT, (a, count):
            return value(kind, _shifted(scope, expr, emit_expr(scope, a), emit_expr(scope, count)))
        case Builtin.BITWISE_AND | Builtin.BITWISE_OR | Builtin.BITWISE_XOR, (a, b):
            sign = {Builtin.BITWISE_AND: "&", Builtin.BITWISE_OR: "|", Builtin.BITWISE_XOR: "^"}[expr.op]
            return value(kind, f"({kind})({emit_expr(scope, a)} {sign} {emit_expr(scope, b)})")
        case Builtin.BITWISE_NOT, (a,):
            return value(kind, f"({kind})~{emit_expr(scope, a)}")
        case Builtin.ISNAN, (a,):
            number = emit_expr(scope, a)
            return value("bool", f"{number} != {number}")
        case op, arguments if op in _MATH and expr.dtype.is_float:
            function = _MATH[op] + ("f" if expr.dtype.bits == 32 else "")
            return value(kind, f"{function}({', '.join(emit_expr(scope, each) for each in arguments)})")
        case _:
            raise CodegenError(f"{scope.where}: {expr.op} of {expr.dtype} has no C code")


def _shifted(scope: Scope, expr: Call, a: str, count: str) -> str:
    """Return a shift; a count of the width or more shifts everything out but the sign."""
    dtype, kind = expr.dtype, c_type(expr.dtype)
    if not dtype.is_int:
        raise CodegenError(f"{scope.where}: a shift of {dtype} has no C code")
    wide = unsigned(dtype)
    if expr.op is Builtin.SHIFT_LEFT:
        shifted, beyond = f"({kind})(({wide}){a} << {count})", "0"
    else:
        shifted, beyond = f"({kind})({a} >> {count})", f"({a} < 0 ? -1 : 0)" if dtype.kind is Kind.INT else "0"
    if isinstance(expr.args[1], IntImm):
        return shifted if 0 <= expr.args[1].value < dtype.bits else beyond
    return f"({wide}){count} < {dtype.bits} ? {shifted} : {beyond}"

"""TIR's mathematical functions in LLVM IR: an LLVM intrinsic where there is one, else a function of the C library.

Tests: tests/vta/codegen/test_host_math.py.
"""

from vta.codegen.arithmetic import float_intrinsic
from vta.codegen.elementary import emit_exp, emit_log, emit_tanh
from vta.codegen.llvm_types import CodegenError, Value, constant, register_type
from vta.codegen.runtime_calls import Signature
from vta.codegen.scope import FunctionScope
from vta.codegen.vectors import by_lane
from vta.tir.dtype import DType
from vta.tir.expr import Builtin

__all__ = ["emit_math"]

_LLVM: dict[Builtin, str] = {
    Builtin.ABS: "llvm.fabs",
    Builtin.EXP: "llvm.exp",
    Builtin.LOG: "llvm.log",
    Builtin.SQRT: "llvm.sqrt",
    Builtin.POW: "llvm.pow",
    Builtin.FLOOR: "llvm.floor",
    Builtin.CEIL: "llvm.ceil",
    Builtin.TRUNC: "llvm.trunc",
    Builtin.ROUND: "llvm.rint",  # to nearest, ties to even
    Builtin.SIN: "llvm.sin",
    Builtin.COS: "llvm.cos",
    Builtin.EXP2: "llvm.exp2",
    Builtin.LOG2: "llvm.log2",
    Builtin.LOG10: "llvm.log10",
    Builtin.COPYSIGN: "llvm.copysign",
}

_C_LIBRARY: dict[Builtin, str] = {
    Builtin.TANH: "tanh",
    Builtin.ERF: "erf",
    Builtin.TAN: "tan",
    Builtin.ASIN: "asin",
    Builtin.ACOS: "acos",
    Builtin.ATAN: "atan",
    Builtin.SINH: "sinh",
    Builtin.COSH: "cosh",
    Builtin.ASINH: "asinh",
    Builtin.ACOSH: "acosh",
    Builtin.ATANH: "atanh",
    Builtin.LOG1P: "log1p",
    Builtin.ATAN2: "atan2",
    Builtin.HYPOT: "hypot",
    Builtin.NEXTAFTER: "nextafter",
    Builtin.FMOD: "fmod",
}
"""Functions of doubles; those of floats have an ``f`` behind the name."""


_SINGLE_BITS = 32
_OF_SINGLES = {Builtin.EXP: emit_exp, Builtin.LOG: emit_log, Builtin.TANH: emit_tanh}


def emit_math(scope: FunctionScope, op: Builtin, dtype: DType, arguments: list[Value]) -> Value:
    """Write the function ``op`` of float ``arguments``; raises ``CodegenError`` for what is not one."""
    if not dtype.is_float:
        raise CodegenError(f"{scope.where}: {op} of {dtype} has no host code; convert the argument to a float type")
    if dtype.bits == 16:
        return _in_single_precision(scope, op, dtype, arguments)
    match op:
        case Builtin.SIGMOID:
            return _emit_sigmoid(scope, dtype, arguments[0])
        case Builtin.EXP | Builtin.LOG | Builtin.TANH if dtype.bits == _SINGLE_BITS:
            return _OF_SINGLES[op](scope.builder, dtype, arguments[0], contracts=scope.unit.contracts)
        case _ if op in _LLVM:
            return float_intrinsic(scope.builder, _LLVM[op], dtype, arguments)
        case _ if op in _C_LIBRARY:
            return _emit_c_function(scope, _C_LIBRARY[op], dtype, arguments)
        case _:
            raise CodegenError(f"{scope.where}: {op} has no host code")


def _in_single_precision(scope: FunctionScope, op: Builtin, dtype: DType, arguments: list[Value]) -> Value:
    single = DType("float32").with_lanes(dtype.lanes)
    wide = [scope.builder.fpext(argument, register_type(single)) for argument in arguments]
    return scope.builder.fptrunc(emit_math(scope, op, single, wide), register_type(dtype))


def _emit_c_function(scope: FunctionScope, name: str, dtype: DType, arguments: list[Value]) -> Value:
    if dtype.lanes > 1:
        element = dtype.element
        return by_lane(scope.builder, dtype, arguments, lambda *lane: _emit_c_function(scope, name, element, [*lane]))
    kind = register_type(dtype)
    own = f"{name}f" if dtype.bits == 32 else name
    return scope.builder.call(scope.unit.extern(own, Signature(kind, (kind,) * len(arguments))), arguments)


def _emit_sigmoid(scope: FunctionScope, dtype: DType, argument: Value) -> Value:
    one = constant(dtype, 1.0)
    power = emit_math(scope, Builtin.EXP, dtype, [scope.builder.fneg(argument)])
    return scope.builder.fdiv(one, scope.builder.fadd(one, power))

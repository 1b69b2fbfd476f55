"""Calls of Python's functions in host code: arguments side by side on the stack, arrays as small structs beside them.

What lies where is ``runtime.packed_call``'s. Tests: tests/vta/codegen/test_packed_calls.py.
"""

from collections.abc import Callable

from llvmlite import ir

from runtime.packed_call import CALL_PACKED_SYMBOL, Kind
from vta.codegen import arithmetic
from vta.codegen.llvm_types import I32, I64, POINTER, CodegenError, Value
from vta.codegen.runtime_calls import Signature
from vta.codegen.scope import FunctionScope
from vta.tir.dtype import HANDLE, INT64, DType
from vta.tir.expr import Builtin, Call, Expr, StringImm

__all__ = ["emit_call_packed"]

_SIGNATURE = Signature(I32, (POINTER, POINTER, POINTER, I32, POINTER))
_ARRAY = ir.LiteralStructType([POINTER, POINTER, I64, POINTER, POINTER, I64])

_Emit = Callable[[FunctionScope, Expr], Value]


def emit_call_packed(scope: FunctionScope, call: Call, emit: _Emit) -> Value:
    """Write the call; the function it stands in fails if Python's does. Returns the number that came back."""
    name, *arguments = call.args
    assert isinstance(name, StringImm)
    builder, count = scope.builder, len(arguments)
    values, kinds = scope.stack(ir.ArrayType(I64, count + 1)), scope.stack(ir.ArrayType(I32, count + 1))
    for place, argument in enumerate(arguments):
        kind, value = _argument(scope, argument, emit)
        builder.store(value, _at(scope, values, I64, place))
        builder.store(ir.Constant(I32, int(kind)), _at(scope, kinds, I32, place))
    expected = Kind.FLOAT if call.dtype.is_float else Kind.INT
    builder.store(ir.Constant(I32, int(expected)), _at(scope, kinds, I32, count))
    result = _at(scope, values, I64, count)
    callee = scope.unit.extern(CALL_PACKED_SYMBOL, _SIGNATURE)
    where = [scope.unit.string(name.value), values, kinds, ir.Constant(I32, count), result]
    status = builder.call(callee, where)
    succeeded = builder.icmp_signed("==", status, ir.Constant(I32, 0))
    scope.fail_unless(succeeded, f"{scope.where}: the global function {name.value!r} ended with an error")
    return _number(scope, builder.load(result, typ=I64), call.dtype)


def _at(scope: FunctionScope, base: Value, kind: Value, place: int) -> Value:
    return scope.builder.gep(base, [ir.Constant(I32, place)], source_etype=kind)


def _number(scope: FunctionScope, bits: Value, dtype: DType) -> Value:
    if dtype.is_float:
        double = scope.builder.bitcast(bits, ir.DoubleType())
        return arithmetic.convert(scope.builder, double, DType("float64"), dtype)
    if dtype == HANDLE:
        return scope.builder.inttoptr(bits, POINTER)
    return arithmetic.convert(scope.builder, bits, INT64, dtype)


def _argument(scope: FunctionScope, argument: Expr, emit: _Emit) -> tuple[Kind, Value]:
    """Return what an argument is, and its 64 bits."""
    builder, dtype = scope.builder, argument.dtype
    if dtype.lanes != 1:
        raise CodegenError(f"{scope.where}: a global function takes numbers and arrays, not {dtype}")
    match argument:
        case StringImm():
            return Kind.TEXT, builder.ptrtoint(emit(scope, argument), I64)
        case Call(op=Builtin.MAKE_ARRAY):
            return Kind.ARRAY, builder.ptrtoint(_make_array(scope, argument, emit), I64)
        case _ if dtype == HANDLE:
            return Kind.HANDLE, builder.ptrtoint(emit(scope, argument), I64)
        case _ if dtype.is_float:
            double = arithmetic.convert(builder, emit(scope, argument), dtype, DType("float64"))
            return Kind.FLOAT, builder.bitcast(double, I64)
        case _:
            return Kind.INT, arithmetic.convert(builder, emit(scope, argument), dtype, INT64)


def _make_array(scope: FunctionScope, call: Call, emit: _Emit) -> Value:
    data, shape, strides, element, offset = call.args
    assert isinstance(shape, Call)
    assert isinstance(strides, Call)
    builder, slot = scope.builder, scope.stack(_ARRAY)
    parts = (
        emit(scope, data),
        scope.unit.string(str(element.dtype)),
        ir.Constant(I64, len(shape.args)),
        _numbers(scope, shape.args, emit),
        _numbers(scope, strides.args, emit) if strides.args else ir.Constant(POINTER, None),
        arithmetic.convert(builder, emit(scope, offset), offset.dtype, INT64),
    )
    for place, part in enumerate(parts):
        path = [ir.Constant(I32, 0), ir.Constant(I32, place)]
        builder.store(part, builder.gep(slot, path, source_etype=_ARRAY))
    return slot


def _numbers(scope: FunctionScope, numbers: tuple[Expr, ...], emit: _Emit) -> Value:
    slot = scope.stack(ir.ArrayType(I64, max(1, len(numbers))))
    for place, number in enumerate(numbers):
        wide = arithmetic.convert(scope.builder, emit(scope, number), number.dtype, INT64)
        scope.builder.store(wide, _at(scope, slot, I64, place))
    return slot

"""TIR expressions to LLVM IR.

``if_then_else``, ``and``, ``or`` and selects with a risky side evaluate what they need and nothing else. A division by
zero, or an argument that its C parameter cannot hold, ends the function with a message.
Tests: tests/vta/codegen/test_host_*.py.
"""

from collections.abc import Callable
from typing import assert_never

from llvmlite import ir

from vta.codegen import arithmetic, vectors
from vta.codegen.element import element_pointer, load_element
from vta.codegen.intrinsics import emit_math
from vta.codegen.llvm_types import I32, POINTER, CodegenError, Value, constant, register_type
from vta.codegen.packed_calls import emit_call_packed
from vta.codegen.runtime_calls import RUNTIME_CALLS, Signature
from vta.codegen.scope import FunctionScope
from vta.codegen.struct_fields import emit_struct_field
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.dtype import HANDLE, INT32, INT64, DType
from vta.tir.expr import (
    Add,
    And,
    Binary,
    Broadcast,
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
    ProducerLoad,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    StringImm,
    Sub,
    Var,
)  # fmt: skip
from vta.tir.traverse import walk

__all__ = ["emit_expr", "emit_offset", "emit_place", "first_neighbour"]


@deep
def emit_expr(scope: FunctionScope, expr: Expr) -> Value:
    """Write the computation of ``expr`` at the builder's place and return its value."""
    match expr:
        case Var():
            return scope.value_of(expr)
        case IntImm() | FloatImm():
            return constant(expr.dtype, expr.value)
        case And() | Or():
            return _emit_logic(scope, expr)
        case Compare():
            a, b = emit_expr(scope, expr.a), emit_expr(scope, expr.b)
            return arithmetic.compare(scope.builder, type(expr), expr.a.dtype, a, b)
        case Binary():
            return _emit_binary(scope, expr)
        case BufferLoad():
            return _emit_load(scope, expr)
        case Call():
            return _emit_call(scope, expr)
        case Cast():
            value = emit_expr(scope, expr.value)
            return arithmetic.convert(scope.builder, value, expr.value.dtype, expr.dtype)
        case Select():
            return _emit_select(scope, expr)
        case Not():
            return scope.builder.not_(emit_expr(scope, expr.a))
        case Let():
            scope.values[expr.var] = emit_expr(scope, expr.value)
            return emit_expr(scope, expr.body)
        case StringImm():
            return scope.unit.string(expr.value)
        case Ramp():
            base, stride = emit_expr(scope, expr.base), emit_expr(scope, expr.stride)
            return vectors.ramp(scope.builder, base, stride, expr.dtype)
        case Broadcast():
            return _emit_broadcast(scope, expr)
        case Shuffle():
            return _emit_shuffle(scope, expr)
        case ProducerLoad() | Reduce():
            raise CodegenError(f"{scope.where}: a {type(expr).__name__} is left; lower the schedule first")
        case _:
            assert_never(expr)


def _emit_broadcast(scope: FunctionScope, expr: Broadcast) -> Value:
    if isinstance(expr.value, IntImm | FloatImm):
        return constant(expr.dtype, expr.value.value)
    return vectors.splat(scope.builder, emit_expr(scope, expr.value), expr.dtype)


def _emit_shuffle(scope: FunctionScope, expr: Shuffle) -> Value:
    made = {id(vector): emit_expr(scope, vector) for vector in expr.vectors}
    places: list[tuple[Value, int | None]] = []
    for number in range(len(expr.indices)):
        vector, place = expr.source(number)
        places.append((made[id(vector)], place if vector.dtype.lanes > 1 else None))
    return vectors.chosen(scope.builder, expr.dtype, places)


def _emit_load(scope: FunctionScope, load: BufferLoad) -> Value:
    builder, dtype = scope.builder, load.dtype
    if dtype.lanes == 1:
        base, offset = emit_place(scope, load.buffer, load.indices)
        return load_element(builder, base, offset, dtype)
    first = first_neighbour(load.buffer, load.indices)
    if first is not None:
        base, offset = emit_offset(scope, load.buffer, first)
        return vectors.load_neighbours(builder, base, offset, dtype)
    base, offsets = emit_place(scope, load.buffer, load.indices)
    return vectors.gather(builder, base, offsets, dtype)


def first_neighbour(buffer: Buffer, indices: tuple[Expr, ...]) -> Expr | None:
    """Return the offset of the first of a vector of elements that lie side by side, None if they do not."""
    match _as_ramp(buffer.offset_of(indices)):
        case base, IntImm(value=1):
            return base
        case _:
            return None


@deep
def _as_ramp(offset: Expr) -> tuple[Expr, Expr] | None:
    """Return base and stride of an index that grows evenly from lane to lane, None if that does not show."""
    match offset:
        case Ramp(base=base, stride=stride):
            return base, stride
        case Add(a=a, b=b):
            for grows, rests in ((a, b), (b, a)):
                inner, more = _as_ramp(grows), _same_in_all(rests)
                if inner is not None and more is not None:
                    return inner[0] + more, inner[1]
            return None
        case _:
            return None


@deep
def _same_in_all(value: Expr) -> Expr | None:
    """Return what every lane of a vector is, None if that does not show."""
    match value:
        case Broadcast(value=scalar):
            return scalar
        case Add(a=a, b=b) | Mul(a=a, b=b):
            first, second = _same_in_all(a), _same_in_all(b)
            return None if first is None or second is None else type(value)(first, second)
        case _:
            return None


def emit_place(scope: FunctionScope, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Value, Value]:
    """Return the address of a buffer's data, and the offset of ``indices`` from it: a 64-bit count of elements."""
    return emit_offset(scope, buffer, buffer.offset_of(indices))


def emit_offset(scope: FunctionScope, buffer: Buffer, offset: Expr) -> tuple[Value, Value]:
    """Return the address of a buffer's data, and ``offset`` (or all of its lanes) with 64 bits."""
    wide = INT64.with_lanes(offset.dtype.lanes)
    if buffer.dtype.lanes > 1:
        raise CodegenError(
            f"{scope.where}: buffer {buffer.name!r} has elements of {buffer.dtype}; elements are scalars, of which an "
            "access may have several"
        )
    return scope.value_of(buffer.data), arithmetic.convert(scope.builder, emit_expr(scope, offset), offset.dtype, wide)


def _emit_binary(scope: FunctionScope, expr: Binary) -> Value:
    dtype, builder = expr.dtype, scope.builder
    register_type(dtype)
    if scope.unit.contracts and dtype.is_float and dtype.bits >= _LEAST_FUSED_BITS:
        match expr:
            case Add(a=Mul(a=x, b=y), b=z) | Add(a=z, b=Mul(a=x, b=y)):
                return _fused(scope, x, y, emit_expr(scope, z))
            case Sub(a=Mul(a=x, b=y), b=z):
                return _fused(scope, x, y, builder.fneg(emit_expr(scope, z)))
            case _:
                pass
    a, b = emit_expr(scope, expr.a), emit_expr(scope, expr.b)
    match expr:
        case Add():
            return builder.fadd(a, b) if dtype.is_float else builder.add(a, b)
        case Sub():
            return builder.fsub(a, b) if dtype.is_float else builder.sub(a, b)
        case Mul():
            return builder.fmul(a, b) if dtype.is_float else builder.mul(a, b)
        case Min():
            return arithmetic.minimum(builder, dtype, a, b)
        case Max():
            return arithmetic.maximum(builder, dtype, a, b)
        case Div() | FloorDiv():
            _check_divisor(scope, expr, b)
            return arithmetic.divide(builder, dtype, a, b, floor=isinstance(expr, FloorDiv))
        case Mod() | FloorMod():
            _check_divisor(scope, expr, b)
            return arithmetic.remainder(builder, dtype, a, b, floor=isinstance(expr, FloorMod))
        case _:
            raise CodegenError(f"{scope.where}: {type(expr).__name__} has no host code")


_LEAST_FUSED_BITS = 32


def _fused(scope: FunctionScope, x: Expr, y: Expr, addend: Value) -> Value:
    """Return ``x * y + addend``, rounded once."""
    operands = [emit_expr(scope, x), emit_expr(scope, y), addend]
    return arithmetic.float_intrinsic(scope.builder, "llvm.fma", x.dtype, operands)


def _check_divisor(scope: FunctionScope, expr: Binary, divisor: Value) -> None:
    if expr.dtype.is_float or _is_nonzero(expr.b):
        return
    nonzero = scope.builder.icmp_signed("!=", divisor, constant(expr.dtype, 0))
    if expr.dtype.lanes > 1:
        nonzero = vectors.all_lanes(scope.builder, nonzero)
    scope.fail_unless(nonzero, f"{scope.where}: integer division by zero")


def _is_nonzero(divisor: Expr) -> bool:
    while isinstance(divisor, Broadcast):
        divisor = divisor.value
    return isinstance(divisor, IntImm) and divisor.value != 0


def _emit_logic(scope: FunctionScope, expr: And | Or) -> Value:
    if expr.dtype.lanes > 1 or not _is_risky(expr.b):
        a, b = emit_expr(scope, expr.a), emit_expr(scope, expr.b)
        return scope.builder.and_(a, b) if isinstance(expr, And) else scope.builder.or_(a, b)
    false, true = IntImm(0, expr.dtype), IntImm(1, expr.dtype)
    if isinstance(expr, And):
        return _emit_lazily(scope, expr.a, expr.b, false)
    return _emit_lazily(scope, expr.a, true, expr.b)


def _emit_select(scope: FunctionScope, expr: Select) -> Value:
    one_way = expr.condition.dtype.lanes == 1  # else lanes go different ways, and both are harmless
    if one_way and (_is_risky(expr.true_value) or _is_risky(expr.false_value)):
        return _emit_lazily(scope, expr.condition, expr.true_value, expr.false_value)
    condition = emit_expr(scope, expr.condition)
    return scope.builder.select(condition, emit_expr(scope, expr.true_value), emit_expr(scope, expr.false_value))


def _is_risky(expr: Expr) -> bool:
    """Whether evaluating ``expr`` where it is not wanted could fail or touch foreign memory."""
    for node in walk(expr):
        match node:
            case BufferLoad() | Call(op=Builtin.CALL_EXTERN | Builtin.CALL_PACKED | Builtin.STRUCT_GET):
                return True
            case Div() | Mod() | FloorDiv() | FloorMod() if not (node.dtype.is_float or _is_nonzero(node.b)):
                return True
            case _:
                continue
    return False


def _emit_lazily(scope: FunctionScope, condition: Expr, true_value: Expr, false_value: Expr) -> Value:
    if condition.dtype.lanes > 1:
        raise CodegenError(f"{scope.where}: lanes of a vector cannot take different ways; keep the loop serial")
    test = emit_expr(scope, condition)
    branches = [scope.function.append_basic_block(name) for name in ("then", "else", "merge")]
    scope.builder.cbranch(test, branches[0], branches[1])
    arms = []
    for block, value in zip(branches, (true_value, false_value), strict=False):
        scope.builder.position_at_end(block)
        arms.append((emit_expr(scope, value), scope.builder.block))
        scope.builder.branch(branches[2])
    scope.builder.position_at_end(branches[2])
    result = scope.builder.phi(register_type(true_value.dtype))
    for value, block in arms:
        result.add_incoming(value, block)
    return result


_Binary = Callable[[ir.IRBuilder, Value, Value], Value]

_BITWISE: dict[Builtin, _Binary] = {
    Builtin.BITWISE_AND: lambda builder, a, b: builder.and_(a, b),
    Builtin.BITWISE_OR: lambda builder, a, b: builder.or_(a, b),
    Builtin.BITWISE_XOR: lambda builder, a, b: builder.xor(a, b),
}


def _emit_call(scope: FunctionScope, expr: Call) -> Value:
    match expr.op, expr.args:
        case Builtin.CALL_EXTERN | Builtin.CALL_PURE_EXTERN, (StringImm(value=name), *arguments):
            return _emit_extern(scope, name, tuple(arguments), expr.dtype)
        case Builtin.CALL_INTRIN | Builtin.CALL_PURE_INTRIN, (StringImm(value=name), *_):
            raise CodegenError(
                f"{scope.where}: intrinsic {name!r} has no rule for this target; "
                f"register_intrin_lowering({name!r}, target, f=rule) gives it one"
            )
        case Builtin.CALL_PACKED, (StringImm(), *_):
            return emit_call_packed(scope, expr, emit_expr)
        case Builtin.LIKELY, (value,):
            return emit_expr(scope, value)
        case Builtin.IF_THEN_ELSE, (condition, true_value, false_value):
            return _emit_lazily(scope, condition, true_value, false_value)
        case Builtin.SHIFT_LEFT | Builtin.SHIFT_RIGHT, (a, count):
            shift = arithmetic.shift_left if expr.op is Builtin.SHIFT_LEFT else arithmetic.shift_right
            return shift(scope.builder, expr.dtype, emit_expr(scope, a), emit_expr(scope, count))
        case Builtin.BITWISE_AND | Builtin.BITWISE_OR | Builtin.BITWISE_XOR, (a, b):
            return _BITWISE[expr.op](scope.builder, emit_expr(scope, a), emit_expr(scope, b))
        case Builtin.BITWISE_NOT, (a,):
            return scope.builder.not_(emit_expr(scope, a))
        case Builtin.ISNAN, (a,):
            value = emit_expr(scope, a)
            return scope.builder.fcmp_unordered("uno", value, value)
        case Builtin.POPCOUNT, (a,):
            return scope.builder.ctpop(emit_expr(scope, a))
        case Builtin.REINTERPRET, (a,):
            return scope.builder.bitcast(emit_expr(scope, a), register_type(expr.dtype))
        case Builtin.CLZ, (a,):
            return scope.builder.ctlz(emit_expr(scope, a), ir.Constant(ir.IntType(1), 0))
        case Builtin.THREAD_CONTEXT | Builtin.COMMAND_HANDLE, _:
            return scope.command
        case Builtin.ADDRESS_OF, (BufferLoad() as load,):
            base, offset = emit_place(scope, load.buffer, load.indices)
            return element_pointer(scope.builder, base, offset, load.buffer.dtype)
        case Builtin.ACCESS_PTR, (annotation, Var() as data, start, _, _) if expr.dtype == "handle":
            offset = arithmetic.convert(scope.builder, emit_expr(scope, start), start.dtype, INT64)
            return element_pointer(scope.builder, scope.value_of(data), offset, annotation.dtype)
        case (
            (
                Builtin.UOP_PUSH
                | Builtin.COPROC_SYNC
                | Builtin.COPROC_DEP_PUSH
                | Builtin.COPROC_DEP_POP
                | Builtin.COPROC_READ_BARRIER
                | Builtin.COPROC_WRITE_BARRIER
            ),
            arguments,
        ):
            return _emit_coprocessor(scope, expr.op, tuple(arguments))
        case Builtin.STRUCT_GET | Builtin.STRUCT_SET, _:
            return emit_struct_field(scope, expr, emit_expr)
        case Builtin.IS_NULL, (a,) if a.dtype == HANDLE:
            return scope.builder.icmp_unsigned("==", emit_expr(scope, a), ir.Constant(POINTER, None))
        case Builtin.RET, _:
            raise CodegenError(f"{scope.where}: {expr.op} is a statement of its own, no part of an expression")
        case Builtin.ACCESS_PTR | Builtin.TUPLE | Builtin.TYPE_ANNOTATION | Builtin.CALL_EXTERN | Builtin.ADDRESS_OF, _:
            raise CodegenError(f"{scope.where}: {expr.op} should have been lowered before host code is made")
        case _:
            arguments = [emit_expr(scope, argument) for argument in expr.args]
            return emit_math(scope, expr.op, expr.dtype, arguments)


def _emit_coprocessor(scope: FunctionScope, op: Builtin, arguments: tuple[Expr, ...]) -> Value:
    match op:
        case Builtin.UOP_PUSH:
            return _emit_runtime(scope, "VTAUopPush", arguments)
        case Builtin.COPROC_SYNC:
            return scope.call_runtime("VTASynchronize", scope.command, ir.Constant(I32, 1 << 31))
        case Builtin.COPROC_DEP_PUSH:
            return _emit_runtime(scope, "VTADepPush", (_COMMAND, *arguments))
        case Builtin.COPROC_DEP_POP:
            return _emit_runtime(scope, "VTADepPop", (_COMMAND, *arguments))
        case Builtin.COPROC_READ_BARRIER:
            return _emit_runtime(scope, "VTAReadBarrier", (_COMMAND, *arguments))
        case _:
            return _emit_runtime(scope, "VTAWriteBarrier", (_COMMAND, *arguments))


_COMMAND = Call(HANDLE, Builtin.COMMAND_HANDLE)


def _emit_extern(scope: FunctionScope, name: str, arguments: tuple[Expr, ...], result: DType) -> Value:
    if name in RUNTIME_CALLS:
        return _emit_runtime(scope, name, arguments)
    values = [emit_expr(scope, argument) for argument in arguments]
    signature = Signature(register_type(result), tuple(register_type(a.dtype) for a in arguments))
    return scope.builder.call(scope.unit.extern(name, signature), values)


def _emit_runtime(scope: FunctionScope, name: str, arguments: tuple[Expr, ...]) -> Value:
    """Call the runtime with ``arguments`` brought to the types of its C parameters."""
    parameters = RUNTIME_CALLS[name].parameters
    if len(arguments) != len(parameters):
        raise CodegenError(f"{scope.where}: {name} takes {len(parameters)} arguments, not {len(arguments)}")
    values = []
    for place, (argument, kind) in enumerate(zip(arguments, parameters, strict=True)):
        value = emit_expr(scope, argument)
        if (kind is POINTER) != (argument.dtype == HANDLE):
            raise CodegenError(f"{scope.where}: argument {place} of {name} is {argument.dtype}, not {kind}")
        if kind is POINTER or argument.dtype.bits <= kind.width:
            target = argument.dtype if kind is POINTER else DType(f"int{kind.width}")
            values.append(arithmetic.convert(scope.builder, value, argument.dtype, target))
        else:
            values.append(_narrow(scope, value, argument.dtype, f"argument {place} of {name}"))
    return scope.call_runtime(name, *values)


def _narrow(scope: FunctionScope, value: Value, dtype: DType, what: str) -> Value:
    """Return ``value`` in 32 bits; the function fails if it does not fit, signed or unsigned."""
    builder = scope.builder
    short = arithmetic.convert(builder, value, dtype, INT32)
    signed = builder.icmp_signed("==", builder.sext(short, value.type), value)
    unsigned = builder.icmp_signed("==", builder.zext(short, value.type), value)
    scope.fail_unless(builder.or_(signed, unsigned), f"{scope.where}: {what} does not fit 32 bits")
    return short

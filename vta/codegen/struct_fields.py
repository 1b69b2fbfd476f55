"""Fields of C structs in host code: those of DLPack's ``DLTensor``, and the values of packed arguments.

    struct DLTensor {                                    offset
        void *data;                                      0
        struct { int32_t type, id; } device;             8, 12
        int32_t ndim;                                    16
        struct { uint8_t code, bits; uint16_t lanes; };  20, 21, 22
        int64_t *shape, *strides;                        24, 32
        uint64_t byte_offset;                            40
    };

Tests: tests/vta/passes/optional/test_make_packed_api.py, tests/vta/codegen/test_struct_fields.py.
"""

from collections.abc import Callable, Mapping

from llvmlite import ir

from vta.codegen.llvm_types import I8, I32, POINTER, CodegenError, Value, register_type
from vta.codegen.scope import FunctionScope
from vta.tir.dtype import HANDLE, INT32, DType
from vta.tir.expr import Builtin, Call, Expr, IntImm
from vta.tir.expr.struct_fields import StructField

__all__ = ["emit_struct_field"]

_Emit = Callable[[FunctionScope, Expr], Value]

_ARRAY_BYTES, _VALUE_BYTES, _VALUE_BITS = 48, 8, 64

_FIELDS: Mapping[StructField, tuple[int, DType]] = {
    StructField.ARRAY_DATA: (0, HANDLE),
    StructField.ARRAY_DEVICE_TYPE: (8, INT32),
    StructField.ARRAY_DEVICE_ID: (12, INT32),
    StructField.ARRAY_NDIM: (16, INT32),
    StructField.ARRAY_TYPE_CODE: (20, DType("uint8")),
    StructField.ARRAY_TYPE_BITS: (21, DType("uint8")),
    StructField.ARRAY_TYPE_LANES: (22, DType("uint16")),
    StructField.ARRAY_SHAPE: (24, HANDLE),
    StructField.ARRAY_STRIDES: (32, HANDLE),
    StructField.ARRAY_BYTE_OFFSET: (40, DType("uint64")),
}


def emit_struct_field(scope: FunctionScope, call: Call, emit: _Emit) -> Value:
    """Write ``tvm_struct_get(handle, index, field)`` or ``tvm_struct_set(handle, index, field, value)``."""
    match call.args:
        case (handle, IntImm(value=index), IntImm(value=field), *value) if handle.dtype == HANDLE:
            dtype = value[0].dtype if value else call.dtype
            offset = _offset(scope, call.op, index, field, dtype)
        case _:
            raise CodegenError(f"{scope.where}: {call.op} takes a handle, and constants for the struct and its field")
    place = scope.builder.gep(emit(scope, handle), [ir.Constant(I32, offset)], source_etype=I8)
    if call.op is Builtin.STRUCT_GET:
        return scope.builder.load(place, typ=POINTER if dtype == HANDLE else register_type(dtype))
    scope.builder.store(emit(scope, value[0]), place)
    return ir.Constant(I32, 0)


def _offset(scope: FunctionScope, op: object, index: int, field: int, dtype: DType) -> int:
    """Return the bytes from the handle to the field; refuse a type that it does not have."""
    if field == StructField.VALUE:
        if dtype.lanes != 1 or dtype.bits != _VALUE_BITS:
            raise CodegenError(f"{scope.where}: {op} of a value takes a handle or 64 bits, not {dtype}")
        return index * _VALUE_BYTES
    if field not in _FIELDS:
        known = ", ".join(f"{known} ({known.name})" for known in StructField)
        raise CodegenError(f"{scope.where}: {op} knows no field {field}; there are {known}")
    offset, kind = _FIELDS[StructField(field)]
    if dtype != kind:
        raise CodegenError(f"{scope.where}: {op} of field {field} ({StructField(field).name}) is {kind}, not {dtype}")
    return index * _ARRAY_BYTES + offset

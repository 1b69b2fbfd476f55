"""Fields of C structs as expressions: of the ``DLTensor`` that an array is to C, and values of packed arguments.

Where the fields lie is DLPack's (``vta.codegen.struct_fields``).
Tests: tests/vta/passes/optional/test_make_packed_api.py.
"""

from __future__ import annotations

from enum import IntEnum

from vta.tir.dtype import BOOL, HANDLE, INT32, DType
from vta.tir.expr import Builtin, Call, Expr, const

__all__ = ["StructField", "is_null", "struct_get", "struct_set"]


class StructField(IntEnum):
    """What ``tvm_struct_get`` reads: a field of a ``DLTensor``, or a value of 64 bits."""

    ARRAY_DATA = 1
    ARRAY_SHAPE = 2
    ARRAY_STRIDES = 3
    ARRAY_NDIM = 4
    ARRAY_TYPE_CODE = 5
    ARRAY_TYPE_BITS = 6
    ARRAY_TYPE_LANES = 7
    ARRAY_BYTE_OFFSET = 8
    ARRAY_DEVICE_ID = 9
    ARRAY_DEVICE_TYPE = 10
    VALUE = 12


def struct_get(dtype: DType, handle: Expr, index: int, field: StructField) -> Expr:
    """Return field ``field`` of struct number ``index`` at ``handle``."""
    return Call(dtype, Builtin.STRUCT_GET, (handle, const(index), const(int(field))))


def struct_set(handle: Expr, index: int, field: StructField, value: Expr) -> Expr:
    """Return the call that sets it."""
    return Call(INT32, Builtin.STRUCT_SET, (handle, const(index), const(int(field)), value))


def is_null(handle: Expr) -> Expr:
    """Return whether a pointer is null."""
    assert handle.dtype == HANDLE
    return Call(BOOL, Builtin.IS_NULL, (handle,))

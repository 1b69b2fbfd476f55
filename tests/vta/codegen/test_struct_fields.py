"""``tvm_struct_get`` and ``tvm_struct_set`` in host code: what they refuse. What they do: test_make_packed_api.py."""

import pytest

from isa.config import VTAConfig
from vta.codegen.host import emit_host
from vta.codegen.llvm_types import CodegenError
from vta.tir.calls import ret
from vta.tir.dtype import FLOAT32, HANDLE, INT32, INT64, DType
from vta.tir.expr import Builtin, Call, Expr, Var, const
from vta.tir.func import PrimFunc
from vta.tir.stmt import Evaluate

HANDLE_VAR = Var("h", HANDLE)

FIELDS = (
    "1 (ARRAY_DATA), 2 (ARRAY_SHAPE), 3 (ARRAY_STRIDES), 4 (ARRAY_NDIM), 5 (ARRAY_TYPE_CODE), 6 (ARRAY_TYPE_BITS), "
    "7 (ARRAY_TYPE_LANES), 8 (ARRAY_BYTE_OFFSET), 9 (ARRAY_DEVICE_ID), 10 (ARRAY_DEVICE_TYPE), 12 (VALUE)"
)


def get(dtype: DType, handle: Expr, index: Expr | int, field: int) -> Expr:
    return Call(dtype, Builtin.STRUCT_GET, (handle, const(index) if isinstance(index, int) else index, const(field)))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (get(INT32, HANDLE_VAR, Var("i"), 4), "takes a handle, and constants for the struct and its field"),
        (get(INT32, const(3), 0, 4), "takes a handle, and constants for the struct and its field"),
        (get(INT64, HANDLE_VAR, 0, 4), "of field 4 (ARRAY_NDIM) is int32, not int64"),
        (get(FLOAT32, HANDLE_VAR, 1, 12), "of a value takes a handle or 64 bits, not float32"),
        (get(INT32, HANDLE_VAR, 0, 11), f"knows no field 11; there are {FIELDS}"),
    ],
)
def test_fields_that_there_are_not_are_refused(value: Expr, reason: str) -> None:
    with pytest.raises(CodegenError) as error:
        emit_host([PrimFunc([HANDLE_VAR, Var("i")], Evaluate(value))], VTAConfig())
    assert str(error.value) == f"function 'main': tir.tvm_struct_get {reason}"


def test_a_packed_function_ends_with_its_status_alone() -> None:
    func = PrimFunc([HANDLE_VAR], Evaluate(ret(const(1.0))), attrs={"calling_conv": 1})
    with pytest.raises(CodegenError) as error:
        emit_host([func], VTAConfig())
    assert str(error.value) == "function 'main': a packed function ends with an int32, its status, not float32"

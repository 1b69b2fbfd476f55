"""C types and constants."""

import pytest

from vta.codegen.c.types import c_type, literal, memory_type, unsigned
from vta.codegen.llvm_types import CodegenError
from vta.tir.dtype import DType


def test_types_of_variables_and_of_memory() -> None:
    kinds = ("int8", "uint64", "float32", "float64", "bool")
    assert [c_type(DType(kind)) for kind in kinds] == ["int8_t", "uint64_t", "float", "double", "bool"]
    assert memory_type(DType("bool")) == "uint8_t"
    assert [unsigned(DType(kind)) for kind in ("int8", "int32", "int64")] == ["uint32_t", "uint32_t", "uint64_t"]


@pytest.mark.parametrize("kind", ["int4", "float16", "int32x4", "handle"])
def test_types_that_c_does_not_have_are_refused(kind: str) -> None:
    with pytest.raises(CodegenError) as caught:
        c_type(DType(kind))
    assert str(caught.value) == f"{kind} has no type in C here; integers have 8 to 64 bits, floats 32 or 64"


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("int32", -(1 << 31), "(-INT32_C(2147483647) - 1)"),
        ("int64", -(1 << 63), "(-INT64_C(9223372036854775807) - 1)"),
        ("int64", 5, "INT64_C(5)"),
        ("int8", -128, "-128"),
        ("uint8", 200, "UINT8_C(200)"),
        ("bool", 1, "true"),
        ("float32", 0.1, "0x1.999999999999ap-4f"),
        ("float64", float("-inf"), "((double)-INFINITY)"),
        ("float32", float("nan"), "((float)NAN)"),
    ],
)
def test_constants_are_exact(kind: str, value: float, text: str) -> None:
    assert literal(DType(kind), value) == text

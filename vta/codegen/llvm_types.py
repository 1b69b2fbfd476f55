"""How TIR's data types look in LLVM: in registers, and in memory.

A bool is one bit in a register and a byte in memory. Integers of 1, 2 or 4 bits are packed in memory, element 0 in the
low bits of a byte, as the accelerator stores them. A vector is LLVM's vector of its elements.
Tests: tests/vta/codegen/test_host_memory.py.
"""

from typing import Any, TypeAlias

from llvmlite import ir

from isa.errors import VTAError
from vta.tir.dtype import DType, Kind

__all__ = [
    "I1", "I8", "I32", "I64", "POINTER", "VOID", "CodegenError", "LlvmType", "Value", "bytes_of", "constant",
    "is_packed", "memory_type", "register_type",
]  # fmt: skip

Value: TypeAlias = Any
"""An llvmlite value; the library has no types of its own."""

LlvmType: TypeAlias = Any
"""An llvmlite type."""

I1 = ir.IntType(1)
I8 = ir.IntType(8)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
POINTER = ir.PointerType()
VOID = ir.VoidType()

_FLOATS = {16: ir.HalfType(), 32: ir.FloatType(), 64: ir.DoubleType()}
_PACKED_BITS = (1, 2, 4)
_WHOLE_BITS = (8, 16, 32, 64)


class CodegenError(VTAError, ValueError):
    """A function that has no host code: a node that should have been lowered, a type without a machine form."""


def register_type(dtype: DType) -> LlvmType:
    """Return the type of one value of ``dtype``."""
    if dtype.lanes > 1:
        return ir.VectorType(register_type(dtype.element), dtype.lanes)
    match dtype.kind:
        case Kind.INT | Kind.UINT | Kind.BOOL:
            return ir.IntType(dtype.bits)
        case Kind.FLOAT:
            return _FLOATS[dtype.bits]
        case Kind.HANDLE:
            return POINTER


def is_packed(dtype: DType) -> bool:
    """Whether several elements of ``dtype`` share a byte."""
    return dtype.is_int and dtype.bits in _PACKED_BITS


def memory_type(dtype: DType) -> LlvmType:
    """Return the type of one element (or a vector of them) in memory; ``CodegenError`` for no whole number of bytes."""
    if dtype.lanes > 1:
        return ir.VectorType(memory_type(dtype.element), dtype.lanes)
    if dtype.kind is Kind.BOOL:
        return I8
    if is_packed(dtype) or (dtype.is_int and dtype.bits not in _WHOLE_BITS):
        raise CodegenError(f"an element of {dtype} is not a whole number of bytes (8, 16, 32 or 64 bits)")
    return register_type(dtype)


def bytes_of(dtype: DType, elements: int) -> int:
    """Return the bytes that ``elements`` of ``dtype`` take in memory."""
    if is_packed(dtype):
        return (elements * dtype.bits + 7) // 8
    memory_type(dtype)
    return elements * (1 if dtype.kind is Kind.BOOL else dtype.bits // 8)


def constant(dtype: DType, value: float) -> Value:
    """Return a constant of ``dtype``, the same in all of its lanes."""
    kind = register_type(dtype)
    return ir.Constant(kind, value if dtype.lanes == 1 else [value] * dtype.lanes)

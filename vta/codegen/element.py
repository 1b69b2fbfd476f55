"""One element of a buffer in memory: its address, loading it, storing it.

Offsets are 64-bit values that count elements. Packed elements (1, 2 or 4 bits) are read and written inside their byte.
Tests: tests/vta/codegen/test_host_memory.py.
"""

from llvmlite import ir

from vta.codegen.llvm_types import I1, I8, I64, CodegenError, Value, is_packed, memory_type, register_type
from vta.tir.dtype import DType, Kind

__all__ = ["element_pointer", "load_element", "store_element"]


def element_pointer(builder: ir.IRBuilder, base: Value, offset: Value, dtype: DType) -> Value:
    """Return the address of an element; raises ``CodegenError`` for packed types, which have none of their own."""
    if is_packed(dtype):
        raise CodegenError(f"an element of {dtype} has no address of its own; several share a byte")
    return builder.gep(base, [offset], source_etype=memory_type(dtype))


def load_element(builder: ir.IRBuilder, base: Value, offset: Value, dtype: DType) -> Value:
    """Return the element at ``offset``."""
    if is_packed(dtype):
        byte, shift = _byte_of(builder, base, offset, dtype)
        value = builder.lshr(builder.load(byte, typ=I8), shift)
        return builder.trunc(value, register_type(dtype))
    value = builder.load(element_pointer(builder, base, offset, dtype), typ=memory_type(dtype))
    if dtype.kind is Kind.BOOL:
        return builder.icmp_unsigned("!=", value, ir.Constant(I8, 0))
    return value


def store_element(builder: ir.IRBuilder, base: Value, offset: Value, dtype: DType, value: Value) -> None:
    """Write ``value`` at ``offset``; the neighbours in a shared byte keep theirs."""
    if is_packed(dtype):
        byte, shift = _byte_of(builder, base, offset, dtype)
        mask = builder.shl(ir.Constant(I8, (1 << dtype.bits) - 1), shift)
        kept = builder.and_(builder.load(byte, typ=I8), builder.not_(mask))
        builder.store(builder.or_(kept, builder.shl(builder.zext(value, I8), shift)), byte)
        return
    stored = builder.zext(value, I8) if value.type == I1 else value
    builder.store(stored, element_pointer(builder, base, offset, dtype))


def _byte_of(builder: ir.IRBuilder, base: Value, offset: Value, dtype: DType) -> tuple[Value, Value]:
    """Return the address of the byte that holds an element, and the place of its lowest bit in it."""
    bit = builder.mul(offset, ir.Constant(I64, dtype.bits))
    byte = builder.gep(base, [builder.lshr(bit, ir.Constant(I64, 3))], source_etype=I8)
    return byte, builder.trunc(builder.and_(bit, ir.Constant(I64, 7)), I8)

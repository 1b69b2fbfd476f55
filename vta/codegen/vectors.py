"""Vectors in LLVM IR: making them, and moving them between registers and memory.

Neighbours in memory are one load or store, which needs no more than an element's alignment; other elements are moved
one by one. Tests: tests/vta/codegen/test_host_vectors.py.
"""

from collections.abc import Callable, Sequence

from llvmlite import ir

from vta.codegen.element import element_pointer, load_element, store_element
from vta.codegen.llvm_types import I1, I8, I32, I64, Value, bytes_of, is_packed, memory_type, register_type
from vta.tir.dtype import BOOL, DType, Kind

__all__ = [
    "all_lanes", "by_lane", "chosen", "gather", "load_neighbours", "ramp", "scatter", "splat", "store_neighbours",
]  # fmt: skip


def splat(builder: ir.IRBuilder, value: Value, dtype: DType) -> Value:
    """Return the vector of type ``dtype`` with ``value`` in every lane."""
    kind = register_type(dtype)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(I32, 0))
    everywhere = ir.Constant(ir.VectorType(I32, dtype.lanes), [0] * dtype.lanes)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), everywhere)


def ramp(builder: ir.IRBuilder, base: Value, stride: Value, dtype: DType) -> Value:
    """Return ``base + lane*stride``."""
    counted = ir.Constant(register_type(dtype), list(range(dtype.lanes)))
    steps = builder.mul(splat(builder, stride, dtype), counted)
    return builder.add(splat(builder, base, dtype), steps)


def by_lane(builder: ir.IRBuilder, dtype: DType, values: Sequence[Value], function: Callable[..., Value]) -> Value:
    """Return the vector of ``function`` applied to each lane of ``values`` (vectors)."""
    result = ir.Constant(register_type(dtype), ir.Undefined)
    for number in range(dtype.lanes):
        place = ir.Constant(I32, number)
        lane = function(*(builder.extract_element(value, place) for value in values))
        result = builder.insert_element(result, lane, place)
    return result


def chosen(builder: ir.IRBuilder, dtype: DType, places: Sequence[tuple[Value, int | None]]) -> Value:
    """Return numbers as a vector, or the only one: each a lane of a vector, or (None) a number by itself."""
    numbers = [
        value if lane is None else builder.extract_element(value, ir.Constant(I32, lane)) for value, lane in places
    ]
    if len(numbers) == 1:
        return numbers[0]
    result = ir.Constant(register_type(dtype), ir.Undefined)
    for place, number in enumerate(numbers):
        result = builder.insert_element(result, number, ir.Constant(I32, place))
    return result


def all_lanes(builder: ir.IRBuilder, condition: Value) -> Value:
    """Return one bit: whether every lane of a vector of bits is set."""
    name = f"llvm.vector.reduce.and.v{condition.type.count}i1"
    function = builder.module.declare_intrinsic(name, (), ir.FunctionType(I1, [condition.type]))
    return builder.call(function, [condition])


def load_neighbours(builder: ir.IRBuilder, base: Value, offset: Value, dtype: DType) -> Value:
    """Return the ``dtype.lanes`` elements from ``offset`` (a scalar) on."""
    element = dtype.element
    if is_packed(element):
        return gather(builder, base, ramp(builder, offset, ir.Constant(I64, 1), _offsets(dtype)), dtype)
    value = builder.load(element_pointer(builder, base, offset, element), typ=memory_type(dtype))
    value.align = bytes_of(element, 1)
    if dtype.kind is Kind.BOOL:
        return builder.icmp_unsigned("!=", value, ir.Constant(value.type, [0] * dtype.lanes))
    return value


def store_neighbours(builder: ir.IRBuilder, base: Value, offset: Value, dtype: DType, value: Value) -> None:
    """Write the lanes of ``value`` to the elements from ``offset`` (a scalar) on."""
    element = dtype.element
    if is_packed(element):
        scatter(builder, base, ramp(builder, offset, ir.Constant(I64, 1), _offsets(dtype)), dtype, value)
        return
    stored = builder.zext(value, ir.VectorType(I8, dtype.lanes)) if element == BOOL else value
    builder.store(stored, element_pointer(builder, base, offset, element)).align = bytes_of(element, 1)


def gather(builder: ir.IRBuilder, base: Value, offsets: Value, dtype: DType) -> Value:
    """Return the elements at ``offsets``, a vector of 64-bit counts of elements."""
    return by_lane(builder, dtype, [offsets], lambda offset: load_element(builder, base, offset, dtype.element))


def scatter(builder: ir.IRBuilder, base: Value, offsets: Value, dtype: DType, value: Value) -> None:
    """Write the lanes of ``value`` to ``offsets``, one after the other."""
    for number in range(dtype.lanes):
        place = ir.Constant(I32, number)
        offset, lane = builder.extract_element(offsets, place), builder.extract_element(value, place)
        store_element(builder, base, offset, dtype.element, lane)


def _offsets(dtype: DType) -> DType:
    return DType("int64").with_lanes(dtype.lanes)

"""How TIR's data types look in C: in memory and in a variable, and constants of them.

A bool is a byte in memory. Tests: tests/vta/codegen/c/test_types.py.
"""

import math

from vta.codegen.llvm_types import CodegenError
from vta.tir.dtype import DType, Kind

__all__ = ["c_type", "literal", "memory_type", "unsigned"]

_FLOATS = {32: "float", 64: "double"}


def c_type(dtype: DType) -> str:
    """Return the type of a variable; ``CodegenError`` for vectors, float16, and integers that C does not have."""
    whole = dtype.bits in (8, 16, 32, 64)
    match dtype.kind:
        case Kind.BOOL if dtype.lanes == 1:
            return "bool"
        case Kind.INT if dtype.lanes == 1 and whole:
            return f"int{dtype.bits}_t"
        case Kind.UINT if dtype.lanes == 1 and whole:
            return f"uint{dtype.bits}_t"
        case Kind.FLOAT if dtype.lanes == 1 and dtype.bits in _FLOATS:
            return _FLOATS[dtype.bits]
        case _:
            raise CodegenError(f"{dtype} has no type in C here; integers have 8 to 64 bits, floats 32 or 64")


def memory_type(dtype: DType) -> str:
    """Return the type of an element in memory."""
    return "uint8_t" if dtype.kind is Kind.BOOL else c_type(dtype)


def unsigned(dtype: DType) -> str:
    """Return the unsigned type in which sums of ``dtype`` wrap: at least 32 bits, below which C computes in int."""
    return f"uint{max(dtype.bits, 32)}_t"


def literal(dtype: DType, value: float) -> str:
    """Return a constant of ``dtype``, exactly."""
    if dtype.is_float:
        return _float_literal(dtype, float(value))
    if dtype.kind is Kind.BOOL:
        return "true" if value else "false"
    number = int(value)
    if dtype.kind is Kind.UINT:
        return f"UINT{dtype.bits}_C({number})"
    low, _ = dtype.bounds
    if number == low and dtype.bits >= 32:  # the constant of its absolute value would not fit
        return f"(-INT{dtype.bits}_C({-number - 1}) - 1)"
    return str(number) if dtype.bits <= 32 else f"INT{dtype.bits}_C({number})"


def _float_literal(dtype: DType, value: float) -> str:
    kind = c_type(dtype)
    if math.isnan(value):
        return f"(({kind})NAN)"
    if math.isinf(value):
        return f"(({kind}){'-' if value < 0 else ''}INFINITY)"
    return value.hex() + ("f" if dtype.bits == 32 else "")

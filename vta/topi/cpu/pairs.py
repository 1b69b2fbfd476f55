"""Functions of two tensors with numpy's broadcasting: ``topi.add``, ``topi.less``, ``topi.logical_and``, ...

Tests: tests/vta/topi/cpu/test_pairs.py.
"""

from collections.abc import Callable, Sequence

from vta import te
from vta.tir import ops
from vta.tir.expr import Expr, ExprLike, convert, match_types
from vta.topi.alu.broadcast import Operand, binary_stage, broadcast_element, broadcast_shape
from vta.topi.core.operator import OperatorError

__all__ = [
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "broadcast_to", "divide", "equal", "floor_divide", "floor_mod",
    "greater", "greater_equal", "left_shift", "less", "less_equal", "logical_and", "logical_or", "logical_xor",
    "maximum", "minimum", "mod", "multiply", "not_equal", "power", "right_shift", "subtract",
]  # fmt: skip


def _function(name: str, of: Callable[[Expr, Expr], Expr], says: str) -> Callable[[Operand, Operand], te.Tensor]:
    def apply(lhs: Operand, rhs: Operand) -> te.Tensor:
        if not isinstance(lhs, te.Tensor) and not isinstance(rhs, te.Tensor):
            return of(*match_types(lhs, rhs))  # type: ignore[return-value]  # of two numbers, a number
        return binary_stage(f"T_{name}", lhs, rhs, lambda a, b: of(*match_types(a, b)))

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"Return {says}, element by element; missing dimensions, and those of one element, are repeated."
    return apply


def _divide(a: Expr, b: Expr) -> Expr:
    return a / b if a.dtype.is_float else ops.truncdiv(a, b)


def _floor_divide(a: Expr, b: Expr) -> Expr:
    return ops.floor(a / b) if a.dtype.is_float else ops.floordiv(a, b)


def _floor_mod(a: Expr, b: Expr) -> Expr:
    return a - ops.floor(a / b) * b if a.dtype.is_float else ops.floormod(a, b)


def _logical_xor(a: Expr, b: Expr) -> Expr:
    return (a != b).asexpr()


add = _function("add", lambda a, b: a + b, "the sums")
subtract = _function("subtract", lambda a, b: a - b, "the differences")
multiply = _function("multiply", lambda a, b: a * b, "the products")
divide = _function("divide", _divide, "the quotients (of integers rounded towards zero)")
mod = _function("mod", ops.truncmod, "the remainders with the sign of the dividend")
floor_divide = _function("floor_divide", _floor_divide, "the quotients rounded down")
floor_mod = _function("floor_mod", _floor_mod, "the remainders with the sign of the divisor")
power = _function("power", ops.power, "the powers")
maximum = _function("maximum", ops.max, "the larger ones")
minimum = _function("minimum", ops.min, "the smaller ones")
left_shift = _function("left_shift", lambda a, b: a << b, "the bits moved up")
right_shift = _function("right_shift", lambda a, b: a >> b, "the bits moved down")
bitwise_and = _function("bitwise_and", lambda a, b: a & b, "the common bits")
bitwise_or = _function("bitwise_or", lambda a, b: a | b, "the bits of either")
bitwise_xor = _function("bitwise_xor", lambda a, b: a ^ b, "the bits of one of them")
logical_and = _function("logical_and", lambda a, b: ops.all(a, b), "whether both hold")
logical_or = _function("logical_or", lambda a, b: ops.any(a, b), "whether one holds")
logical_xor = _function("logical_xor", _logical_xor, "whether exactly one holds")
equal = _function("equal", lambda a, b: (a == b).asexpr(), "whether they are equal")
not_equal = _function("not_equal", lambda a, b: (a != b).asexpr(), "whether they differ")
less = _function("less", lambda a, b: a < b, "whether the first is smaller")
less_equal = _function("less_equal", lambda a, b: a <= b, "whether the first is not larger")
greater = _function("greater", lambda a, b: a > b, "whether the first is larger")
greater_equal = _function("greater_equal", lambda a, b: a >= b, "whether the first is not smaller")


def broadcast_to(data: te.Tensor, shape: Sequence[ExprLike]) -> te.Tensor:
    """Return ``data`` repeated to ``shape``."""
    wanted = [convert(extent) for extent in shape]
    common = broadcast_shape("broadcast_to", data.shape, wanted)
    if len(common) != len(wanted) or any(str(a) != str(b) for a, b in zip(common, wanted, strict=True)):
        have, want = (", ".join(map(str, s)) for s in (data.shape, wanted))
        raise OperatorError(f"broadcast_to: a tensor of shape ({have}) cannot be repeated to ({want})")
    return te.compute(wanted, lambda *i: broadcast_element(data, wanted, i), name="T_broadcast_to", tag="broadcast")

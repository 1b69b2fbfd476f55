"""What computing an expression may do or depend on."""

from vta.tir import ops
from vta.tir.buffer import decl_buffer
from vta.tir.effects import can_fail, has_effect, reads_memory
from vta.tir.expr import Builtin, Call, IntImm, StringImm, Var

X, Y = Var("x"), Var("y")
BUFFER = decl_buffer((4,), "int32", "buffer")
CALL = Call(X.dtype, Builtin.CALL_EXTERN, (StringImm("f"), X))


def test_calls_have_effects_arithmetic_has_none() -> None:
    assert has_effect(CALL)
    assert has_effect(BUFFER.load(CALL + 1))
    assert not has_effect(ops.exp(X.astype("float32")) + 1.0)
    assert not has_effect(BUFFER.load(X))


def test_elements_and_what_calls_return_depend_on_memory() -> None:
    assert reads_memory(ops.max(BUFFER.load(X), 3))
    assert reads_memory(CALL * 2)
    assert not reads_memory(ops.if_then_else(X > 3, X // 4, ops.sqrt(X.astype("float32")).astype("int32")))


def test_integers_are_divided_by_what_may_be_zero() -> None:
    assert can_fail(X + 5 // Y)
    assert can_fail(ops.floormod(X, Y))
    assert not can_fail(X // 4 + ops.floormod(X, IntImm(3)))
    assert not can_fail(X.astype("float32") / Y.astype("float32"))

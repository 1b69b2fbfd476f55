from collections.abc import Callable
from typing import Any

import pytest

from vta import te
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.expr import Expr, Var
from vta.tir.stmt import Evaluate


def add() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    x, y = te.placeholder((16,), "int32", "x"), te.placeholder((16,), "int32", "y")
    return x, y, te.compute((16,), lambda i: x[i] + y[i], "z")


def test_an_intrinsic_has_buffers_for_inputs_and_outputs() -> None:
    x, y, z = add()
    seen: list[list[Buffer]] = []

    def body(ins: list[Buffer], outs: list[Buffer]) -> Expr:
        seen.extend([ins, outs])
        return te.const(0)

    intrinsic = te.decl_tensor_intrin(z.op, body, name="add")
    assert (intrinsic.name, intrinsic.op, intrinsic.inputs) == ("add", z.op, (x, y))
    assert [[b.name for b in buffers] for buffers in seen] == [["x", "y"], ["z"]]
    assert intrinsic.input_buffers == tuple(seen[0])
    assert intrinsic.output_buffers == tuple(seen[1])


def test_an_expression_is_evaluated() -> None:
    *_, z = add()
    intrinsic = te.decl_tensor_intrin(z.op, lambda ins, _outs: ins[0].access_ptr("r"))
    assert isinstance(intrinsic.body, Evaluate)
    assert intrinsic.reduce_init is intrinsic.reduce_update is None


def test_three_statements_are_body_reset_and_update() -> None:
    *_, z = add()
    intrinsic = te.decl_tensor_intrin(z.op, lambda _ins, _outs: (None, te.const(1), te.const(2)))
    assert intrinsic.body is None
    assert [str(part.value) for part in (intrinsic.reduce_init, intrinsic.reduce_update)] == ["1", "2"]


def test_buffers_may_be_given_or_described() -> None:
    x, _, z = add()
    own = decl_buffer((16,), "int32", "own", scope="local.acc_buffer", offset_factor=16)
    intrinsic = te.decl_tensor_intrin(
        z.op, lambda _ins, _outs: te.const(0), binds={x: own}, default_buffer_params={"offset_factor": 4}
    )
    assert intrinsic.buffers[0] is own
    assert [b.offset_factor for b in intrinsic.buffers] == [16, 4, 4]
    assert all(isinstance(b.elem_offset, Var) for b in intrinsic.buffers)


def refused(text: str, call: Callable[..., Any]) -> None:
    with pytest.raises(te.TensorIntrinError) as error:
        call()
    assert str(error.value) == text


def test_misuse_is_refused_with_a_sentence() -> None:
    x, _, z = add()
    flat = decl_buffer((4, 4), "int8", "flat")
    refused(
        "tensor intrinsic 'f': expected the operation of a te.compute, got placeholder(x)",
        lambda: te.decl_tensor_intrin(x.op, lambda _ins, _outs: None, name="f"),
    )
    refused(
        "tensor intrinsic 'f': expected one statement, or body, reset and update, got 4 statements",
        lambda: te.decl_tensor_intrin(z.op, lambda _ins, _outs: [None] * 4, name="f"),
    )
    refused(
        "tensor intrinsic 'f': expected statements or expressions, got 'push'",
        lambda: te.decl_tensor_intrin(z.op, lambda _ins, _outs: [None, "push"], name="f"),
    )
    refused(
        "tensor intrinsic 'f': buffer 'flat' (2 dimensions of int8) does not fit tensor 'x' (1 dimensions of int32)",
        lambda: te.decl_tensor_intrin(z.op, lambda _ins, _outs: None, name="f", binds={x: flat}),
    )

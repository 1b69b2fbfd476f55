from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.compiler.te_run import lowered, run, statements
from vta import te
from vta.tir.buffer import Buffer
from vta.tir.dtype import DType
from vta.tir.expr import Builtin, Call, Expr, StringImm
from vta.tir.stmt import AttrKey, AttrStmt, BufferStore, Evaluate, For


def vector(width: int, combine: Callable[..., Any], *, inputs: int = 2, dtype: str = "int32") -> te.TensorIntrin:
    """An intrinsic that does ``combine`` on ``width`` elements."""
    like = [te.placeholder((width,), dtype, f"v{n}") for n in range(inputs)]
    out = te.compute((width,), lambda i: combine(*(t[i] for t in like)), "vo")

    def body(ins: list[Buffer], outs: list[Buffer]) -> Any:
        lane = te.var("lane")
        memory = {b.name: b for b in ins}  # in the order of their first use
        value = combine(*(memory[t.name].load(lane) for t in like))
        return For(lane, te.const(0), te.const(width), BufferStore(outs[0], value, (lane,)))

    return te.decl_tensor_intrin(out.op, body, name="vector")


def elementwise(combine: Callable[..., Any], size: int = 16) -> tuple[te.Schedule, list[te.Tensor]]:
    x, y = te.placeholder((size,), "int32", "x"), te.placeholder((size,), "int32", "y")
    z = te.compute((size,), lambda i: combine(x[i], y[i]), "z")
    return te.create_schedule(z.op), [x, y, z]


def tensorized(
    combine: Callable[..., Any], intrinsic: te.TensorIntrin, factor: int = 4
) -> tuple[te.Schedule, list[te.Tensor]]:
    s, args = elementwise(combine)
    _, inner = s[args[2]].split(args[2].op.axis[0], factor)
    s[args[2]].tensorize(inner, intrinsic)
    return s, args


def error(s: te.Schedule, args: list[te.Tensor]) -> str:
    with pytest.raises(te.TensorizeError) as caught:
        lowered(s, args)
    return str(caught.value)


X, Y = np.arange(16, dtype=np.int32), np.arange(16, dtype=np.int32) * 7 % 5


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda a, b: a + b, lambda a, b: a + b),
        (lambda a, b: a * 2 + b * 2, lambda a, b: a + b * 2 + a),
        (lambda a, b: te.max(a, 0) * b, lambda a, b: te.max(0, a) * b),
        (lambda a, b: te.if_then_else(a > b, a, b), lambda a, b: te.if_then_else(b < a, a, b)),
        (
            lambda a, b: te.if_then_else(te.all(a > 3, b < 9), a, b),
            lambda a, b: te.if_then_else(te.all(b < 9, a > 3), a, b),
        ),
    ],
)
def test_what_is_equal_after_simplification_matches(ours: Callable[..., Any], theirs: Callable[..., Any]) -> None:
    s, args = tensorized(ours, vector(4, theirs))
    plain, plain_args = elementwise(ours)
    expected = run(plain, plain_args, X, Y)
    assert (run(s, args, X, Y) == expected).all()


def test_another_computation_is_shown_beside_the_declared_one() -> None:
    assert error(*tensorized(lambda a, b: a - b, vector(4, lambda a, b: a + b))) == (
        "Tensorize failed: stage 'z', axis 'i.inner': it computes\n"
        "    (v0[i] - v1[i])\n"
        "but the intrinsic 'vector' computes\n"
        "    (v0[i] + v1[i])"
    )


def test_a_comparison_of_another_kind_does_not_match() -> None:
    ours, theirs = lambda a, b: te.if_then_else(a < b, a, b), lambda a, b: te.if_then_else(a <= b, a, b)
    assert "it computes" in error(*tensorized(ours, vector(4, theirs)))


def test_leading_axes_of_one_trip_are_tolerated() -> None:
    x = te.placeholder((3, 2, 4), "int32", "x")
    z = te.compute((3, 2, 4), lambda n, i, j: x[n, i, j] * 3, "z")
    s = te.create_schedule(z.op)
    s[z].tensorize(z.op.axis[2], vector(4, lambda a: a * 3, inputs=1))
    data = np.arange(24, dtype=np.int32).reshape(3, 2, 4)
    assert (run(s, [x, z], data) == data * 3).all()


def test_loops_inside_may_be_split_and_reordered_if_they_cover_the_tile() -> None:
    x = te.placeholder((8, 8), "int32", "x")
    z = te.compute((8, 8), lambda i, j: x[i, j] + 1, "z")
    like = te.placeholder((4, 8), "int32", "like")
    tile = te.compute((4, 8), lambda i, j: like[i, j] + 1, "tile")

    def body(ins: list[Buffer], outs: list[Buffer]) -> Any:
        i, j = te.var("a"), te.var("b")
        store = BufferStore(outs[0], ins[0].load(i, j) + 1, (i, j))
        return For(i, te.const(0), te.const(4), For(j, te.const(0), te.const(8), store))

    s = te.create_schedule(z.op)
    _, inner = s[z].split(z.op.axis[0], 4)
    j_outer, j_inner = s[z].split(z.op.axis[1], 2)
    s[z].reorder(j_outer, inner, j_inner)
    s[z].reorder(inner, j_outer)
    s[z].tensorize(inner, te.decl_tensor_intrin(tile.op, body))
    data = np.arange(64, dtype=np.int32).reshape(8, 8)
    assert (run(s, [x, z], data) == data + 1).all()


def test_a_region_may_be_smaller_than_the_intrinsics_input_where_the_tensor_goes_on() -> None:
    x = te.placeholder((9, 9), "int32", "x")
    y = te.compute((9, 9), lambda i, j: x[i // 3, j // 3], "y")
    like = te.placeholder((9, 9), "int32", "like")
    same = te.compute((9, 9), lambda i, j: like[i // 3, j // 3], "same")

    def body(ins: list[Buffer], outs: list[Buffer]) -> Any:
        i, j = te.var("a"), te.var("b")
        store = BufferStore(outs[0], ins[0].load(i // 3, j // 3), (i, j))
        return For(i, te.const(0), te.const(9), For(j, te.const(0), te.const(9), store))

    s = te.create_schedule(y.op)
    s[y].tensorize(y.op.axis[0], te.decl_tensor_intrin(same.op, body))
    data = np.arange(81, dtype=np.int32).reshape(9, 9)
    assert (run(s, [x, y], data) == data[np.arange(9) // 3][:, np.arange(9) // 3]).all()


def test_an_input_of_another_size_is_refused() -> None:
    x = te.placeholder((12,), "int32", "x")
    z = te.compute((4,), lambda i: x[i * 3], "z")
    s = te.create_schedule(z.op)
    s[z].tensorize(z.op.axis[0], vector(4, lambda a: a, inputs=1))
    assert error(s, [x, z]) == (
        "Tensorize failed: stage 'z', axis 'i': the loops inside read a region of size (10) of tensor 'x', but input "
        "'v0' of the intrinsic has the shape (4)"
    )


def test_another_number_of_inputs_is_refused() -> None:
    x = te.placeholder((4,), "int32", "x")
    z = te.compute((4,), lambda i: x[i] + 1, "z")
    s = te.create_schedule(z.op)
    s[z].tensorize(z.op.axis[0], vector(4, lambda a, b: a + b))
    assert error(s, [x, z]) == "Tensorize failed: stage 'z', axis 'i': expected 2 input tensors, got 1: x"


def test_another_number_of_outputs_is_refused() -> None:
    x = te.placeholder((4,), "int32", "x")
    first, second = te.compute((4,), lambda i: (x[i], x[i] + 1), "pair")
    s = te.create_schedule(first.op)
    s[first].tensorize(first.op.axis[0], vector(4, lambda a: a, inputs=1))
    assert error(s, [x, first, second]) == (
        "Tensorize failed: stage 'pair', axis 'i': expected outputs of type int32, got int32, int32"
    )


def test_an_input_of_another_type_is_refused() -> None:
    s, args = tensorized(
        lambda a, b: a + b, vector(4, lambda a, b: a.astype("int32") + b.astype("int32"), dtype="int8")
    )
    assert error(s, args) == (
        "Tensorize failed: stage 'z', axis 'i.inner': input 'v0' of the intrinsic is int8, but 'x' is int32"
    )


def test_operands_in_the_other_order_match() -> None:
    x, w = te.placeholder((4, 8), "int32", "x"), te.placeholder((8,), "int32", "w")
    k = te.reduce_axis((0, 8), "k")
    z = te.compute((4,), lambda i: te.sum(w[k] * x[i, k], axis=k), "z")
    lx, lw, lk = (
        te.placeholder((4, 8), "int32", "lx"),
        te.placeholder((8,), "int32", "lw"),
        te.reduce_axis((0, 8), "lk"),
    )
    like = te.compute((4,), lambda i: te.sum(lx[i, lk] * lw[lk], axis=lk), "like")
    s = te.create_schedule(z.op)
    s[z].tensorize(z.op.axis[0], te.decl_tensor_intrin(like.op, lambda ins, _outs: ins[0].access_ptr("r")))
    bound = [a for a in statements(lowered(s, [x, w, z]), AttrStmt) if a.key == AttrKey.BUFFER_BIND_SCOPE]
    assert [(a.node[0].name, a.node[1].name) for a in bound] == [("lx", "x"), ("lw", "w"), ("like", "z")]


def test_a_reduction_matches_reductions_alone() -> None:
    x, k = te.placeholder((4, 8), "int32", "x"), te.reduce_axis((0, 8), "k")
    z = te.compute((4,), lambda i: te.sum(x[i, k], axis=k), "z")
    s = te.create_schedule(z.op)
    s[z].tensorize(z.op.axis[0], vector(4, lambda a: a, inputs=1))
    assert error(s, [x, z]) == (
        "Tensorize failed: stage 'z', axis 'i': the stage is a reduction, but the intrinsic 'vector' no reduction"
    )


def row_of(reducer: Callable[..., Any], where: Callable[..., Any] | None = None) -> te.TensorIntrin:
    like, k = te.placeholder((8,), "int32", "row"), te.reduce_axis((0, 8), "k")
    out = te.compute((1,), lambda _i: reducer(like[k], axis=k, where=where(k) if where else None), "one")
    return te.decl_tensor_intrin(out.op, lambda ins, _outs: ins[0].access_ptr("r"), name="row")


@pytest.mark.parametrize(
    "intrinsic", [lambda: row_of(te.max), lambda: row_of(te.sum, lambda k: k < 5)], ids=["combiner", "condition"]
)
def test_a_reduction_of_another_kind_does_not_match(intrinsic: Callable[..., Any]) -> None:
    x, k = te.placeholder((4, 8), "int32", "x"), te.reduce_axis((0, 8), "k")
    z = te.compute((4, 1), lambda i, _j: te.sum(x[i, k], axis=k), "z")
    s = te.create_schedule(z.op)
    s[z].tensorize(z.op.axis[1], intrinsic())
    assert "but the intrinsic 'row' computes" in error(s, [x, z])


def test_the_same_reduction_matches_whatever_its_variables_are_called() -> None:
    x, k = te.placeholder((4, 8), "int32", "x"), te.reduce_axis((0, 8), "kk")
    total = te.comm_reducer(lambda p, q: p + q, lambda t: te.const(0, t), name="total")
    z = te.compute((4, 1), lambda i, _j: total(x[i, k], axis=k), "z")
    s = te.create_schedule(z.op)
    s[z].tensorize(z.op.axis[1], row_of(te.sum))
    lowered(s, [x, z])


def test_loops_that_do_not_cover_a_box_are_refused() -> None:
    x = te.placeholder((3, 4), "int32", "x")
    z = te.compute((3, 4), lambda i, j: x[i, j], "z")
    s = te.create_schedule(z.op)
    _, inner = s[z].split(s[z].fuse(*z.op.axis), 8)
    like = te.placeholder((2, 4), "int32", "like")
    tile = te.compute((2, 4), lambda i, j: like[i, j], "tile")
    s[z].tensorize(inner, te.decl_tensor_intrin(tile.op, lambda ins, _outs: ins[0].access_ptr("r")))
    assert "depends on axis i.j.fused.inner" in error(s, [x, z])


def test_a_tile_with_a_hole_is_refused() -> None:
    x = te.placeholder((8,), "int32", "x")
    z = te.compute((8,), lambda i: x[i], "z")
    s = te.create_schedule(z.op)
    outer, inner = s[z].split(z.op.axis[0], 4)
    s[z].reorder(inner, outer)
    s[z].tensorize(outer, vector(5, lambda a: a, inputs=1))
    assert error(s, [x, z]) == (
        "Tensorize failed: stage 'z', axis 'i.outer': the loops inside do 2 steps, but touch 5 elements; expected "
        "loops that cover a box of constant size exactly"
    )


def test_fewer_axes_than_the_intrinsic_are_refused() -> None:
    x = te.placeholder((8,), "int32", "x")
    z = te.compute((8,), lambda i: x[i], "z")
    like = te.placeholder((2, 4), "int32", "like")
    tile = te.compute((2, 4), lambda i, j: like[i, j], "tile")
    s = te.create_schedule(z.op)
    s[z].tensorize(z.op.axis[0], te.decl_tensor_intrin(tile.op, lambda ins, _outs: ins[0].access_ptr("r"), name="t"))
    assert error(s, [x, z]) == (
        "Tensorize failed: stage 'z', axis 'i': the loops inside cover i: 8, but the intrinsic 't' computes i: 2, "
        "j: 4; the stage has 1 output and 0 reduction axes; got the loops: i"
    )


@pytest.mark.parametrize(("own", "ours"), [("f", True), ("g", False)])
def test_a_call_of_another_function_is_not_the_intrinsic(own: str, ours: bool) -> None:
    def calling(symbol: str, x: te.Tensor, *place: object) -> Expr:
        return Call(DType("int32"), Builtin.CALL_EXTERN, (StringImm(symbol), x(*place)))

    like = te.placeholder((4,), "int32", "like")
    declared = te.compute((4,), lambda i: calling("f", like, i), "declared")
    body = Evaluate(te.const(0))
    intrinsic = te.decl_tensor_intrin(declared.op, lambda _ins, _outs: body, name="calls_f")
    x = te.placeholder((3, 4), "int32", "x")
    y = te.compute((3, 4), lambda n, i: calling(own, x, n, i), "y")
    s = te.create_schedule(y.op)
    s[y].tensorize(y.op.axis[1], intrinsic)
    if ours:
        te.schedule_to_func(s, [x, y], "f")
        return
    with pytest.raises(te.TensorizeError, match="it computes"):
        te.schedule_to_func(s, [x, y], "f")

"""Tensor intrinsics as the body of a computation: the same numbers as the computation, by the intrinsic."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.packed_func import register_func
from tests.support.compiler.te_run import lowered, run
from vta import te
from vta.build_module import build_generic
from vta.nd import array
from vta.te.tensorize.intrin import TensorIntrin
from vta.tir.buffer import Buffer
from vta.tir.calls import call_packed
from vta.tir.expr import Builtin, Call, Expr
from vta.tir.ir_builder import create
from vta.tir.stmt import AttrKey, AttrStmt, Stmt
from vta.tir.traverse import walk

RNG = np.random.default_rng(4)


def loop(size: int, body: Callable[[Any], tuple[Buffer, Any, Any]]) -> Stmt:
    """Return a loop that stores, so that the reference interpreter can run the intrinsic."""
    ib = create()
    with ib.for_range(0, size, "q") as q:
        buffer, place, value = body(q)
        ib.emit(buffer.vstore(place, value))
    return ib.get()


def add(size: int = 8) -> TensorIntrin:
    x, y = (te.placeholder((size,), "int32", name) for name in "xy")
    z = te.compute((size,), lambda i: x[i] + y[i], "z")
    return te.decl_tensor_intrin(
        z.op,
        lambda ins, outs: loop(size, lambda q: (outs[0], q, ins[0].load(q) + ins[1].load(q))),
        "add",
        default_buffer_params={"offset_factor": 1},
    )


def total(size: int = 8) -> TensorIntrin:
    x = te.placeholder((size,), "int32", "x")
    k = te.reduce_axis((0, size), "k")
    z = te.compute((1,), lambda _: te.sum(x[k], axis=k), "z")

    def body(ins: list[Buffer], outs: list[Buffer]) -> list[Stmt]:
        more = loop(size, lambda q: (outs[0], 0, outs[0].load(0) + ins[0].load(q)))
        reset = outs[0].vstore(0, 0)
        whole = create()
        whole.emit(reset)
        whole.emit(more)
        return [whole.get(), reset, more]

    return te.decl_tensor_intrin(z.op, body, "total", default_buffer_params={"offset_factor": 1})


def binds(s: te.Schedule, args: list[te.Tensor]) -> int:
    body = lowered(s, args).body
    return sum(isinstance(n, AttrStmt) and n.key == AttrKey.BUFFER_BIND_SCOPE for n in walk(body))


def test_rows_are_what_the_intrinsic_makes_of_parts() -> None:
    a, b = te.placeholder((4, 3, 8), "int32", "a"), te.placeholder((3, 16), "int32", "b")
    vadd = add()
    c = te.compute((4, 3, 8), lambda i, j: vadd(a[i, j, 0:8], b[j, 4:12]), "c")
    s = te.create_schedule(c.op)
    s[c].split(c.op.axis[0], 2)
    numbers = RNG.integers(-9, 9, (4, 3, 8)).astype(np.int32), RNG.integers(-9, 9, (3, 16)).astype(np.int32)
    np.testing.assert_array_equal(run(s, [a, b, c], *numbers), numbers[0] + numbers[1][None, :, 4:12])
    assert binds(s, [a, b, c]) == 3


def test_a_reduction_goes_on_over_an_axis_of_the_caller() -> None:
    a = te.placeholder((5, 32), "int32", "a")
    intrinsic, k = total(), te.reduce_axis((0, 4), "k")
    c = te.compute((5,), lambda i: intrinsic(a[i, k * 8 : k * 8 + 8], reduce_axis=k), "c")
    s = te.create_schedule(c.op)
    numbers = RNG.integers(-9, 9, (5, 32)).astype(np.int32)
    np.testing.assert_array_equal(run(s, [a, c], numbers), numbers.sum(1))
    assert binds(s, [a, c]) > 0


def test_numbers_of_a_call_depend_on_the_axes_outside() -> None:
    x, v, w = te.placeholder((8,), "int32", "x"), te.var("v"), te.var("w")
    z = te.compute((8,), lambda i: x[i] * v + w, "z")
    scale = te.decl_tensor_intrin(
        z.op,
        lambda ins, outs, numbers: loop(8, lambda q: (outs[0], q, ins[0].load(q) * numbers[0] + numbers[1])),
        "scale",
        scalar_params=[v, w],
    )
    a = te.placeholder((5, 8), "int32", "a")
    c = te.compute((5, 8), lambda i: scale(a[i, 0:8], i * i, i + 7), "c")
    numbers = RNG.integers(-9, 9, (5, 8)).astype(np.int32)
    i = np.arange(5)[:, None]
    np.testing.assert_array_equal(run(te.create_schedule(c.op), [a, c], numbers), numbers * i * i + i + 7)


def test_a_function_of_python_gets_the_parts() -> None:
    size = 4
    x = te.placeholder((size,), "float32", "x")
    z = te.compute((size,), lambda i: x[i] * 2.0, "z")

    def twice(source: Any, target: Any) -> None:
        target.copyfrom(source.numpy() * 2)

    register_func("tests.intrinsic_calls.twice", twice, override=True)
    double = te.decl_tensor_intrin(z.op, lambda ins, outs: call_packed("tests.intrinsic_calls.twice", ins[0], outs[0]))
    a = te.placeholder((3, size), "float32", "a")
    c = te.compute((3, size), lambda i: double(a[i, 0:size]), "c")
    numbers = RNG.random((3, size), np.float32)
    out = array(np.zeros((3, size), np.float32))
    build_generic(te.create_schedule(c.op), [a, c])(array(numbers), out)
    np.testing.assert_array_equal(out.numpy(), numbers * 2)


def test_fewer_indices_give_the_same_along_what_is_left() -> None:
    a = te.placeholder((5,), "int32", "a")
    c = te.compute((5, 3), lambda i: a[i] + 1, "c")
    numbers = np.arange(5, dtype=np.int32)
    np.testing.assert_array_equal(run(te.create_schedule(c.op), [a, c], numbers), np.repeat(numbers[:, None] + 1, 3, 1))


def refusals() -> list[tuple[Callable[[], object], str]]:
    a = te.placeholder((4, 8), "int32", "a")
    vadd, k = add(), te.reduce_axis((0, 2), "k")

    def made(body: Callable[[Expr], Any], shape: tuple[int, ...] = (4, 8)) -> Callable[[], object]:
        return lambda: te.compute(shape, body, "c")

    where = "compute 'c': intrinsic 'add'"
    return [
        (made(lambda i: vadd(a[i, 0:8])), f"{where}: expected 2 tensors, got 1"),
        (made(lambda i: vadd(a[i, 0:8], a[i, 0:8], i)), f"{where}: expected 0 numbers, got 1"),
        (
            made(lambda i: vadd(a[i, 0:8], a[i, 0:4])),
            f"{where}: tensor 'a': a part of 4 elements stands for 8 of 'y'",
        ),
        (made(lambda i: vadd(a[i, 0:8], a[i, 1])), f"{where}: tensor 'a': expected 1 slices, got 0"),
        (made(lambda i: vadd(a[0:1, 0:8], a[i, 0:8])), f"{where}: tensor 'a': expected 1 slices, got 2"),
        (made(lambda i: vadd(a[i], a[i, 0:8])), f"{where}: tensor 'a' has 2 dimensions, and 1 are given"),
        (
            made(lambda i: vadd(a[i, 0:8:2], a[i, 0:8])),
            f"{where}: tensor 'a': a part is begin:end, not slice(0, 8, 2)",
        ),
        (made(lambda i: vadd(a[i, 0:8], a[i, 0:8]), (4, 9)), f"{where} has 8 elements in dimension 0, the result 9"),
        (
            made(lambda i: vadd(a[i, 0:8], a[i, 0:8]), (4, 1, 8)),
            f"{where} has 1 dimensions, but 2 of the result are left for it",
        ),
        (
            made(lambda i: vadd(a[i, 0:8], a[i, 0:8], reduce_axis=k)),
            f"{where} is no reduction, and cannot be reduced over 'k'",
        ),
    ]


def test_calls_that_do_not_fit_are_refused() -> None:
    for call, text in refusals():
        with pytest.raises(te.ComputeError) as error:
            call()
        assert str(error.value) == text


def test_an_intrinsic_for_one_element() -> None:
    x = te.placeholder((1,), "int32", "x")
    z = te.compute((1,), lambda i: x[i] * 3, "z")
    triple = te.decl_tensor_intrin(
        z.op, lambda ins, _outs: Call("int32", Builtin.CALL_EXTERN, ("three", ins[0].access_ptr("r")))
    )
    a = te.placeholder((4, 8), "int32", "a")
    c = te.compute((4, 8), lambda i, j: triple(a[i, j]), "c")
    assert binds(te.create_schedule(c.op), [a, c]) == 2

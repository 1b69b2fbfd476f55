"""Sizes of 64 bits, and dimensions of one element that are walked over."""

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic, lower_generic
from vta.tir.buffer import decl_buffer
from vta.tir.expr import ExprError
from vta.tir.interpreter.run import run_func


def test_a_size_may_have_64_bits() -> None:
    n = te.var("n", "int64")
    a = te.placeholder((n, 3), "int32", "A")
    b = te.compute((n, 3), lambda i, j: a[i, j] * 2, "B")
    s = te.create_schedule(b.op)
    values = np.arange(12, dtype=np.int32).reshape(4, 3)
    out = vta.nd.empty((4, 3), "int32")
    build_generic(s, [a, b])(vta.nd.array(values), out)
    np.testing.assert_array_equal(out.numpy(), values * 2)
    interpreted = np.zeros((4, 3), np.int32)
    run_func(te.schedule_to_func(s, [a, b], "f"), [values, interpreted])
    np.testing.assert_array_equal(interpreted, values * 2)


@pytest.mark.parametrize("shapes", [((2, 1, 3), (2, 4, 3)), ((1, 1, 1), (2, 4, 3)), ((2, 4, 3), (2, 4, 1))])
def test_one_element_stands_for_all(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    tensors = [te.placeholder([te.var(f"{name}{i}") for i in range(3)], "float32", name) for name in "AB"]
    a, b = tensors
    c = te.compute([te.var(f"c{i}") for i in range(3)], lambda i, j, k: a[i, j, k] + b[i, j, k], "C")
    binds = {t: decl_buffer(t.shape, t.dtype, f"{t.name}b", buffer_type="auto_broadcast") for t in tensors}
    func = build_generic(lower_generic(te.create_schedule(c.op), [a, b, c], binds=binds))
    values = [np.random.default_rng(1).random(shape, np.float32) for shape in shapes]
    out = vta.nd.empty((2, 4, 3), "float32")
    func(*map(vta.nd.array, values), out)
    np.testing.assert_array_equal(out.numpy(), values[0] + values[1])


def test_other_kinds_of_buffers_are_refused() -> None:
    with pytest.raises(ExprError) as error:
        decl_buffer((4,), buffer_type="none")
    assert str(error.value) == "decl_buffer: expected the buffer_type 'auto_broadcast' or '', got 'none'"

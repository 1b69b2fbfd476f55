"""Hybrid scripts: compiled and in Python they compute the same."""

# ruff: noqa: F821, PT018, SIM201  # hybrid script
# mypy: disable-error-code="name-defined, func-returns-value"

from typing import Any

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic
from vta.te.hybrid import script
from vta.te.hybrid.errors import HybridError
from vta.te.stage import ScheduleError
from vta.tir import For, ProducerRealize, ProducerStore, StringImm
from vta.tir.expr import IntImm, Var, const


def compiled(op: te.Operation, arguments: list[Any], values: list[Any]) -> list[np.ndarray[Any, Any]]:
    """Return the outputs of ``op`` that compiled code computes."""
    outs = [vta.nd.array(np.full([int(s) for s in t.shape], 77).astype(str(t.dtype))) for t in op.outputs]
    func = build_generic(te.create_schedule(op), [*arguments, *op.outputs])
    func(*(vta.nd.array(v.copy()) if isinstance(v, np.ndarray) else v for v in values), *outs)
    return [out.numpy() for out in outs]


def agree(function: Any, *tensors: te.Tensor, rtol: float = 1e-5) -> None:
    """Compare compiled code with Python on random numbers."""
    rng = np.random.default_rng(7)
    values = [rng.integers(-9, 9, [int(s) for s in t.shape]).astype(str(t.dtype)) for t in tensors]
    made = function(*tensors)
    outs = made if isinstance(made, list) else [made]
    wanted = function(*(value.copy() for value in values))
    found = compiled(outs[0].op, list(tensors), values)
    for want, have in zip(wanted if isinstance(wanted, tuple) else (wanted,), found, strict=True):
        np.testing.assert_allclose(have, want, rtol=rtol)


@script
def outer(n: Any, m: Any, a: Any, b: Any) -> Any:
    """A product of all pairs."""
    c = output_tensor((n, m), a.dtype)
    for i in range(n):
        for j in range(m):
            assert i < n and j < m, "outside"
            c[i, j] = a[i] * b[j]
    return c


def test_sizes_are_parameters_and_the_body_is_a_statement_on_tensors() -> None:
    n, m = te.size_var("n"), te.size_var("m")
    a, b = te.placeholder((n,), name="a"), te.placeholder((m,), name="b")
    c = outer(n, m, a, b)
    op = c.op
    loop = op.body
    assert isinstance(loop, For) and loop.extent is n and loop.body.extent is m
    check, store = loop.body.body.stmts
    assert isinstance(check.message, StringImm) and check.message.value == "outside"
    assert isinstance(store, ProducerStore) and store.producer.name == "c"
    assert (str(op), op.num_outputs, op.inputs, op.reduce_axis, op.output(0)) == ("hybrid(outer)", 1, (a, b), (), c)
    assert [axis.name for axis in op.axis] == ["i", "j"]
    x, y = np.arange(3, dtype=np.float32), np.arange(4, dtype=np.float32) + 1
    out = vta.nd.array(np.zeros((3, 4), np.float32))
    build_generic(te.create_schedule(c.op), [n, m, a, b, c])(3, 4, vta.nd.array(x), vta.nd.array(y), out)
    np.testing.assert_array_equal(out.numpy(), outer(3, 4, x, y))
    np.testing.assert_array_equal(out.numpy(), np.outer(x, y))
    assert (outer.__name__, outer.__doc__) == ("outer", "A product of all pairs.")
    assert "output_tensor" not in outer.__globals__


def test_variables_exist_in_the_loop_that_assigns_them() -> None:
    @script
    def means(a: Any) -> Any:
        three = 3.0
        b = output_tensor((a.shape[0] - 3,), a.dtype)
        for i in range(a.shape[0] - 3):
            total = 0.0
            for j in range(3):
                total += a[i + j]
            total = total / three
            b[i] = total
        return b

    a = te.placeholder((10,), "float32", "a")
    realize = means(a).op.body.body
    assert isinstance(realize, ProducerRealize) and realize.producer.name == "total"
    agree(means, a)


def test_a_variable_that_a_condition_assigns_keeps_its_value() -> None:
    @script
    def latest(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        last = -1
        for i in range(8):
            if a[i] > 0:
                last = a[i]
                squared = last * last
            if last > 0:
                b[i] = squared + last
        return b

    agree(latest, te.placeholder((8,), "int32", "a"))


def test_what_is_not_stored_is_zero() -> None:
    @script
    def some(a: Any) -> Any:
        b = output_tensor((6,), "int32")
        c = output_tensor((6,), "int32")
        for i in range(2, 5):
            t = allocate((3,), "int32")
            t[1] += a[i]
            b[i] += t[0] + t[1]
            c[i] = b[i - 1]
        return c, b

    agree(some, te.placeholder((6,), "int32", "a"))


def test_every_kind_of_statement_and_word() -> None:
    weights = [[1, 2], [3, 4]]
    shift = np.int32(2)

    @script
    def rest(a: Any) -> Any:
        b = output_tensor((16,), "int32")
        c = output_tensor((4, 4), "float32")
        for i in parallel(16):
            b[i] = (a[i] // 3 + a[i] % 5) << 1 if not i % 2 == 0 else ceil_div(a[i], 2)
        for i in vectorize(16):
            b[i] = b[i] + shift * 2
        for i in unroll(1, 3):
            for j in const_range(2):
                b[i * 2 + j] = max(a[i], weights[j][1 - j], 3) - min(a[j], -2) + len(weights) - abs(a[i]) + ~a[j]
        for i in serial(4):
            for j in range(i, 4):
                c[i, j] = sqrt(float32(a[i] * a[i])) + exp(-1.0) * 2.0**2 + round(float32(a[j]) / 4)
        return b, c

    agree(rest, te.placeholder((16,), "int32", "a"))


def test_other_scripts_are_part_of_one_and_inputs_can_be_changed() -> None:
    @script
    def both(a: Any, b: Any) -> Any:
        for i in range(len(a)):
            a[i] = i + 1.0
        for i in range(len(a)):
            b[i] = i + 2.0
        c = outer(10, 10, a, b)
        d = output_tensor(c.shape, c.dtype)
        for i in range(10):
            for j in range(10):
                d[i, j] = c[i, j] + i * j
        return d

    a, b = te.placeholder((10,), name="a"), te.placeholder((10,), name="b")
    agree(both, a, b)
    d = both(a, b)
    other = te.compute((10,), lambda i: a[i] + 1, "other")
    with pytest.raises(ScheduleError) as error:
        te.schedule_to_func(te.create_schedule([d.op, other.op]), [a, b, d, other], "f")
    assert str(error.value) == (
        "stage 'both': it changes its input 'a', which stage 'other' reads, too; store to a tensor of its own instead"
    )


def test_scripts_stand_between_computations() -> None:
    @script
    def scaled(a: Any, factor: Any) -> Any:
        b = output_tensor((20,), "float32")
        for i in range(20):
            b[i] = a[i] * i + factor
        return b

    a = te.placeholder((20,), "float32", "a")
    twice = te.compute((20,), lambda i: a[i] * 2, "twice")
    middle = scaled(twice, const(5))
    result = te.compute((20,), lambda i: middle[i] + twice[i], "result")
    x = np.arange(20, dtype=np.float32)
    (found,) = compiled(result.op, [a], [x])
    np.testing.assert_array_equal(found, 2 * x * x + 5 + 2 * x)


def test_lists_of_tensors_and_captured_tensors() -> None:
    more = te.placeholder((10,), "float32", "more")

    @script
    def total(inputs: Any) -> Any:
        out = output_tensor((10,), inputs[0].dtype)
        n = len(inputs)
        for i in range(10):
            for j in const_range(n):
                out[i] += inputs[j][i]
            out[i] += more[i]
        return out

    inputs = [te.placeholder((10,), "float32", f"t{i}") for i in range(3)]
    op = total(inputs).op
    assert op.inputs == (*inputs, more)
    values = [np.full(10, i + 1, np.float32) for i in range(4)]
    assert compiled(op, [*inputs, more], values)[0].tolist() == [10] * 10


def test_a_function_without_a_text_is_refused() -> None:
    names: dict[str, Any] = {}
    exec("def f(a):\n    return a", names)
    with pytest.raises(HybridError) as error:
        script(names["f"])(Var("x"))
    assert str(error.value) == "f: a hybrid script must be in a file, for its text is read"
    with pytest.raises(HybridError, match=r"^<lambda>: expected a function, got "):
        script(lambda a: a)(IntImm(1))

"""Rows that follow from rows before."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic
from vta.te.lowering.lower import LowerError
from vta.te.scans.scan import ScanError
from vta.te.scans.scan_op import ScanOp
from vta.te.stage import ScheduleError
from vta.te.tensor import TensorError


def refused(kind: type[Exception], text: str, call: Callable[..., Any]) -> None:
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == text


def running_sum(m: Any, n: Any) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    x, state = te.placeholder((m, n), name="X"), te.placeholder((m, n), name="S")
    first = te.compute((1, n), lambda _, i: x[0, i], "first")
    step = te.compute((m, n), lambda t, i: state[t - 1, i] + x[t, i], "step")
    total = te.scan(first, step, state, inputs=x)
    assert isinstance(total, te.Tensor)
    return x, step, total


@pytest.mark.parametrize("symbolic", [True, False])
@pytest.mark.parametrize("split", [True, False])
def test_a_running_sum(symbolic: bool, split: bool) -> None:
    x, step, total = running_sum(*((te.size_var("m"), te.size_var("n")) if symbolic else (7, 5)))
    s = te.create_schedule(total.op)
    if split:
        s[step].split(step.op.axis[1], factor=2)
        s.cache_read(x, "global", [step])
    out = vta.nd.empty((7, 5))
    values = np.random.default_rng(1).random((7, 5), np.float32)
    build_generic(s, [x, total])(vta.nd.array(values), out)
    np.testing.assert_allclose(out.numpy(), values.cumsum(0), rtol=1e-5)
    assert isinstance(total.op, ScanOp)
    assert (total.op.num_outputs, str(total.op), len(total.op.input_tensors)) == (1, "scan(scan)", 2)
    assert total.op.output(0) is total


@pytest.mark.parametrize("inlined", [True, False])
def test_states_depend_on_one_another_through_stages_between(inlined: bool) -> None:
    m, n = 9, 3
    a, b = te.placeholder((m, n), name="a"), te.placeholder((m, n), name="b")
    first = [te.compute((2, n), lambda t, i: (t + i).astype("float32")) for _ in range(2)]
    half = te.compute((m, n), lambda t, i: a[t - 2, i] * 0.5, "half")
    steps = [te.compute((m, n), lambda t, i: half[t, i] + b[t - 1, i]), te.compute((m, n), lambda t, i: a[t - 1, i])]
    results = te.scan(first, steps, [a, b])
    assert isinstance(results, list)
    both = te.compute((m, n), lambda i, j: results[0][i, j] * 3.0 + results[1][i, j])
    s = te.create_schedule(both.op)
    if inlined:
        s[half].compute_inline()
    out = vta.nd.empty((m, n))
    build_generic(s, [both])(out)
    p, q = (np.zeros((m, n), np.float32) for _ in range(2))
    p[:2] = q[:2] = np.add.outer(np.arange(2), np.arange(n))
    for t in range(2, m):
        p[t], q[t] = p[t - 2] * 0.5 + q[t - 1], p[t - 1]
    np.testing.assert_allclose(out.numpy(), p * 3 + q, rtol=1e-5)


def test_tensors_that_make_no_scan_are_refused() -> None:
    x, state = te.placeholder((4, 3), name="X"), te.placeholder((4, 3), name="S")
    first = te.compute((1, 3), lambda _, i: x[0, i], "first")
    step = te.compute((4, 3), lambda t, i: state[t - 1, i], "step")
    wide = te.compute((4, 4), lambda t, i: x[t, 0], "wide")  # noqa: ARG005
    other = te.compute((1, 3), lambda _, i: i, "other")
    scalar = te.compute((), lambda: 1.0, "scalar")
    cases: list[tuple[tuple[Any, ...], str]] = [
        (([first], [step], [state, x]), "scan 'scan': expected as many inits as updates and states, got 1, 1 and 2"),
        (([], [], []), "scan 'scan': a state has at least one dimension, the one that the rows follow along"),
        ((scalar, scalar, x), "scan 'scan': a state has at least one dimension, the one that the rows follow along"),
        ((first, step, step), "scan 'scan': the state 'step' must be a te.placeholder, which the scan fills"),
        ((x, step, state), "scan 'scan': the init 'X' must be a te.compute"),
        ((other, step, state), "scan 'scan': the init 'other' is int32, its state float32"),
        (
            (first, wide, state),
            "scan 'scan': the update 'wide' must have the shape of its state, and the init 'first', but for the number "
            "of rows, which is the same for all",
        ),
        (
            ([first, first], [step, step], [state, state]),
            "scan 'scan': every init and every update is an operation of its own, with one output",
        ),
        ((3, step, state), "scan: expected tensors, got 3"),
    ]
    for given, text in cases:
        refused(ScanError, text, lambda given=given: te.scan(*given))


def test_a_scan_keeps_its_loop_and_its_memory() -> None:
    x, step, total = running_sum(4, 3)
    s = te.create_schedule(total.op)
    refused(
        ScheduleError,
        "stage 'scan': split: the loops of a scan are its own; they stay",
        lambda: s[total].split(total.op.axis[0], 2),
    )
    refused(
        LowerError,
        "argument 'step': it is a part of scan 'scan'; give that",
        lambda: te.schedule_to_func(s, [x, step, total], "f"),
    )


def test_rows_before_the_first_one_are_a_states_alone() -> None:
    x = te.placeholder((4,), name="X")
    y = te.compute((4,), lambda i: x[i - 1], "y")
    refused(
        TensorError,
        "compute 'y': index (i - 1) in dimension 0 of tensor 'X': expected 0 to 3, got -1 to 2; "
        "te.if_then_else(condition, X[...], 0) pads",
        lambda: te.create_schedule(y.op),
    )

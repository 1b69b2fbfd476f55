"""Schedules of rows: softmax, layer norm and their like against numpy, at corners, on any number of threads."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from runtime.native.thread_pool import num_threads, set_threads
from vta import te
from vta.build_module import build_generic, lower_generic
from vta.target import Target
from vta.tir.stmt import For, ForKind
from vta.tir.traverse import walk
from vta.topi.cpu import nn, norms, reductions
from vta.topi.cpu.row_schedules import schedule_rows, schedule_softmax
from vta.topi.testing import l2_normalize_python, layer_norm_python, log_softmax_python, softmax_python

Array = npt.NDArray[Any]

SHAPES = [
    ((5, 33), 1), ((3, 1000), 1), ((2, 3, 16), -1), ((2, 21, 5, 7), 1), ((3, 40, 18), 1), ((4, 9), 0), ((7, 1), 1),
    ((17,), 0),
]  # fmt: skip


def run(args: list[te.Tensor], *given: Array, schedule: Any = schedule_rows) -> Array:
    """Return the last of ``args``, scheduled and compiled, for arrays."""
    out = args[-1]
    result = np.full([int(str(e)) for e in out.shape], np.nan, str(out.dtype))
    build_generic(schedule(out), args, "llvm")(*given, result)
    return result


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_softmax_and_its_logarithm(shape: tuple[int, ...], axis: int) -> None:
    data = (np.random.default_rng(1).standard_normal(shape) * 5).astype(np.float32)
    x = te.placeholder(shape, "float32", "x")
    found = run([x, nn.softmax(x, axis)], data, schedule=schedule_softmax)
    np.testing.assert_allclose(found, softmax_python(data, axis), rtol=1e-5, atol=1e-8)
    found = run([x, nn.log_softmax(x, axis)], data)
    np.testing.assert_allclose(found, log_softmax_python(data, axis), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "axes"), [((6, 50), [1]), ((2, 3, 768), [2]), ((4, 6, 20), [1, 2]), ((3, 5, 4), [1]), ((3, 2), [1])]
)
def test_layer_norm(shape: tuple[int, ...], axes: list[int]) -> None:
    rng, own = np.random.default_rng(2), [shape[a] for a in axes]
    data, gamma, beta = (rng.standard_normal(s).astype(np.float32) for s in (shape, own, own))
    x, g, b = (te.placeholder(s, "float32", n) for s, n in ((shape, "x"), (own, "g"), (own, "b")))
    found = run([x, g, b, nn.layer_norm(x, g, b, axes)], data, gamma, beta)
    np.testing.assert_allclose(found, layer_norm_python(data, gamma, beta, tuple(axes)), rtol=1e-4, atol=1e-5)


def test_what_follows_a_norm_is_part_of_its_row() -> None:
    data = np.random.default_rng(3).standard_normal((9, 70)).astype(np.float32)
    x = te.placeholder(data.shape, "float32", "x")
    normal = norms.l2_normalize(x, 1e-6, [1])
    doubled = te.compute(data.shape, lambda i, j: normal(i, j) * 2.0, "doubled", tag="elemwise")
    found = run([x, doubled], data)
    np.testing.assert_allclose(found, l2_normalize_python(data, 1e-6, [1]) * 2, rtol=1e-5)


def test_without_rows_it_is_any_reductions_schedule() -> None:
    data = np.random.default_rng(4).standard_normal((6, 40)).astype(np.float32)
    x = te.placeholder(data.shape, "float32", "x")
    np.testing.assert_allclose(run([x, reductions.sum(x, 1)], data), data.sum(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(run([x, nn.softmax(x, 0)], data), softmax_python(data, 0), rtol=1e-5, atol=1e-8)
    halves = te.compute(data.shape, lambda i, j: x(i, j) * 0.5, "halves")
    np.testing.assert_array_equal(run([x, halves], data), data * np.float32(0.5))


def test_numbers_do_not_depend_on_threads() -> None:
    data = np.random.default_rng(5).standard_normal((64, 301)).astype(np.float32)
    x = te.placeholder(data.shape, "float32", "x")
    before, results = num_threads(), []
    for threads in (1, 2, 5):
        set_threads(threads)
        results.append(run([x, nn.softmax(x)], data))
    set_threads(before)
    assert all(np.array_equal(result, results[0]) for result in results)


@pytest.mark.parametrize(("target", "lanes"), [("llvm -mcpu=haswell", 8), ("llvm -mcpu=generic", 4)])
def test_vectors_are_the_processors(target: str, lanes: int) -> None:
    x = te.placeholder((4, 64), "float32", "x")
    out = nn.softmax(x)
    with Target(target):
        schedule = schedule_rows(out)
        [func] = lower_generic(schedule, [x, out]).functions.values()
    kinds = [node.kind for node in walk(func.body) if isinstance(node, For)]
    assert kinds[0] is ForKind.PARALLEL
    assert f"float32x{lanes}" in str(func) or f"ramp(0, 1, {lanes})" in str(func)

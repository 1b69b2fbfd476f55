"""Schedules for the CPU: what they inline, and where loops run in parallel and as vectors."""

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed, tensors
from vta import te
from vta.build_module import build_generic, lower_generic
from vta.topi.cpu import elementwise, nn, pairs, reductions
from vta.topi.cpu.schedules import schedule_injective, schedule_reduce

X = np.random.default_rng(11).normal(size=(4, 32)).astype(np.float32)


def test_single_elements_are_computed_where_they_are_used() -> None:
    [t] = tensors(X)
    out = nn.relu(pairs.add(elementwise.exp(t), 1))
    text = str(lower_generic(schedule_injective(out), [t, out]))
    assert "allocate" not in text
    assert '"parallel"' in text
    assert "ramp(" in text


def test_001_a_reduction_fused_with_what_is_around_it() -> None:
    """Seed 001, "topi": sums, broadcasts and softmax, composed."""

    def program(t: object) -> object:
        total = reductions.sum(t, axis=1)  # type: ignore[arg-type]
        return pairs.multiply(pairs.add(total, 2), 0.5)

    [result] = computed(program, X)
    np.testing.assert_allclose(result, (X.sum(axis=1) + 2) * 0.5, rtol=1e-4)
    [t] = tensors(X)
    out = program(t)
    text = str(lower_generic(schedule_reduce(out), [t, out]))  # type: ignore[arg-type, list-item]
    assert text.count("allocate") == 1


@pytest.mark.parametrize("shape", [(5, 7), (3, 1000, 9), (1, 1)])
def test_elements_of_odd_rows_are_one_long_row(shape: tuple[int, ...]) -> None:
    a, b = (te.placeholder(shape, "float32", name) for name in "ab")
    total = te.compute(shape, lambda *i: a(*i) + b(*i), "total")
    out = te.compute(shape, lambda *i: total(*i) * a(*i), "out")
    s = schedule_injective(out)
    assert len(s[out].leaf_iter_vars) == 2
    rng = np.random.default_rng(6)
    x, y = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    result = np.zeros(shape, np.float32)
    build_generic(s, [a, b, out], "llvm")(x, y, result)
    np.testing.assert_array_equal(result, (x + y) * x)


def test_elements_of_other_places_keep_their_loops() -> None:
    a, row = te.placeholder((5, 7), "float32", "a"), te.placeholder((7,), "float32", "row")
    turned = te.compute((5, 7), lambda i, j: a[i, 6 - j], "turned")
    for out in (turned, te.compute((5, 7), lambda i, j: a[i, j] + row[j], "sums")):
        assert [axis.name for axis in schedule_injective(out)[out].leaf_iter_vars] == ["i", "j"]

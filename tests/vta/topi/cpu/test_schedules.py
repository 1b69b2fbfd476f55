"""Schedules for the CPU: what they inline, and where loops run in parallel and as vectors."""

import numpy as np

from tests.support.compiler.cpu_operators import computed, tensors
from vta.build_module import lower_generic
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

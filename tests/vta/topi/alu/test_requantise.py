"""The operator that makes int8 of int32 numbers."""

import numpy as np
import pytest

from tests.support.compiler.random_operators import check, environment
from vta.topi.alu.requantise import requantise
from vta.topi.core.operator import compile  # noqa: A004  # what it does

LOW, HIGH = -(1 << 31), (1 << 31) - 1


@pytest.mark.parametrize("config", ["default", "b2k16"])
def test_the_operator_saturates(config: str) -> None:
    operator = requantise((2, 20, 3, 3), 0.0123)
    compiled = compile(operator, environment(config))
    for value, result in ((90_000, 127), (HIGH, 127), (-90_000, -128), (LOW, -128), (0, 0), (813, 10)):
        assert (compiled(np.full((2, 20, 3, 3), value, np.int32)) == result).all()
    check(operator, config)


@pytest.mark.parametrize("scale", [0.9, 0.3, 0.1, 1 / 255, 0.001, 0.0002, 1 / 64, 3.0, 1e-9])
def test_results_are_near_the_exact_product(scale: float) -> None:
    rng = np.random.default_rng(11)
    data = rng.integers(LOW, HIGH, (1, 1, 1, 256), endpoint=True)
    data[..., :128] = np.clip(np.round(rng.uniform(-130, 130, 128) / scale), LOW, HIGH)
    data[..., :3] = (LOW, HIGH, 0)
    result = compile(requantise(data.shape, scale), environment("default"))(data.astype(np.int32))
    assert np.abs(result - np.clip(data * scale, -128, 127)).max() <= 1 / 2 + 1 / 64

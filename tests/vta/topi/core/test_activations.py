"""Activations of int8 numbers against the exact functions, for every number, and on the accelerator."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.random_operators import check
from tests.support.configs import CONFIGS
from vta.topi.alu.elementwise import Elementwise
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core import epilogue
from vta.topi.core.activations import Quantisation, hard_sigmoid, hard_swish, leaky_relu, linear, prelu
from vta.topi.core.epilogue import Epilogue, RoundingShift, needs
from vta.topi.core.fixed_point import FixedPointError

CELLS = np.arange(-128, 128).reshape(1, -1)


def random_pair(rng: np.random.Generator) -> tuple[Quantisation, Quantisation]:
    """Return scales that activations have, and zero points at the ends more often."""
    source, target = (
        Quantisation(float(2.0 ** rng.uniform(-9, -2)), int(rng.choice([0, -128, 127, rng.integers(-128, 128)])))
        for _ in range(2)
    )
    return source, target


def require_near(steps: Epilogue, arrays: tuple[np.ndarray, ...], exact: np.ndarray, target: Quantisation) -> None:
    """Assert that ``steps`` give ``exact`` saturated in ``target`` for every cell, but for what rounding is."""
    sums = np.broadcast_to(CELLS, exact.shape)
    got = epilogue.applied(sums, steps, arrays)
    wanted = np.clip(exact / target.scale + target.zero_point, -128, 127)
    assert np.abs(got - wanted).max() <= 0.5 + 2**-6
    assert np.array_equal(got, got.astype(np.int8))


def real(source: Quantisation) -> np.ndarray:
    return (CELLS - source.zero_point) * source.scale


def test_numbers_themselves_are_near_from_any_scale_to_any() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        source, target = random_pair(rng)
        require_near(linear(source, target), (), real(source), target)


@pytest.mark.parametrize("slope", [0.0, 0.01, 0.1, 0.25, 1.0, 1.5, -0.3])
def test_leaky_relu_is_near_for_every_number(slope: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        source, target = random_pair(rng)
        x = real(source)
        require_near(leaky_relu(source, target, slope), (), np.where(x > 0, x, x * slope), target)


@pytest.mark.parametrize("most", [1.0, 3.0])
def test_prelu_is_near_for_every_number(most: float) -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        source, target = random_pair(rng)
        slopes = rng.uniform(-most, most, 256)
        made = prelu(source, target, slopes)
        x = np.broadcast_to(real(source).reshape(1, 1, -1), (1, 256, 256))
        exact = np.where(x > 0, x, x * slopes.reshape(1, -1, 1))
        got = epilogue.applied(np.broadcast_to(CELLS, exact.shape), made.steps, made.arrays)
        wanted = np.clip(exact / target.scale + target.zero_point, -128, 127)
        assert np.abs(got - wanted).max() <= 0.5 + 2**-6


def test_hard_sigmoid_is_near_for_every_number() -> None:
    rng = np.random.default_rng(3)
    for _ in range(100):
        source, target = random_pair(rng)
        slope, offset = float(rng.uniform(0.05, 0.5)), float(rng.uniform(0.2, 0.8))
        exact = np.clip(real(source) * slope + offset, 0, 1)
        require_near(hard_sigmoid(source, target, slope=slope, offset=offset), (), exact, target)


def test_hard_swish_is_near_for_every_number() -> None:
    rng = np.random.default_rng(4)
    for _ in range(100):
        source, target = random_pair(rng)
        x = real(source)
        require_near(hard_swish(source, target), (), x * np.clip(x / 6 + 0.5, 0, 1), target)


SOURCE, TARGET = Quantisation(0.05, 3), Quantisation(0.03, -20)
STEPS: dict[str, Callable[[], Epilogue]] = {
    "leaky_relu": lambda: leaky_relu(SOURCE, TARGET, 0.1),
    "prelu": lambda: prelu(SOURCE, TARGET, np.linspace(-1, 2, 24)).steps,
    "hard_sigmoid": lambda: hard_sigmoid(SOURCE, Quantisation(1 / 256, -128)),
    "hard_swish": lambda: hard_swish(SOURCE, TARGET),
}


@pytest.mark.parametrize("config", CONFIGS)
def test_activations_follow_a_convolution_and_stand_alone(config: str) -> None:
    steps = {name: make() for name, make in STEPS.items()}
    behind = (RoundingShift(8), *steps["prelu"], *steps["hard_swish"])
    check(Conv2d(2, 9, 8, 7, 24, (3, 3), epilogue=behind), config)
    check(Elementwise((2, 24, 5, 7), (*steps["leaky_relu"], *steps["hard_sigmoid"])), config)


def test_activations_run_on_the_hardware() -> None:
    steps = tuple(step for name in ("leaky_relu", "hard_swish") for step in STEPS[name]())
    check(Conv2d(1, 16, 6, 6, 32, (3, 3), epilogue=(RoundingShift(8), *steps)), "default", engine="tsim")


def test_what_activations_cost() -> None:
    counts = {name: needs(steps()).operations for name, steps in STEPS.items()}
    assert counts == {"leaky_relu": 10, "prelu": 12, "hard_sigmoid": 5, "hard_swish": 12}


def test_numbers_that_cannot_be_are_refused() -> None:
    with pytest.raises(FixedPointError) as caught:
        Quantisation(0.0)
    assert str(caught.value) == "a quantisation has a positive scale that float32 holds, not 0.0"
    with pytest.raises(FixedPointError) as caught:
        Quantisation(0.1, 128)
    assert str(caught.value) == "a zero point is from -128 to 127, not 128"
    with pytest.raises(FixedPointError) as caught:
        prelu(SOURCE, TARGET, [])
    assert str(caught.value) == "prelu takes a slope for each channel, not []"
    for make, name in ((leaky_relu, "leaky_relu"), (hard_sigmoid, "hard_sigmoid"), (hard_swish, "hard_swish")):
        with pytest.raises(FixedPointError) as caught:
            make(SOURCE, TARGET, slope=math.inf)
        assert str(caught.value) == f"{name} takes slope as a number that float32 holds, not inf"
    with pytest.raises(FixedPointError) as caught:
        hard_swish(SOURCE, TARGET, offset=math.nan)
    assert str(caught.value) == "hard_swish takes offset as a number that float32 holds, not nan"


EXTREMES = (0.0, 1e-9, 0.3, 1.0, -1.0, 250.0, 1e9, -1e9)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 2, 3))])
def test_activations_are_near_at_any_scales_and_parameters(seed: int) -> None:
    """Scales of 2**-30 to 2**30, and slopes far beyond what a result can tell apart."""
    rng = np.random.default_rng(seed)
    for _ in range(12):
        width = float(rng.choice([3, 9, 30]))
        source, target = (
            Quantisation(
                float(2.0 ** rng.uniform(-width, width)), int(rng.choice([0, -128, 127, rng.integers(-128, 128)]))
            )
            for _ in range(2)
        )
        slope = float(rng.choice([*EXTREMES, rng.uniform(-4, 4), 2.0 ** rng.uniform(-20, 20)]))
        offset = float(rng.choice([*EXTREMES, rng.uniform(-10, 10)]))
        x = real(source)
        leaky = np.where(x > 0, x, x * slope)
        require_near(leaky_relu(source, target, slope), (), leaky, target)
        made = prelu(source, target, [slope])
        require_near(made.steps, made.arrays, leaky.reshape(1, 1, -1), target)
        gate = np.clip(x * slope + offset, 0, 1)
        require_near(hard_sigmoid(source, target, slope=slope, offset=offset), (), gate, target)
        require_near(hard_swish(source, target, slope=slope, offset=offset), (), x * gate, target)


def test_parameters_at_the_ends_of_float32_are_near() -> None:
    for scale, other in itertools.product((2.0**-149, 1.0, 2.0**127), repeat=2):
        source, target = Quantisation(scale, 5), Quantisation(other, -7)
        x = real(source)
        for slope in (-(2.0**127), 0.0, 2.0**127):
            require_near(leaky_relu(source, target, slope), (), np.where(x > 0, x, x * slope), target)
            exact = np.clip(x * slope - 2.0**127, 0, 1)
            require_near(hard_sigmoid(source, target, slope=slope, offset=-(2.0**127)), (), exact, target)
            require_near(hard_swish(source, target, slope=slope, offset=-(2.0**127)), (), x * exact, target)

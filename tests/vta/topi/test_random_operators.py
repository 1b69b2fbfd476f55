"""A sample of random operators in every run; ``bench/operators.py`` has a thousand, and shrinks what fails."""

import numpy as np
import pytest

from tests.support.compiler.random_operators import (
    KINDS,
    Draw,
    check,
    differences,
    draw,
    environment,
    outcome,
    random_operator,
    shrunk,
)
from tests.support.configs import CONFIGS
from vta.topi.alu.elementwise import Elementwise
from vta.topi.core.epilogue import Bias, Clip, Relu, ShiftRight
from vta.topi.core.operator import Array


@pytest.mark.parametrize("index", range(30))
def test_a_random_operator_gives_what_numpy_gives(index: int) -> None:
    instance = draw(Draw(seed=20), 7 * index)
    check(instance.operator, instance.config, seed=index)


@pytest.mark.parametrize("index", range(12))
def test_the_launches_of_a_random_operator_are_in_order(index: int) -> None:
    instance = draw(Draw(seed=22), 7 * index)
    assert outcome(instance.operator, instance.config, seed=index, engine="sim", checked=True) == ""


@pytest.mark.parametrize(
    "config", [pytest.param(name, marks=[] if name == "default" else pytest.mark.long) for name in CONFIGS]
)
def test_random_operators_give_the_same_on_the_hardware(config: str) -> None:
    for index in range(4):
        instance = draw(Draw(seed=21, configs=(config,)), 7 * index + [*CONFIGS].index(config))
        check(instance.operator, config, seed=index, engine="tsim")


@pytest.mark.parametrize("kind", KINDS)
def test_an_instance_depends_on_its_seed_alone_and_prints_as_its_constructor_call(kind: str) -> None:
    first, again = (random_operator(np.random.default_rng(5), kind) for _ in range(2))
    assert first == again
    assert repr(first).startswith(f"{type(first).__name__}(")
    assert first != random_operator(np.random.default_rng(6), kind)


class Wrong(Elementwise):
    """Differs from its own twin wherever it has a bias or 9 channels and more."""

    def reference(self, *arrays: Array) -> Array:
        right = super().reference(*arrays)
        return right + np.int8(1) if Bias() in self.epilogue and self.shape[1] > 8 else right


def test_a_difference_is_told_with_its_place() -> None:
    operator = Wrong((1, 16), (Relu(), Bias()))
    found = differences(operator, environment("default"), seed=3)
    assert found.startswith("16 of 16 differ, the first at (0, 0): ")
    with pytest.raises(AssertionError, match="arrays of seed 3: 16 of 16 differ"):
        check(operator, "default", seed=3)


def test_a_failing_instance_becomes_smaller() -> None:
    operator = Wrong((2, 40, 3), (Relu(), Bias(), ShiftRight(3), Clip(-5, 5)))
    small = shrunk(operator, lambda other: bool(outcome(other, "default", seed=1, engine="sim")))
    assert small == Wrong((1, 9, 1), (Bias(),))


def test_an_error_is_an_outcome() -> None:
    found = outcome(Elementwise((1, 16)), "four_bit", seed=1, engine="sim")
    assert found.startswith("OperatorError: Elementwise: data is int8, and the accumulator loads")

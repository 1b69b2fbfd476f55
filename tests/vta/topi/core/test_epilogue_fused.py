"""Epilogues on an ALU with fused steps: the numbers of the same steps, in fewer operations."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vta
from isa.config import VTAConfig
from tests.support.compiler.epilogue_operator import EpilogueOnly
from tests.support.compiler.random_operators import check
from tests.support.configs import CONFIGS
from tests.vta.topi.core.test_epilogue import EPILOGUES, inputs
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import (
    Add,
    Bias,
    ChannelMaximum,
    ChannelMinimum,
    ChannelShift,
    Clip,
    Epilogue,
    Fork,
    Joint,
    Multiply,
    Relu,
    Requantise,
    Residual,
    RoundingShift,
    Scale,
    ShiftLeft,
    ShiftRight,
    applied,
    needs,
    rows,
)
from vta.topi.core.epilogue_needs import Limited, Lowered, Scaled, parts
from vta.topi.core.epilogue_steps import WORD
from vta.topi.core.operator import compile  # noqa: A004
from vta.topi.matmul.dense import Dense

FUSED = VTAConfig(fused_alu=1)
LOW, HIGH = WORD


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((ShiftRight(8), Clip(0, 127)), (Limited(0, 32767, 8),)),
        ((ShiftRight(8), Relu()), (Limited(0, HIGH, 8),)),
        ((ShiftRight(31), Clip(-5, 3)), (Limited(LOW, HIGH, 31),)),
        ((Clip(-3, 4), ShiftRight(1)), (Limited(-3, 4, 1),)),
        ((Clip(-3, 4),), (Limited(-3, 4, 0),)),
        ((Clip(-3, HIGH),), (Clip(-3, HIGH),)),
        ((Relu(),), (Relu(),)),
        ((ChannelMaximum(), ChannelMinimum()), (Limited(ChannelMaximum(), ChannelMinimum(), 0),)),
        ((ChannelMinimum(), ChannelMaximum()), (ChannelMinimum(), ChannelMaximum())),
        ((ChannelMinimum(), ShiftRight(2)), (Limited(LOW, ChannelMinimum(), 2),)),
        ((Relu(), Clip(LOW, 9), ShiftRight(2)), (Limited(0, 9, 2),)),
        ((Scale(), Bias(), ShiftRight(9)), (Scaled(Scale(), Bias(), 9),)),
        ((Requantise(77, 8),), (Scaled(77, 128, 8),)),
        ((Bias(), ShiftLeft(2)), (Scaled(1, Bias(), -2),)),
        ((Scale(), ShiftRight(2)), (Scaled(Scale(), 0, 2),)),
        ((Scale(), ChannelShift()), (Scale(), ChannelShift())),
        ((RoundingShift(4), Clip(0, 9)), (Add(8), Limited(0, 159, 4))),
        ((Scale(), Bias(), ShiftRight(9), Clip(0, 9)), (Scaled(Scale(), Bias(), 0), Limited(0, 5119, 9))),
        ((ShiftRight(20), Clip(5000, 6000)), (ShiftRight(20), Limited(5000, 6000, 0))),
        ((Residual(), Bias(), Relu()), (Residual(), Bias(), Relu())),
    ],
)
def test_neighbours_are_fused_where_that_is_fewer_operations(steps: Epilogue, expected: tuple[Lowered, ...]) -> None:
    assert parts(steps, FUSED) == expected


def test_without_fused_steps_nothing_is() -> None:
    steps = (ShiftRight(8), Clip(0, 127))
    assert parts(steps, VTAConfig()) == parts(steps, None) == steps
    assert needs(steps) == needs(steps, VTAConfig())


def test_the_rows_of_a_pair_are_neighbours_in_the_table() -> None:
    steps = (Bias(), ShiftRight(1), Fork(Joint.ADD, (ShiftRight(4), Clip(0, 7))), ChannelMaximum(), ChannelMinimum())
    assert list(rows(steps, FUSED)) == [1, Bias(), 0, 127, ChannelMaximum(), ChannelMinimum()]
    assert list(rows(steps)) == [Bias(), ChannelMaximum(), ChannelMinimum()]


@pytest.mark.parametrize("steps", EPILOGUES.values(), ids=EPILOGUES)
def test_the_accelerator_gives_what_numpy_gives_in_as_many_operations_as_steps_need(steps: Epilogue) -> None:
    name = ("default", "b1k8", "b2k16")[len(steps) % 3]
    config = replace(CONFIGS[name], fused_alu=1)
    env = vta.Environment(config)
    block = config.batch * config.block_out
    operator = EpilogueOnly((config.batch, config.block_out, 3, 5), steps)
    compiled = compile(operator, env)
    arrays = inputs(operator, env, np.random.default_rng(len(steps)))
    np.testing.assert_array_equal(compiled(*arrays), operator.reference(*arrays))
    assert env.session.device.stats.alu_counter == 15 * needs(steps, config).operations, block
    assert needs(steps, config).operations <= needs(steps).operations


_WORDS = st.integers(LOW, HIGH) | st.integers(-300, 300) | st.sampled_from([LOW, LOW + 1, -1, 0, 1, HIGH - 1, HIGH])
_BITS = st.integers(0, 31)
_STEPS = st.one_of(
    st.builds(lambda a, b: Clip(min(a, b), max(a, b)), _WORDS, _WORDS),
    st.builds(ShiftRight, _BITS),
    st.builds(ShiftLeft, _BITS),
    st.builds(Add, _WORDS),
    st.builds(Multiply, _WORDS.filter(bool)),
    st.just(Relu()),
)


def _done(numbers: np.ndarray, part: Lowered) -> np.ndarray:
    """Return what a part makes of numbers, each operation of a fused step by itself."""
    with np.errstate(over="ignore"):
        match part:
            case Limited(low=int() as low, high=int() as high, bits=bits):
                return np.minimum(np.maximum(numbers, np.int32(low)), np.int32(high)) >> np.int32(bits)
            case Scaled(factor=int() as factor, summand=int() as summand, bits=bits):
                total = numbers * np.int32(factor) + np.int32(summand)
                return total >> np.int32(bits) if bits >= 0 else total << np.int32(-bits)
            case _:
                return applied(numbers, (part,), ())  # type: ignore[arg-type]  # a step


@given(steps=st.lists(_STEPS, max_size=7), numbers=st.lists(_WORDS, min_size=1, max_size=20))
@settings(max_examples=300, deadline=None)
def test_fused_or_not_the_numbers_are_the_same(steps: list[Clip], numbers: list[int]) -> None:
    given = np.array(numbers, np.int64).astype(np.int32)
    now = given
    for part in parts(tuple(steps), FUSED):
        now = _done(now, part)
    np.testing.assert_array_equal(now, applied(given, tuple(steps), ()))


@pytest.mark.parametrize("config", ["fused", "fused_all"])
@pytest.mark.parametrize(
    "steps",
    [
        (ShiftRight(5), Clip(0, 7)),
        (ChannelMaximum(), ChannelMinimum(), Scale(), Bias(), ShiftRight(23)),
        (RoundingShift(3), Residual("int32", 70_001), ShiftRight(2), Clip(-8, 7)),
    ],
)
def test_layers_have_numpys_numbers(config: str, steps: Epilogue) -> None:
    check(Conv2d(1, 11, 7, 5, 19, (3, 3), padding=(1, 1, 1, 1), epilogue=steps), config)
    check(Conv2d(1, 9, 7, 5, 9, (3, 3), padding=(1, 1, 1, 1), groups=9, epilogue=steps), config)
    check(Dense(3, 20, 21, steps), config)

import itertools

import numpy as np
import pytest

from tests.support.compiler.random_operators import check, environment
from tests.support.configs import CONFIGS
from vta.topi.alu.elementwise import Binary, BinaryOperation, Elementwise
from vta.topi.core.epilogue import (
    Add,
    Bias,
    ChannelShift,
    Clip,
    Epilogue,
    Multiply,
    Relu,
    Requantise,
    Residual,
    RoundingShift,
    Scale,
    ShiftLeft,
    ShiftRight,
)
from vta.topi.core.operator import compile  # noqa: A004  # what it does

SHAPE = (2, 21, 5, 3)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("operation", BinaryOperation)
def test_an_operation_of_two_tensors_is_that_of_numpy(operation: BinaryOperation, config: str) -> None:
    kinds = list(itertools.product(("int8", "int32"), repeat=2))
    turn = [*BinaryOperation].index(operation) + [*CONFIGS].index(config)
    check(Binary(operation, SHAPE, (), kinds[turn % 4]), config, seed=turn)


@pytest.mark.parametrize(
    "steps",
    [
        (),
        (Add(5),),
        (Add(-70_000),),
        (Multiply(-3),),
        (Multiply(1 << 20), ShiftRight(22)),
        (ShiftLeft(3), RoundingShift(5)),
        (Clip(-(1 << 31), 9),),
        (Clip(-40_000, 40_000),),
        (Relu(), Requantise(12_345, 20)),
        (Bias(), Scale(), ChannelShift()),
        (Residual(), Residual("int32"), Clip(-128, 127)),
    ],
    ids=str,
)
def test_a_chain_of_steps_is_that_of_numpy(steps: Epilogue) -> None:
    check(Elementwise(SHAPE, steps), "in16out32", seed=1)
    check(Elementwise(SHAPE[:3], steps, "int32"), "b2k16", seed=2)


def test_sums_and_products_wrap_at_32_bits_and_the_result_at_8() -> None:
    big = np.full((1, 16), (1 << 31) - 1, np.int32)
    env = environment("default")
    add = Binary(BinaryOperation.ADD, (1, 16), (ShiftRight(24),), ("int32", "int32"))
    assert (compile(add, env)(big, big + 0) == (-2 >> 24)).all()
    multiply = Binary(BinaryOperation.MULTIPLY, (1, 16), (), ("int32", "int32"))
    assert (compile(multiply, env)(big, np.full((1, 16), 200, np.int32)) == 56).all()


def test_shifts_by_negative_counts_go_the_other_way_and_by_32_lose_everything() -> None:
    values = np.full((1, 7), -77, np.int32)
    counts = np.array([[0, 3, -1, 31, 32, 1000, -32]], np.int32)
    env = environment("default")
    right = Binary(BinaryOperation.SHIFT_RIGHT, (1, 7), (), ("int32", "int32"))
    left = Binary(BinaryOperation.SHIFT_LEFT, (1, 7), (), ("int32", "int32"))
    np.testing.assert_array_equal(compile(right, env)(values, counts), [[-77, -10, 102, -1, -1, -1, 0]])
    np.testing.assert_array_equal(compile(left, env)(values, -counts), [[-77, -10, 102, -1, -1, -1, 0]])


@pytest.mark.parametrize("engine", ["reference", "tsim"])
def test_other_engines_give_the_same(engine: str) -> None:
    check(Binary(BinaryOperation.SUBTRACT, SHAPE, (Residual(), Clip(-128, 127))), "default", engine=engine)
    check(Elementwise(SHAPE, (Add(100_000), ShiftRight(4)), "int32"), "default", engine=engine)


def test_int8_is_widened_by_its_load() -> None:
    env = environment("default")
    session = env.session
    operator = Binary(BinaryOperation.ADD, (1, 16, 4, 4))
    compiled = compile(operator, env)
    arrays = compiled.place(*operator.pack(env, *[np.zeros((1, 16, 4, 4), np.int8)] * 2))
    session.device.clear_stats()
    compiled.module(*arrays)
    stats = session.device.stats.as_dict()
    assert stats["acc_load_nbytes"] == 2 * 16 * 16
    assert stats["out_store_nbytes"] == 16 * 16
    assert stats["alu_counter"] == 16

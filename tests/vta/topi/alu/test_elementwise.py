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


ENDS = [-(1 << 31), 1 - (1 << 31), -32769, -32768, -129, -33, -32, -31, -1, 0, 1, 31, 32, 33, 128, 32767, 32768]
ENDS += [65536, (1 << 31) - 2, (1 << 31) - 1]


def exactly(operation: BinaryOperation, a: int, b: int) -> int:
    """Return the operation on integers without end, before it is cut to 32 bits."""
    match operation:
        case BinaryOperation.ADD:
            return a + b
        case BinaryOperation.SUBTRACT:
            return a - b
        case BinaryOperation.MULTIPLY:
            return a * b
        case BinaryOperation.MINIMUM:
            return min(a, b)
        case BinaryOperation.MAXIMUM:
            return max(a, b)
        case BinaryOperation.SHIFT_LEFT:
            return a << min(b, 64) if b >= 0 else a >> min(-b, 64)
        case BinaryOperation.SHIFT_RIGHT:
            return a >> min(b, 64) if b >= 0 else a << min(-b, 64)


@pytest.mark.parametrize("operation", list(BinaryOperation), ids=str)
@pytest.mark.parametrize("bits", [0, 24])
def test_every_pair_of_numbers_around_the_ends_of_32_bits(operation: BinaryOperation, bits: int) -> None:
    """The whole domain that the operators' page states, at its corners: low and high bits of every result."""
    lhs, rhs = (np.array(column, np.int32)[None] for column in zip(*itertools.product(ENDS, ENDS), strict=True))
    operator = Binary(operation, lhs.shape, (ShiftRight(bits),) if bits else (), ("int32", "int32"))
    compiled = compile(operator, environment("default"))
    exact = np.array([exactly(operation, a, b) % (1 << 32) for a, b in itertools.product(ENDS, ENDS)], np.uint64)
    expected = (exact.astype(np.uint32).view(np.int32) >> bits).astype(np.int8)[None]
    np.testing.assert_array_equal(compiled(lhs, rhs), expected)
    np.testing.assert_array_equal(compiled.reference(lhs, rhs), expected)


@pytest.mark.parametrize("constant", [*ENDS, 12345, -54321, 99_999, 1 << 30])
def test_every_constant_of_32_bits(constant: int) -> None:
    data = np.array([ENDS], np.int32)
    for step in (Add(constant), Multiply(constant), Clip(constant, (1 << 31) - 1), Clip(-(1 << 31), constant)):
        compiled = compile(Elementwise(data.shape, (step, ShiftRight(20)), "int32"), environment("default"))
        expected = [exact_step(step, x) >> 20 for x in ENDS]
        assert compiled(data)[0].tolist() == [(x + 128) % 256 - 128 for x in expected], step


def exact_step(step: Add | Multiply | Clip, x: int) -> int:
    match step:
        case Add():
            x += step.constant
        case Multiply():
            x *= step.constant
        case Clip():
            x = min(max(x, step.low), step.high)
    return (x + (1 << 31)) % (1 << 32) - (1 << 31)


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

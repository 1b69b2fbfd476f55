import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from tests.support.compiler.epilogue_operator import EpilogueOnly
from tests.support.configs import CONFIGS
from tests.support.odd_configs import ODD_CONFIGS
from tests.support.turns import in_turn
from vta import te
from vta.topi.core import epilogue
from vta.topi.core.epilogue import (
    Add,
    Bias,
    ChannelMaximum,
    ChannelMinimum,
    ChannelShift,
    Clip,
    Epilogue,
    EpilogueError,
    Fork,
    HalfEvenShift,
    Joint,
    Multiply,
    Needs,
    Relu,
    Requantise,
    Residual,
    RoundingShift,
    Scale,
    ShiftLeft,
    ShiftRight,
    append,
    needs,
    operands,
    rows,
)
from vta.topi.core.operand import Operand
from vta.topi.core.operator import compile  # noqa: A004
from vta.topi.matmul.dense import Dense

EPILOGUES: dict[str, Epilogue] = {
    "none": (),
    "layer": (ShiftRight(8), Bias(), Clip(0, 127)),
    "relu": (Relu(), ShiftRight(20)),
    "left": (ShiftLeft(3), Clip(-128, 127)),
    "residual_int8": (RoundingShift(6), Residual(), Clip(-127, 127)),
    "residual_int32": (Residual("int32"), ShiftRight(4)),
    "two_residuals": (ShiftRight(25), Residual(), Residual("int8"), Bias(), Bias(), Relu()),
    "requantise": (Bias(), Requantise(1_234_567, 22), Clip(-128, 127)),
    "per_channel": (Bias(), Scale(), Add(1 << 15), ChannelShift(), Clip(-128, 127)),
    "one_side": (Clip(-(1 << 31), 9), Clip(-100, (1 << 31) - 1)),
    "zero": (Multiply(0), Bias(), Requantise(0, 8)),
    "constants": (Add(-70_000), Multiply(-7), Add(40_000), ShiftRight(9), Clip(-100_000, 50)),
    "shift_of_nothing": (Requantise(3, 0),),
    "limits": (ChannelMinimum(), ChannelMaximum(), ShiftRight(24)),
    "scaled_residual": (ShiftRight(9), Residual(multiplier=-300), RoundingShift(16), Clip(-128, 127)),
    "wide_residual": (Residual("int32", 70_001), ShiftRight(24)),
    "leaky": (ShiftRight(20), Fork(Joint.MAXIMUM, (Requantise(13, 7),)), Clip(-128, 127)),
    "swish": (ShiftRight(25), Fork(Joint.MULTIPLY, (Multiply(11), Add(190), Clip(0, 380))), RoundingShift(9)),
    "prelu": (ShiftRight(21), Fork(Joint.ADD, (Relu(),), (Clip(-(1 << 31), 0), Scale(), RoundingShift(20)))),
    "forks_in_forks": (
        Bias(),
        Fork(
            Joint.MINIMUM,
            (ShiftRight(3), Fork(Joint.ADD, (Multiply(-3), Bias()), (ShiftRight(1),)), Residual()),
            (Fork(Joint.MULTIPLY, ()),),
        ),
        ShiftRight(23),
    ),
    "half_even": (ShiftRight(20), HalfEvenShift(4)),
    "half_even_of_one_bit": (ShiftRight(24), HalfEvenShift(1)),
    "half_even_of_all_bits": (HalfEvenShift(31),),
}


def inputs(operator: EpilogueOnly, env: vta.Environment, rng: np.random.Generator) -> list[np.ndarray]:
    """Return random arrays, over the whole range of their types but for shift counts."""
    arrays = []
    for operand in operator.inputs(env):
        info = np.iinfo(operand.dtype)
        low, high = (0, 20) if operand.name == "shift" else (info.min, info.max + 1)
        arrays.append(rng.integers(low, high, operand.shape).astype(operand.dtype))
    return arrays


@pytest.mark.parametrize(("name", "config_name"), in_turn(EPILOGUES, CONFIGS))
def test_the_accelerator_gives_what_numpy_gives(name: str, config_name: str) -> None:
    steps, config = EPILOGUES[name], CONFIGS[config_name]
    env = vta.Environment(config)
    dense = (len(steps) + config.block_out) % 3 == 0
    operator = EpilogueOnly((3, 40) if dense else (1, 16, 3, 5), steps)
    arrays = inputs(operator, env, np.random.default_rng(len(steps)))
    np.testing.assert_array_equal(compile(operator, env)(*arrays), operator.reference(*arrays))


def test_the_twin_wraps_at_32_bits_and_keeps_the_low_8_bits() -> None:
    sums = np.array([[2**31 - 1, 300, -300]])
    np.testing.assert_array_equal(epilogue.reference(sums, (Add(1),), ()), np.array([[0, 45, -43]], np.int8))
    wrapped = epilogue.reference(sums, (Add(1), ShiftRight(24)), ())
    np.testing.assert_array_equal(wrapped, np.array([[-128, 0, -1]], np.int8))
    product = epilogue.reference(sums, (Multiply(2**31 - 1), ShiftRight(24)), ())
    np.testing.assert_array_equal(product, (np.array([[1, -300, 300]]) >> 24).astype(np.int8))


def test_the_twin_rounds_halves_upwards() -> None:
    sums = np.array([[-6, -5, -4, -2, -1, 0, 1, 2, 3, 5, 6]])
    expected = np.floor(sums / 4 + 0.5).astype(np.int8)
    np.testing.assert_array_equal(epilogue.reference(sums, (RoundingShift(2),), ()), expected)
    np.testing.assert_array_equal(epilogue.reference(sums, (Requantise(1, 2),), ()), expected)


def test_the_twin_shifts_left_where_a_channel_says_so_and_everything_out_from_32_on() -> None:
    sums = np.array([[-5, -5, -5, -5]])
    counts = np.array([1, -1, 32, -33], np.int32)
    np.testing.assert_array_equal(epilogue.reference(sums, (ChannelShift(),), (counts,)), [[-3, -10, -1, 0]])


def test_steps_name_the_tensors_they_read() -> None:
    steps = (Bias(), Residual(), Scale(), ChannelShift(), Bias(), Residual("int32"))
    assert operands(steps, (2, 24, 5, 7)) == (
        Operand("bias", (24,), "int32"),
        Operand("residual", (2, 24, 5, 7), "int8"),
        Operand("scale", (24,), "int32"),
        Operand("shift", (24,), "int32"),
        Operand("bias_1", (24,), "int32"),
        Operand("residual_1", (2, 24, 5, 7), "int32"),
    )


def test_the_tensors_of_a_fork_are_those_of_its_first_chain_then_of_its_second_one() -> None:
    steps = (Bias(), Fork(Joint.ADD, (Scale(), Residual()), (Bias(), ChannelMinimum())), ChannelMaximum(), Bias())
    names = ["bias", "scale", "residual", "bias_1", "most", "least", "bias_2"]
    assert [operand.name for operand in operands(steps, (1, 16, 2, 2))] == names


def test_a_chain_of_no_steps_gives_the_number_itself() -> None:
    sums = np.arange(-11, 12).reshape(1, -1)
    square = epilogue.reference(sums, (Fork(Joint.MULTIPLY, (), ()),), ())
    np.testing.assert_array_equal(square, (sums**2).astype(np.int8))


@pytest.mark.parametrize("bits", [1, 2, 5, 16, 30])
def test_halves_go_to_the_even_number(bits: int) -> None:
    half = 1 << (bits - 1)
    near = np.array([q * (1 << bits) + r for q in range(-2, 2) for r in (0, 1, half - 1, half, half + 1)])
    sums = np.unique(near[(near >= -(1 << 30)) & (near < 1 << 30)]).reshape(1, -1)
    expected = np.rint(sums / (1 << bits)).astype(np.int8)
    np.testing.assert_array_equal(epilogue.reference(sums, (HalfEvenShift(bits),), ()), expected)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((), Needs(0, 0, 0, 0)),
        ((Bias(), Clip(0, 127), Relu()), Needs(4, 0, 1, 0)),
        ((Clip(-(1 << 31), 9), Multiply(1), Add(0), ShiftLeft(2)), Needs(2, 0, 0, 0)),
        ((Residual(), Residual("int32", 5), Scale()), Needs(4, 2, 1, 0)),
        ((Add(40_000), Multiply(70_001), Multiply(1 << 20)), Needs(3, 0, 2, 0)),
        ((Fork(Joint.MAXIMUM, (Requantise(13, 7),)),), Needs(6, 0, 0, 1)),
        ((Fork(Joint.ADD, (Fork(Joint.ADD, (Bias(),)),)), Fork(Joint.ADD, ())), Needs(8, 0, 1, 2)),
    ],
)
def test_what_steps_need_is_counted(steps: Epilogue, expected: Needs) -> None:
    assert needs(steps) == expected


@pytest.mark.parametrize("steps", EPILOGUES.values(), ids=EPILOGUES)
def test_the_accelerator_does_as_many_operations_as_steps_need(steps: Epilogue) -> None:
    env = vta.Environment(VTAConfig())
    operator = EpilogueOnly((1, 16, 3, 5), steps)
    compiled = compile(operator, env)
    compiled(*inputs(operator, env, np.random.default_rng(1)))
    assert env.session.device.stats.alu_counter == 15 * needs(steps).operations


def test_values_of_channels_and_large_constants_are_rows_of_one_table() -> None:
    env = vta.get_env()
    sums = te.placeholder((1, 2, 3, 4, env.BATCH, env.BLOCK_OUT), name="sums", dtype="int32")
    steps = (Bias(), Clip(-9, 50_000), Fork(Joint.ADD, (Scale(), Residual(multiplier=70_000)), (Add(-100_000),)))
    assert list(rows(steps)) == [Bias(), 50_000, Scale(), 70_000, -100_000]
    appended = append(sums, steps, env)
    assert [(tensor.op.name, int(tensor.shape[1])) for tensor in appended.inputs] == [("table", 10), ("residual", 2)]
    bias, scale = np.arange(20, dtype=np.int32), np.arange(20, 40, dtype=np.int32)
    made, beside = epilogue.arguments(steps, env, epilogue.sources(steps, (1, 20, 3, 4)), rank=6)
    assert (made.name, made.sources, beside.name, beside.sources) == (
        "table",
        ("bias", "scale"),
        "residual",
        ("residual",),
    )
    table = made.pack(bias, scale)
    assert table.shape == (1, 10, 1, 1, env.BATCH, env.BLOCK_OUT)
    assert table[0, :, 0, 0, 0, 3].tolist() == [3, 50_000, 23, 70_000, -100_000, 19, 50_000, 39, 70_000, -100_000]


def test_constants_alone_are_the_same_rows_for_all_channels() -> None:
    env = vta.get_env()
    sums = te.placeholder((1, 7, env.BATCH, env.BLOCK_OUT), name="sums", dtype="int32")
    steps = (Multiply(70_001), Add(99_999), ShiftRight(3))
    [table] = append(sums, steps, env).inputs
    assert [int(extent) for extent in table.shape] == [1, 2, env.BATCH, env.BLOCK_OUT]
    [made] = epilogue.arguments(steps, env, (), rank=4)
    packed = made.pack()
    assert packed.shape == (1, 2, env.BATCH, env.BLOCK_OUT)
    assert np.unique(packed[0, 0]).tolist() == [70_001]
    assert np.unique(packed[0, 1]).tolist() == [99_999]


def test_bytes_are_joined_to_whole_numbers() -> None:
    numbers = np.array([[0, -1, 1 << 24, -(1 << 31), 305_419_896]], np.int32)
    packed = np.moveaxis(numbers[..., None].view(np.int8), -1, -3)
    assert packed.shape == (4, 1, 5)
    np.testing.assert_array_equal(epilogue.joined_bytes(packed), numbers)
    assert needs((Bias(),), whole_numbers=True) == Needs(13, 0, 5, 4, 4)


def test_every_alu_operation_is_a_stage() -> None:
    env = vta.get_env()
    sums = te.placeholder((1, 2, 3, 4, env.BATCH, env.BLOCK_OUT), name="sums", dtype="int32")
    appended = append(sums, (RoundingShift(8), Bias(), Residual(), Clip(0, 127)), env)
    names = ["T_add", "T_right_shift", "T_add", "T_add", "clipA", "clipB"]
    assert [stage.op.name for stage in appended.stages] == names
    assert [tensor.op.name for tensor in appended.inputs] == ["bias", "residual"]
    assert [tensor.op.name for tensor in appended.widened] == ["T_cast"]
    assert str(appended.result.dtype) == "int8"


def test_a_side_that_limits_nothing_is_no_stage() -> None:
    env = vta.get_env()
    sums = te.placeholder((1, 2, 3, 4, env.BATCH, env.BLOCK_OUT), name="sums", dtype="int32")
    steps = (Clip(-(1 << 31), 9), Clip(-9, (1 << 31) - 1), Clip(-(1 << 31), (1 << 31) - 1))
    assert [stage.op.name for stage in append(sums, steps, env).stages] == ["clipA", "clipB"]


def test_a_twin_needs_all_tensors_of_its_steps() -> None:
    with pytest.raises(EpilogueError) as caught:
        epilogue.reference(np.zeros((1, 2)), (Bias(), Residual()), (np.zeros(2),))
    assert str(caught.value) == "the epilogue reads 2 tensors, and 1 were given"


@pytest.mark.parametrize(
    ("step", "values", "message"),
    [
        (ShiftRight, (32,), "ShiftRight: bits is from 0 to 31, not 32"),
        (ShiftLeft, (-1,), "ShiftLeft: bits is from 0 to 31, not -1"),
        (RoundingShift, (0,), "RoundingShift: bits is from 1 to 31, not 0"),
        (Requantise, (1 << 31, 3), "Requantise: multiplier is from -2147483648 to 2147483647, not 2147483648"),
        (Requantise, (1, 40), "Requantise: shift is from 0 to 31, not 40"),
        (Add, (1 << 31,), "Add: constant is from -2147483648 to 2147483647, not 2147483648"),
        (Multiply, (1 << 40,), "Multiply: constant is from -2147483648 to 2147483647, not 1099511627776"),
        (Clip, (5, 4), "Clip: low is 5, which is more than high, 4"),
        (Clip, (0, 1 << 31), "Clip: high is from -2147483648 to 2147483647, not 2147483648"),
        (Residual, ("int16",), "Residual: dtype is int8 or int32, not 'int16'"),
        (Residual, ("int8", 1 << 31), "Residual: multiplier is from -2147483648 to 2147483647, not 2147483648"),
        (Residual, ("int8", 0), "Residual: with a multiplier of 0 nothing is added; leave the step out"),
        (HalfEvenShift, (0,), "HalfEvenShift: bits is from 1 to 31, not 0"),
        (Fork, ("xor", ()), "Fork: joint is one of 'add', 'multiply', 'minimum', 'maximum', not 'xor'"),
        (
            Fork,
            ("add", Relu()),
            "Fork: steps takes a tuple of steps, not a step alone; write (Relu(),)",
        ),
        (Fork, ("add", (), 3), "Fork: others takes a tuple of steps, not 3"),
        (
            Fork,
            ("add", (Relu,)),
            f"Fork: steps takes a tuple of steps, and {Relu!r} is none; write Relu(...)",
        ),
    ],
)
def test_steps_that_cannot_be_are_refused(step: type, values: tuple[object, ...], message: str) -> None:
    with pytest.raises(EpilogueError) as caught:
        step(*values)
    assert str(caught.value) == message


def test_an_8_bit_residual_needs_inputs_of_8_bits() -> None:
    env = vta.Environment(ODD_CONFIGS["four_bit"])
    with pytest.raises(EpilogueError) as caught:
        Dense(3, 5, 7, (Residual(), Residual())).schedule(env)
    assert str(caught.value) == (
        "residual: expected an int32 residual, got int8: the accumulator loads 8-bit numbers where inputs have 8 bits "
        "(LOG_INP_WIDTH 3), and here they are int4; use Residual('int32')"
    )

from collections.abc import Callable

import numpy as np
import pytest

import vta
from vta.nd import array
from vta.topi.alu.division import Rounding
from vta.topi.alu.elementwise import Binary, BinaryOperation, Elementwise
from vta.topi.alu.padding import Pad2d
from vta.topi.alu.pooling import AveragePool2d, MaxPool2d
from vta.topi.alu.resize import Upsample2d
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import Add, Clip, EpilogueError, Relu, ShiftRight
from vta.topi.core.operator import OperatorError, compile  # noqa: A004
from vta.topi.core.rescale import channel_scales, scale_steps
from vta.topi.matmul.batch_matmul import Matmul
from vta.topi.matmul.dense import Dense
from vta.topi.transposed.conv2d_transpose_operator import Conv2dTranspose

REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: Conv2d(1, 16.0, 8, 8, 16, (3, 3)), "Conv2d: in_channels takes a number from 1, not 16.0"),
    (lambda: Conv2d(1, 16, None, 8, 16, (3, 3)), "Conv2d: height takes a number from 1, not None"),
    (lambda: Conv2d(True, 16, 8, 8, 16, (3, 3)), "Conv2d: batch takes a number from 1, not True"),
    (lambda: Conv2d(1, 16, 8, 8, 16, 3), "Conv2d: kernel takes 2 numbers from 1 (rows, columns), not 3"),
    (lambda: Conv2d(1, 16, 8, 8, 16, (3, 3), 2), "Conv2d: strides takes 2 numbers from 1 (rows, columns), not 2"),
    (
        lambda: Conv2d(1, 16, 8, 8, 16, (3, 3), padding=(1, 1)),
        "Conv2d: padding takes 4 numbers from 0 (top, left, bottom, right), not (1, 1)",
    ),
    (
        lambda: Conv2dTranspose(1, 16, 8, 8, 16, (3, 3), output_padding=1),
        "Conv2dTranspose: output_padding takes 2 numbers from 0 (rows, columns), not 1",
    ),
    (
        lambda: Conv2d(1, 16, 8, 8, 16, (3, 3), epilogue=ShiftRight(3)),
        "Conv2d: epilogue takes a tuple of steps, not a step alone; write (ShiftRight(bits=3),)",
    ),
    (lambda: Dense(1, 2, 3, None), "Dense: epilogue takes a tuple of steps, not None"),
    (
        lambda: Dense(1, 2, 3, (5,)),
        "Dense: epilogue takes a tuple of steps, and 5 is none; vta.topi.core.epilogue has them",
    ),
    (
        lambda: Dense(1, 2, 3, (Relu,)),
        "Dense: epilogue takes a tuple of steps, and <class 'vta.topi.core.epilogue_steps.Relu'> is none; "
        "write Relu(...)",
    ),
    (lambda: Dense(1, -2, 3), "Dense: in_channels takes a number from 1, not -2"),
    (lambda: Matmul(2, 2, 2, "no"), "Matmul: transpose_a takes True or False, not 'no'"),
    (lambda: MaxPool2d(1, 16, 8.5, 8, (2, 2)), "MaxPool2d: height takes a number from 1, not 8.5"),
    (lambda: MaxPool2d(1, 16, 8, 8, 2), "MaxPool2d: kernel takes 2 numbers from 1 (rows, columns), not 2"),
    (lambda: MaxPool2d(1, 16, 8, 8, (2, 2), ceil_mode=1), "MaxPool2d: ceil_mode takes True or False, not 1"),
    (
        lambda: AveragePool2d(1, 16, 8, 8, (2, 2), rounding="up"),
        "AveragePool2d: rounding is one of 'floor', 'half_up', 'half_away', 'truncate', not 'up'",
    ),
    (
        lambda: Binary("div", (1, 16)),
        "Binary: operation is one of 'add', 'subtract', 'multiply', 'minimum', 'maximum', 'left_shift', "
        "'right_shift', not 'div'",
    ),
    (
        lambda: Binary("add", (1, 16), (), "int8"),
        "Binary: dtypes takes two types, those of lhs and rhs, not 'int8'",
    ),
    (
        lambda: Elementwise((1, 2.5)),
        "Elementwise: a shape is (N, C), (N, C, L) or (N, C, H, W) with sizes from 1, not (1, 2.5)",
    ),
    (
        lambda: Elementwise(16),
        "Elementwise: a shape is (N, C), (N, C, L) or (N, C, H, W) with sizes from 1, not 16",
    ),
    (lambda: Pad2d(1, 1, 2, 2, 1), "Pad2d: padding takes 4 numbers from 0 (top, left, bottom, right), not 1"),
    (lambda: Pad2d(1, 1, 2, 2, (0, 0, 0, 0), 1.5), "Pad2d: value fits int32, and 1.5 does not"),
    (lambda: Upsample2d(1, 1, 2, 2, 2), "Upsample2d: scale takes 2 numbers from 1 (rows, columns), not 2"),
    (lambda: scale_steps("0.5"), "a scale is a positive number, not '0.5'"),
    (lambda: scale_steps(0.5, 2.0), "largest is from 1 to 2147483648, not 2.0"),
    (lambda: channel_scales([]), "channel_scales takes one scale for each channel, not none"),
    (
        lambda: compile(3, "sim"),
        "compile takes an operator and an environment, such as vta.get_env(), not 3 and 'sim'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_parameters_that_cannot_be_are_refused_with_name_and_value(make: Callable[[], object], message: str) -> None:
    with pytest.raises(OperatorError) as caught:
        make()
    assert str(caught.value) == message


def test_steps_take_whole_numbers_only() -> None:
    for make, message in (
        (lambda: ShiftRight(1.5), "ShiftRight: bits is from 0 to 31, not 1.5"),
        (lambda: Add("3"), "Add: constant is from -2147483648 to 2147483647, not '3'"),
        (lambda: Clip(0.5, 1), "Clip: low is from -2147483648 to 2147483647, not 0.5"),
    ):
        with pytest.raises(EpilogueError) as caught:
            make()
        assert str(caught.value) == message


def test_integers_of_numpy_lists_and_texts_of_enums_are_settled_as_python_has_them() -> None:
    eight = np.int64(8)
    made = Conv2d(1, 16, eight, eight, 16, [np.int32(3), 3], epilogue=[ShiftRight(np.int8(4)), Add(np.int64(7))])
    assert repr(made) == repr(Conv2d(1, 16, 8, 8, 16, (3, 3), epilogue=(ShiftRight(4), Add(7))))
    assert repr(Elementwise([1, eight])) == repr(Elementwise((1, 8)))
    assert repr(Pad2d(1, 1, 2, 2, np.array([0, 1, 2, 3]), eight)) == repr(Pad2d(1, 1, 2, 2, (0, 1, 2, 3), 8))
    assert Binary("add", (1, 16)).operation is BinaryOperation.ADD
    assert AveragePool2d(1, 16, 8, 8, (2, 2), rounding="floor").rounding is Rounding.FLOOR


def test_arrays_may_lie_in_any_order_and_on_the_device() -> None:
    env, layer = vta.get_env(), Conv2d(1, 16, 5, 6, 16, (3, 3), epilogue=(ShiftRight(4),))
    compiled = compile(layer, env)
    rng = np.random.default_rng(4)
    data = rng.integers(-128, 128, (1, 16, 5, 6)).astype(np.int8)
    kernel = rng.integers(-128, 128, (16, 16, 3, 3)).astype(np.int8)
    expected = layer.reference(data, kernel)
    backwards = np.ascontiguousarray(data[..., ::-1])[..., ::-1]
    last = np.ascontiguousarray(data.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    for given in (np.asfortranarray(data), backwards, last, array(data)):
        np.testing.assert_array_equal(compiled(given, kernel), expected)


def test_numbers_in_the_other_byte_order_are_refused_with_what_converts_them() -> None:
    compiled = compile(Elementwise((1, 16), (), "int32"), vta.get_env())
    swapped = np.arange(16, dtype=np.dtype(np.int32).newbyteorder()).reshape(1, 16)
    with pytest.raises(OperatorError) as caught:
        compiled(swapped)
    assert str(caught.value) == (
        f"Elementwise: data is int32 of shape (1, 16), not {swapped.dtype} of shape (1, 16); "
        ".astype('int32') converts numbers that fit"
    )

from typing import Any

import numpy as np
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.selection import ConcatenateAttrs, OneHotAttrs, SplitAttrs, StridedSliceAttrs, TakeAttrs
from runtime.executor.operators.types import RelayError
from tests.support.relay.apply import applied, refusal
from vta.relay.interpreter import evaluate
from vta.relay.ir.nodes import Constant
from vta.relay.ops.call import call

DATA = np.arange(24, dtype=np.int8).reshape(2, 3, 4)


def test_concatenate_and_split_are_inverse() -> None:
    parts = evaluate(call(Op.SPLIT, [Constant(DATA)], SplitAttrs((1, 0, 3), -1)))
    assert [part.shape for part in parts] == [(2, 3, 1), (2, 3, 0), (2, 3, 3)]
    assert np.array_equal(applied(Op.CONCATENATE, *parts, attrs=ConcatenateAttrs(2)), DATA)


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        (StridedSliceAttrs((0, 1), (1, 3)), DATA[0:1, 1:3]),
        (StridedSliceAttrs((-1,), (-4,), (-2,), (1,)), DATA[:, -1:-4:-2]),
        (StridedSliceAttrs((1, 3), (2**63 - 1, None), (1, -1), (0, -1)), DATA[1:, :, 3::-1]),
        (StridedSliceAttrs((5,), (9,)), DATA[5:9]),
    ],
)
def test_slices_are_those_of_python(attrs: StridedSliceAttrs, expected: np.ndarray) -> None:
    assert np.array_equal(applied(Op.STRIDED_SLICE, DATA, attrs=attrs), expected)


def test_take_follows_indices_of_any_shape() -> None:
    indices = np.array([[0, -1], [2, 1]])
    assert np.array_equal(applied(Op.TAKE, DATA, indices, attrs=TakeAttrs(1)), np.take(DATA, [[0, 2], [2, 1]], 1))
    assert applied(Op.TAKE, DATA, np.array(1, np.int32), attrs=TakeAttrs(-1)).shape == (2, 3)


def test_gather_takes_an_element_for_every_index() -> None:
    indices = np.array([[[0, -1, 3]]])
    assert applied(Op.GATHER, DATA, indices, attrs=TakeAttrs(2)).tolist() == [[[0, 3, 3]]]


def test_one_hot_puts_the_classes_at_an_axis() -> None:
    indices, on, off = np.array([1, -1, 5]), np.array(2, np.int8), np.array(-1, np.int8)
    assert applied(Op.ONE_HOT, indices, on, off, attrs=OneHotAttrs(1, dtype="int8")).shape == (*indices.shape, 1)
    result = applied(Op.ONE_HOT, indices, on, off, attrs=OneHotAttrs(3, 0, "int8"))
    assert result.tolist() == [[-1, -1, -1], [2, -1, -1], [-1, 2, -1]]


@pytest.mark.parametrize("op", [Op.TAKE, Op.GATHER])
@pytest.mark.parametrize(("index", "named"), [(4, 4), (-5, -5)])
def test_an_index_beyond_the_data_is_refused(op: Op, index: int, named: int) -> None:
    with pytest.raises(RelayError, match=rf"^index {named} is not from -4 to 3$"):
        applied(op, DATA, np.array([[[0, index]]]), attrs=TakeAttrs(2))


I8 = "int8"


@pytest.mark.parametrize(
    ("op", "types", "attrs", "sentence"),
    [
        (
            Op.CONCATENATE,
            [((2, 3), I8), ((3, 3), I8)],
            ConcatenateAttrs(1),
            "the inputs differ in axis 1 alone, and their shapes are (2, 3) and (3, 3)",
        ),
        (
            Op.CONCATENATE,
            [((2, 3), I8), ((3,), I8)],
            ConcatenateAttrs(1),
            "the inputs differ in axis 1 alone, and their shapes are (2, 3) and (3,)",
        ),
        (
            Op.CONCATENATE,
            [((2, 3), I8), ((2, 3), "uint8")],
            ConcatenateAttrs(1),
            "the inputs have elements of one type, not int8, uint8",
        ),
        (Op.SPLIT, [((4,), I8)], SplitAttrs((1, 2)), "sizes (1, 2) are not the 4 of axis 0"),
        (
            Op.STRIDED_SLICE,
            [((4,), I8)],
            StridedSliceAttrs((0,), (1, 2)),
            "begin, end, strides and axes have one number for each axis, not (0,), (1, 2), (1,) and (0,)",
        ),
        (
            Op.STRIDED_SLICE,
            [((4,), I8)],
            StridedSliceAttrs((0,), (2,), (0,)),
            "a stride is not 0, and strides are (0,)",
        ),
        (Op.TAKE, [((4,), I8), ((1,), "float32")], TakeAttrs(), "indices are integers, not float32"),
        (
            Op.GATHER,
            [((4, 2), I8), ((1,), "int64")],
            TakeAttrs(),
            "indices has 2 dimensions, not 1: Tensor[(1,), int64]",
        ),
        (
            Op.GATHER,
            [((4, 2), I8), ((9, 3), "int64")],
            TakeAttrs(),
            "indices (9, 3) reach beyond the data, (4, 2)",
        ),
        (
            Op.ONE_HOT,
            [((4,), "int64"), ((), I8), ((1,), I8)],
            OneHotAttrs(3, dtype=I8),
            "off_value is a scalar of int8, not Tensor[(1,), int8]",
        ),
        (
            Op.ONE_HOT,
            [((4,), "bool"), ((), I8), ((), I8)],
            OneHotAttrs(3, dtype=I8),
            "indices are integers, not bool",
        ),
        (Op.ONE_HOT, [((4,), I8), ((), I8), ((), I8)], OneHotAttrs(0, dtype=I8), "depth is from 1, not 0"),
    ],
)
def test_a_selection_that_cannot_be_is_refused(op: Op, types: Any, attrs: Any, sentence: str) -> None:
    assert refusal(op, *types, attrs=attrs) == sentence

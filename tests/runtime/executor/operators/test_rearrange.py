from typing import Any

import numpy as np
import pytest

from runtime.executor.operators.attributes import NoAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.rearrange import (
    AxesAttrs,
    ExpandDimsAttrs,
    ReshapeAttrs,
    ShapeOfAttrs,
    TileAttrs,
    TransposeAttrs,
)
from tests.support.relay.apply import applied, refusal

DATA = np.arange(24, dtype=np.int8).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("newshape", "expected"),
    [((4, 6), (4, 6)), ((-1,), (24,)), ((0, -1), (2, 12)), ((2, 0, 2, 2), (2, 3, 2, 2)), ((1, -1, 0), (1, 6, 4))],
)
def test_reshape_keeps_the_order_of_elements(newshape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    result = applied(Op.RESHAPE, DATA, attrs=ReshapeAttrs(newshape))
    assert (result.shape, result.reshape(-1).tolist()) == (expected, list(range(24)))


def test_reshape_of_no_elements() -> None:
    assert applied(Op.RESHAPE, np.zeros((0, 3), np.int8), attrs=ReshapeAttrs((0, -1))).shape == (0, 0)
    assert applied(Op.RESHAPE, np.zeros((1, 1), np.int8), attrs=ReshapeAttrs(())).shape == ()


def test_transpose_takes_axes_in_order_or_backwards() -> None:
    assert np.array_equal(applied(Op.TRANSPOSE, DATA, attrs=TransposeAttrs((1, -1, 0))), DATA.transpose(1, 2, 0))
    assert np.array_equal(applied(Op.TRANSPOSE, DATA), DATA.T)
    assert applied(Op.TRANSPOSE, np.array(5, np.int8)).shape == ()


def test_axes_of_size_one_come_and_go() -> None:
    data = DATA.reshape(1, 2, 1, 12)
    assert applied(Op.SQUEEZE, data).shape == (2, 12)
    assert applied(Op.SQUEEZE, data, attrs=AxesAttrs((-2,))).shape == (1, 2, 12)
    assert applied(Op.EXPAND_DIMS, DATA, attrs=ExpandDimsAttrs(-1)).shape == (2, 3, 4, 1)
    assert applied(Op.EXPAND_DIMS, DATA, attrs=ExpandDimsAttrs(1, 2)).shape == (2, 1, 1, 3, 4)
    assert applied(Op.EXPAND_DIMS, DATA, attrs=ExpandDimsAttrs(0, 0)).shape == (2, 3, 4)


def test_flatten_keeps_the_first_axis() -> None:
    assert applied(Op.BATCH_FLATTEN, DATA).shape == (2, 12)
    assert applied(Op.BATCH_FLATTEN, np.arange(5, dtype=np.int8)).shape == (5, 1)
    assert refusal(Op.BATCH_FLATTEN, ((), "int8")) == "data has an axis or more, and it is a scalar"


@pytest.mark.parametrize("reps", [(2,), (2, 1, 3), (3, 1, 1, 1), (0, 1)])
def test_tile_is_that_of_numpy(reps: tuple[int, ...]) -> None:
    assert np.array_equal(applied(Op.TILE, DATA, attrs=TileAttrs(reps)), np.tile(DATA, reps))


def test_shape_of_is_a_vector() -> None:
    result = applied(Op.SHAPE_OF, DATA, attrs=ShapeOfAttrs("int32"))
    assert (result.tolist(), result.dtype.name) == ([2, 3, 4], "int32")


@pytest.mark.parametrize(
    ("op", "attrs", "sentence"),
    [
        (Op.RESHAPE, ReshapeAttrs((5, 5)), "24 elements, (2, 3, 4), do not have the shape (5, 5)"),
        (Op.RESHAPE, ReshapeAttrs((-1, 5)), "24 elements, (2, 3, 4), do not have the shape (-1, 5)"),
        (Op.RESHAPE, ReshapeAttrs((-1, -1)), "newshape consists of sizes, of which one may be -1, not (-1, -1)"),
        (Op.RESHAPE, ReshapeAttrs((-2,)), "newshape consists of sizes, of which one may be -1, not (-2,)"),
        (
            Op.RESHAPE,
            ReshapeAttrs((2, 3, 4, 0)),
            "newshape (2, 3, 4, 0) takes a size from an axis that (2, 3, 4) does not have",
        ),
        (Op.TRANSPOSE, TransposeAttrs((0, 1)), "axes names each of 3 axes once, not (0, 1)"),
        (Op.TRANSPOSE, TransposeAttrs((0, 1, -2)), "an axis comes twice in (0, 1, -2)"),
        (Op.TRANSPOSE, TransposeAttrs((0, 1, 3)), "axis is from -3 to 2 for 3 dimensions, not 3"),
        (Op.SQUEEZE, AxesAttrs((1,)), "axis 1 of (2, 3, 4) has the size 3, not 1"),
        (Op.EXPAND_DIMS, ExpandDimsAttrs(4), "axis is from -4 to 3 for 4 dimensions, not 4"),
        (Op.EXPAND_DIMS, ExpandDimsAttrs(0, -1), "num_newaxis is from 0, not -1"),
        (Op.TILE, TileAttrs((-1,)), "reps are integers from 0, not (-1,)"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(op: Op, attrs: Any, sentence: str) -> None:
    assert refusal(op, (DATA.shape, "int8"), attrs=attrs) == sentence


def test_a_scalar_is_not_flattened() -> None:
    assert refusal(Op.BATCH_FLATTEN, ((), "int8"), attrs=NoAttrs()) == "data has an axis or more, and it is a scalar"

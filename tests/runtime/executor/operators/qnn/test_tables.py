import numpy as np
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.tables import LookupAttrs, QnnPool2dAttrs
from tests.support.relay.apply import applied, refusal
from tests.support.relay.plain_windows import plain_windows


@pytest.mark.parametrize(("dtype", "zero"), [("int8", -3), ("uint8", 7)])
def test_pads_add_nothing_to_sums_over_windows(dtype: str, zero: int) -> None:
    data = np.random.default_rng(1).integers(0, 100, (1, 2, 5, 6)).astype(dtype)
    attrs = QnnPool2dAttrs((3, 2), (2, 3), (1, 0, 1, 1), ceil_mode=True, zero_point=zero)
    result = applied(Op.QNN_SUM_POOL2D, data, attrs=attrs)
    assert result.dtype == np.int32
    for place, inside, _ in plain_windows(
        data, kernel=(3, 2), strides=(2, 3), padding=(1, 0, 1, 1), dilation=(1, 1), outputs=result.shape[2:]
    ):
        assert result[place] == sum(int(each) - zero for each in inside)


def test_sums_over_windows_are_times_the_factors_of_row_and_column() -> None:
    data = np.full((1, 1, 2, 2), 3, np.int8)
    attrs = QnnPool2dAttrs((1, 1), zero_point=1, row_factors=(1, 2), column_factors=(3, 5))
    assert applied(Op.QNN_SUM_POOL2D, data, attrs=attrs).tolist() == [[[[6, 10], [12, 20]]]]


def test_factors_that_are_not_one_for_each_row_are_refused() -> None:
    attrs = QnnPool2dAttrs((1, 1), row_factors=(1, 2, 3))
    sentence = refusal(Op.QNN_SUM_POOL2D, ((1, 1, 2, 2), "int8"), attrs=attrs)
    assert sentence == "row_factors are 2 integers from 1, or none, not (1, 2, 3)"


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_table_begins_with_the_smallest_number(dtype: str) -> None:
    limits = np.iinfo(dtype)
    data = np.arange(limits.min, limits.max + 1).astype(dtype)
    table = np.random.default_rng(2).integers(-128, 128, 256).astype(np.int8)
    assert np.array_equal(applied(Op.QNN_LOOKUP, data, table), table)


def test_every_channel_may_have_its_table() -> None:
    data = np.array([[[-128, 127], [-128, 127]]], np.int8)
    table = np.zeros((2, 256), np.int8)
    table[0, [0, 255]], table[1, [0, 255]] = (1, 2), (3, 4)
    assert applied(Op.QNN_LOOKUP, data, table).tolist() == [[[1, 2], [3, 4]]]
    assert applied(Op.QNN_LOOKUP, data, table, attrs=LookupAttrs(-1)).tolist() == [[[1, 4], [1, 4]]]


@pytest.mark.parametrize(
    ("op", "types", "sentence"),
    [
        (Op.QNN_LOOKUP, [((2, 3), "int16"), ((256,), "int8")], "data has elements int8 or uint8, not int16"),
        (Op.QNN_LOOKUP, [((2, 3), "int8"), ((255,), "int8")], "the table has the shape (256,), not (255,)"),
        (
            Op.QNN_LOOKUP,
            [((2, 3), "int8"), ((2, 256), "int8")],
            "the table has the shape (256,) or (3, 256), not (2, 256)",
        ),
    ],
)
def test_a_table_that_does_not_go_with_the_data_is_refused(
    op: Op, types: list[tuple[str | tuple[int, ...], ...]], sentence: str
) -> None:
    assert refusal(op, *types) == sentence


def test_sums_over_windows_are_of_8_bit_integers() -> None:
    sentence = refusal(Op.QNN_SUM_POOL2D, ((1, 1, 2, 2), "float32"), attrs=QnnPool2dAttrs((2, 2)))
    assert sentence == "data has elements int8 or uint8, not float32"

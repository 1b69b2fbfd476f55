import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.executor.operators.layouts import Layout, LayoutAttrs, convert, converted_shape
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import RelayError
from tests.support.relay.apply import applied, refusal


def test_blocks_stand_behind_what_counts_them() -> None:
    data = np.arange(2 * 4 * 3).reshape(2, 4, 3)
    result = convert(data, "NCW", "NCW2c")
    assert result.shape == (2, 2, 3, 2)
    assert all(result[n, c // 2, w, c % 2] == data[n, c, w] for n in range(2) for c in range(4) for w in range(3))


@given(
    st.sampled_from(["NCHW", "NHWC", "CHWN", "NCHW1n4c", "NCHW2n2c", "CNHW4c2h", "N2nCHW"]),
    st.sampled_from(["NCHW", "NHWC", "NCHW2n8c", "HWNC4w"]),
)
def test_there_and_back_is_the_identity(source: str, target: str) -> None:
    sizes = {"N": 2, "C": 8, "H": 6, "W": 4}
    data = np.arange(2 * 8 * 6 * 4).reshape(Layout.of(source).shape(sizes))
    moved = convert(data, source, target)
    assert moved.shape == converted_shape(data.shape, source, target)
    assert np.array_equal(convert(moved, target, source), data)
    assert np.array_equal(convert(moved, target, "NCHW"), convert(data, source, "NCHW"))


def test_the_operator_converts() -> None:
    data = np.arange(2 * 8 * 3 * 1).reshape(2, 8, 3, 1).astype(np.int8)
    result = applied(Op.LAYOUT_TRANSFORM, data, attrs=LayoutAttrs("NCHW", "NCHW1n4c"))
    assert result.shape == (2, 2, 3, 1, 1, 4)


@pytest.mark.parametrize("text", ["", "NCHW4x", "NNHW", "NCHW4c4c", "nchw", "NC HW", "NCHW0"])
def test_a_text_that_is_no_layout_is_refused(text: str) -> None:
    with pytest.raises(RelayError) as error:
        Layout.of(text)
    assert str(error.value) == f"a layout is, for example, NCHW, NHWC or NCHW1n16c, not {text!r}"


@pytest.mark.parametrize(
    ("shape", "source", "target", "sentence"),
    [
        ((1, 6, 2, 2), "NCHW", "NCHW4c",
         "layout NCHW4c has blocks of 4 for C, and 6 of C are not a multiple; pad first"),
        ((1, 8, 2, 2), "NCHW", "NCDW", "layouts NCHW and NCDW do not have the same axes"),
        ((1, 2, 2, 2, 3), "NCHW4c", "NCHW", "layout NCHW4c has blocks of 4 for C, and the shape is (1, 2, 2, 2, 3)"),
        ((1, 2, 2), "NCHW", "NHWC", "layout NCHW has 4 axes, and the shape is (1, 2, 2)"),
    ],
)  # fmt: skip
def test_a_shape_that_does_not_have_the_layout_is_refused(
    shape: tuple[int, ...], source: str, target: str, sentence: str
) -> None:
    assert refusal(Op.LAYOUT_TRANSFORM, (shape, "int8"), attrs=LayoutAttrs(source, target)) == sentence

"""``topi.nn.pad`` against numpy."""

from collections.abc import Sequence

import numpy as np
import pytest

from vta import te, topi
from vta.te.lowering.lower import schedule_to_func
from vta.tir.interpreter.run import run_func
from vta.topi.nn import PadError


def padded(
    a: np.ndarray, before: int | Sequence[int], after: int | Sequence[int] | None = None, value: float = 0
) -> np.ndarray:
    """Pad with the interpreter of TIR."""
    x = te.placeholder(a.shape, name="x", dtype=str(a.dtype))
    y = topi.nn.pad(x, before, after, value)
    out = np.zeros([int(e.value) for e in y.shape], a.dtype)
    run_func(schedule_to_func(te.create_schedule(y.op), [x, y], "pad"), [a, out])
    return out


@pytest.mark.parametrize(
    ("before", "after"),
    [([1, 2], [3, 0]), ([0, 0], [0, 0]), ([0, 3], None), (2, None), (1, 0), ([2, 0], [0, 2])],
)
@pytest.mark.parametrize("dtype", ["int8", "int32", "float32"])
def test_pads_like_numpy(before: int | list[int], after: int | list[int] | None, dtype: str) -> None:
    a = np.arange(1, 13).reshape(3, 4).astype(dtype)
    b = np.broadcast_to(before, 2)
    e = b if after is None else np.broadcast_to(after, 2)
    expected = np.pad(a, list(zip(b, e, strict=True)), constant_values=-7)
    np.testing.assert_array_equal(padded(a, before, after, -7), expected)


def test_the_default_value_is_zero_of_the_tensors_type() -> None:
    x = te.placeholder((2, 3), name="x", dtype="int8")
    y = topi.nn.pad(x, [1, 0])
    assert (y.dtype, y.op.name, y.op.tag) == ("int8", "PadInput", "injective,pad")
    np.testing.assert_array_equal(padded(np.ones((2, 3), np.int8), [1, 0])[0], [0, 0, 0])


def test_pads_that_do_not_fit_are_refused() -> None:
    x = te.placeholder((2, 3), name="x")
    with pytest.raises(PadError) as error:
        topi.nn.pad(x, [1, 2, 3])
    assert str(error.value) == "pad_before has 3 entries, and tensor 'x' has 2 dimensions"
    with pytest.raises(PadError) as error:
        topi.nn.pad(x, [1, 2], [-1, 0])
    assert str(error.value) == "pad_after of tensor 'x': a pad is a number of elements from 0, not -1"

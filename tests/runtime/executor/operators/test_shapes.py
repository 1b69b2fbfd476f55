from typing import Any

import pytest

from runtime.executor.operators.shapes import (
    broadcast,
    broadcasts_to,
    normal_axes,
    normal_axis,
    require_rank,
    same_dtype,
)
from runtime.executor.operators.types import RelayError, TensorType


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [([(2, 3), (3,)], (2, 3)), ([(2, 1), (1, 3), ()], (2, 3)), ([(0, 1), (1,)], (0, 1)), ([()], ())],
)
def test_shapes_broadcast_as_in_numpy(shapes: Any, expected: Any) -> None:
    assert broadcast(shapes) == expected


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(RelayError, match=r"^shapes \(2,\) and \(3,\) do not broadcast$"):
        broadcast([(2,), (3,)])
    with pytest.raises(RelayError, match=r"^shapes \(0,\) and \(3,\) do not broadcast$"):
        broadcast([(0,), (3,)])


def test_a_tensor_that_would_enlarge_the_other_does_not_broadcast_to_it() -> None:
    assert broadcasts_to((3, 1), (2, 3, 4))
    assert broadcasts_to((), (2,))
    assert not broadcasts_to((2,), (1,))
    assert not broadcasts_to((1, 2), (2,))


def test_axes_may_count_from_the_end() -> None:
    assert normal_axis(-1, 3) == 2
    assert normal_axes((0, -1), 3) == (0, 2)
    with pytest.raises(RelayError, match=r"^place is from -3 to 2 for 3 dimensions, not -4$"):
        normal_axis(-4, 3, "place")


def test_types_that_do_not_agree_are_refused() -> None:
    types = [TensorType((2,), "int8"), TensorType((2,), "int32")]
    with pytest.raises(RelayError, match=r"^a, b have elements of one type, not int8, int32$"):
        same_dtype(types, ("a", "b"))
    with pytest.raises(RelayError, match=r"^x has 2 or 3 dimensions, not 1: Tensor\[\(2,\), int8\]$"):
        require_rank(types[0], "x", 2, 3)

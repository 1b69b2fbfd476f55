import itertools
from typing import Any

import pytest

from vta.topi.alu.pool_window import PoolAxis
from vta.topi.core.operator import OperatorError


def windows(axis: PoolAxis) -> list[list[int]]:
    """Return the cells of every window: those that fit, and with ceil_mode one more that starts in a cell."""
    found: list[Any] = []
    start = -axis.before
    while True:
        cells = [start + tap * axis.dilation for tap in range(axis.kernel)]
        fits = cells[-1] < axis.size + axis.after
        previous_fits = not found or found[-1][-1] < axis.size + axis.after - 1
        if not fits and not (axis.ceil_mode and start < axis.size and previous_fits):
            return found
        found.append(cells)
        start += axis.stride


def test_windows_are_where_a_plain_walk_finds_them() -> None:
    for size, kernel, stride, before, after, dilation, ceil_mode in itertools.product(
        (1, 4, 7), (1, 2, 3), (1, 2, 3), (0, 1), (0, 2), (1, 2), (False, True)
    ):
        try:
            axis = PoolAxis("width", size, kernel, stride, before, after, dilation, ceil_mode)
        except OperatorError:
            continue
        expected = windows(axis)
        assert axis.count == len(expected), axis
        assert axis.places.tolist() == expected
        assert axis.existing.tolist() == [sum(0 <= cell < size for cell in cells) for cells in expected]
        assert axis.with_pads.tolist() == [sum(cell < size + after for cell in cells) for cells in expected]
        assert axis.beyond == max(0, expected[-1][-1] - size + 1)
        assert axis.is_padded == (before > 0 or expected[-1][-1] >= size)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"size": 0}, "pooling along width: size is from 1, not 0"),
        ({"kernel": 0}, "pooling along width: kernel is from 1, not 0"),
        ({"stride": 0}, "pooling along width: stride is from 1, not 0"),
        ({"dilation": 0}, "pooling along width: dilation is from 1, not 0"),
        ({"before": -1}, "pooling along width: a pad is from 0, not -1"),
        ({"after": -2}, "pooling along width: a pad is from 0, not -2"),
        (
            {"kernel": 4, "dilation": 3, "after": 1},
            "pooling along width: a window reaches over 10 cells, and there are 9 with the pads",
        ),
    ],
)
def test_numbers_that_make_no_windows_are_refused(numbers: dict[str, int], message: str) -> None:
    with pytest.raises(OperatorError) as caught:
        PoolAxis(**{"name": "width", "size": 8, "kernel": 2, **numbers})
    assert str(caught.value) == message

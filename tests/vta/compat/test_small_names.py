"""Caches of results, and pads of pictures."""

import pytest

from vta.compat.small_names import PadError, get_pad_tuple2d, memoize


def test_results_are_computed_once() -> None:
    calls: list[int] = []

    @memoize("a.key")
    def doubled(x: int) -> int:
        calls.append(x)
        return 2 * x

    assert [doubled(2), doubled(2), doubled(3)] == [4, 4, 6]
    assert calls == [2, 3]
    assert doubled.__name__ == "doubled"


def test_pads_of_one_two_or_four_numbers() -> None:
    assert get_pad_tuple2d(1) == (1, 1, 1, 1)
    assert get_pad_tuple2d((1, 2)) == (1, 2, 1, 2)
    assert get_pad_tuple2d([1, 2, 3, 4]) == (1, 2, 3, 4)
    with pytest.raises(PadError) as error:
        get_pad_tuple2d((1, 2, 3))
    assert str(error.value) == "get_pad_tuple2d: expected one, two or four numbers, got [1, 2, 3]"

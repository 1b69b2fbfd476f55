"""Axes that are one."""

from vta.relay.host.recipe import merged_axes


def test_neighbours_that_all_have_or_none_has_are_one_axis() -> None:
    assert merged_axes([(2, 3, 4, 5), (2, 3, 4, 5)]) == [[0, 1, 2, 3]]
    assert merged_axes([(2, 3, 4, 5), (1, 3, 1, 1)]) == [[0], [1], [2, 3]]
    assert merged_axes([(2, 3, 4, 5), (1, 3, 4, 1), (1, 1, 1, 1)]) == [[0], [1, 2], [3]]


def test_axes_of_one_element_separate_nothing() -> None:
    assert merged_axes([(1, 3, 1, 5), (1, 3, 1, 5)]) == [[0, 1, 2, 3]]
    assert merged_axes([(1, 3, 1, 5), (1, 1, 1, 5)]) == [[0, 1, 2], [3]]

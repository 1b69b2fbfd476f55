"""Maps of indices."""

import pytest

from vta.tir.expr import Var
from vta.tir.index_map import IndexMap, IndexMapError


def test_elements_get_new_places() -> None:
    split = IndexMap.from_func(lambda i: [i // 4, i % 4])
    assert [[int(x) for x in split.map_indices([i])] for i in range(9)] == [[i // 4, i % 4] for i in range(9)]
    turned = IndexMap.from_func(lambda *axes: axes[::-1], ndim=3)
    assert [int(x) for x in turned.map_indices([1, 2, 3])] == [3, 2, 1]
    assert [str(x) for x in split.map_indices([Var("n")])] == ["floordiv(n, 4)", "floormod(n, 4)"]
    assert split.is_equivalent_to(IndexMap.from_func(lambda j: [j // 4, j % 4]))
    assert not split.is_equivalent_to(IndexMap.from_func(lambda j: [j // 4, j % 3]))
    assert not split.is_equivalent_to(turned)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(IndexMapError) as error:
        IndexMap.from_func(lambda *axes: axes)
    assert str(error.value) == "IndexMap.from_func: *indices may be any number; say ndim="
    with pytest.raises(IndexMapError) as error:
        IndexMap.from_func(lambda i: [i]).map_indices([1, 2])
    assert str(error.value) == "IndexMap: expected 1 indices, got 2"

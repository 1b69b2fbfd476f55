"""Layouts: what letters mean, and that shapes and indices of one become those of another."""

from collections.abc import Callable
from itertools import product

import pytest

from vta.tir.layout import BijectiveLayout, LayoutError, bijective_layout, layout


def test_letters_have_places_and_parts() -> None:
    one = layout("NCHW16c")
    assert (len(one), one.index_of("c"), one.index_of("O")) == (5, 4, -1)
    assert (one.factor_of("c"), one.factor_of("C"), one.factor_of("N")) == (16, 16, -1)
    assert "N" in one
    assert "O" not in one
    assert (one[0], one[4], one[-1], str(one)) == ("N", "c", "c", "NCHW16c")
    assert len(layout("__undef__")) == 0
    assert layout(one) is one


def ints(values: list) -> list[int]:  # type: ignore[type-arg]
    return [int(value) for value in values]


def both(src: str, dst: str) -> BijectiveLayout:
    found = bijective_layout(src, dst)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("src", "dst", "shape", "other"),
    [
        ("NCHW", "NCHW16c", (1, 32, 7, 7), (1, 2, 7, 7, 16)), ("NCHW16c", "NHWC", (1, 2, 3, 4, 16), (1, 3, 4, 32)),
        ("NCHW4c", "NCHW2c", (1, 3, 2, 2, 4), (1, 6, 2, 2, 2)), ("OIHW", "OIHW2i4o", (8, 4, 1, 1), (2, 2, 1, 1, 2, 4)),
    ],
)  # fmt: skip
def test_every_element_has_one_place(src: str, dst: str, shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    way = both(src, dst)
    assert ints(way.forward_shape(shape)) == list(other)
    assert ints(way.backward_shape(other)) == list(shape)
    seen = set()
    for index in product(*map(range, shape)):
        place = ints(way.forward_index(index))
        assert all(0 <= p < size for p, size in zip(place, other, strict=True))
        assert ints(way.backward_index(place)) == list(index)
        seen.add(tuple(place))
    assert len(seen) == len(list(product(*map(range, shape))))


def test_other_dimensions_have_no_way() -> None:
    assert bijective_layout("NCHW", "ABCD") is None
    assert bijective_layout("__undef__", "NCHW") is None


def test_what_is_no_layout_is_refused() -> None:
    words = "expected capital letters, each once, and small ones of them with sizes in front, such as NCHW16c"
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: layout("NCHC"), f"layout 'NCHC': {words}"),
        (lambda: layout("NHWc"), f"layout 'NHWc': {words}"),
        (lambda: layout("NHW16c"), f"layout 'NHW16c': {words}"),
        (lambda: layout("2NC"), f"layout '2NC': {words}"),
        (lambda: layout("NC")[2], "layout 'NC' has 2 dimensions, none with number 2"),
        (lambda: both("NC", "CN").forward_shape((1, 2, 3)), "layout 'NC' has 2 dimensions, not 3"),
    ]
    for step, text in wrong:
        with pytest.raises(LayoutError) as error:
            step()
        assert str(error.value) == text

"""Sets of indices: the same as stepping through the loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isa.index_sets import Elements, affine_elements, count_of, spans_text

LOOP = st.tuples(st.integers(1, 9), st.integers(0, 40))


def _listed(elements: Elements) -> list[int]:
    return list(range(elements.start, elements.stop)) if isinstance(elements, slice) else elements.tolist()


@given(bases=st.lists(st.integers(0, 60), min_size=1, max_size=5), outer=LOOP, inner=LOOP)
def test_a_set_has_what_the_loops_step_through(
    bases: list[int], outer: tuple[int, int], inner: tuple[int, int]
) -> None:
    stepped = {b + i * outer[1] + j * inner[1] for b in bases for i in range(outer[0]) for j in range(inner[0])}
    elements = affine_elements(bases, (outer, inner))
    assert _listed(elements) == sorted(stepped)
    assert count_of(elements) == len(stepped)


def test_what_is_contiguous_is_a_slice() -> None:
    assert affine_elements([3], [(4, 4), (4, 1)]) == slice(3, 19)
    assert affine_elements([7], []) == slice(7, 8)
    assert affine_elements([], [(3, 1)]) == slice(0, 0)


def test_a_loop_that_stays_in_place_costs_nothing() -> None:
    assert affine_elements([5], [(16383, 0), (1, 2047)]) == slice(5, 6)


def test_spans_are_told_in_words() -> None:
    assert spans_text([4]) == "element 4"
    assert spans_text([4, 5, 6]) == "elements 4 to 6"
    assert spans_text([4, 6, 9]) == "element 4 and 2 more"
    assert spans_text(np.array([0, 1, 8])) == "elements 0 to 1 and 1 more"

import numpy as np
import pytest

from runtime.executor.operators.types import RelayError
from runtime.executor.operators.windows import Window, check_window, pad_image, places


def test_the_number_of_windows() -> None:
    assert Window((3, 3), (2, 2), (1, 1, 1, 1), (1, 1)).outputs(0, 7) == 4
    assert Window((3, 3), (1, 1), (0, 0, 0, 0), (2, 2)).outputs(1, 5) == 1


@pytest.mark.parametrize(
    ("extent", "pads", "expected"),
    [(6, (0, 0), 3), (5, (0, 0), 2), (3, (1, 1), 2), (2, (1, 1), 2), (4, (0, 1), 2)],
)
def test_a_last_window_in_ceil_mode_begins_in_the_image(extent: int, pads: tuple[int, int], expected: int) -> None:
    window = Window((3, 3), (2, 2), (pads[0], 0, pads[1], 0), (1, 1), ceil_mode=True)
    assert window.outputs(0, extent) == expected
    last = (expected - 1) * 2 - pads[0]
    assert last < extent


def test_a_window_larger_than_the_image_is_refused() -> None:
    with pytest.raises(RelayError, match=r"^a window reaches over 5 columns, and the padded image has 4$"):
        Window((1, 3), (1, 1), (0, 0, 0, 1), (1, 2)).outputs(1, 3)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"strides": (0, 1)}, "strides consists of 2 integers from 1, not (0, 1)"),
        ({"padding": (0, 1)}, "padding consists of 4 integers from 0, not (0, 1)"),
        ({"padding": (0, 1, -1, 0)}, "padding consists of 4 integers from 0, not (0, 1, -1, 0)"),
        ({"dilation": (1, 1, 1)}, "dilation consists of 2 integers from 1, not (1, 1, 1)"),
        ({"kernel": (0, 3)}, "the kernel consists of 2 integers from 1, not (0, 3)"),
    ],
)
def test_sizes_that_no_window_has_are_refused(changed: dict[str, tuple[int, ...]], sentence: str) -> None:
    sizes = {"strides": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1), **changed}
    with pytest.raises(RelayError) as error:
        check_window(**sizes)
    assert str(error.value) == sentence


def test_places_are_what_lies_under_each_element_of_the_window() -> None:
    image = np.arange(16).reshape(1, 1, 4, 4)
    window = Window((2, 1), (2, 3), (0, 0, 0, 0), (1, 1))
    found = {place: seen[0, 0].tolist() for place, seen in places(image, window, (2, 2))}
    assert found == {(0, 0): [[0, 3], [8, 11]], (1, 0): [[4, 7], [12, 15]]}


def test_an_image_is_padded_as_far_as_its_windows_reach() -> None:
    window = Window((3, 3), (2, 2), (1, 0, 0, 0), (1, 1), ceil_mode=True)
    padded = pad_image(np.ones((1, 1, 5, 5)), window, 0)
    assert padded.shape == (1, 1, 7, 5)
    assert padded[0, 0, :, 0].tolist() == [0, 1, 1, 1, 1, 1, 0]

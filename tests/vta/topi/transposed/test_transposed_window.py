import pytest

from vta.topi.core.window import WindowError
from vta.topi.transposed.transposed_window import Direction, TransposedWindow


@pytest.mark.parametrize(
    ("window", "image", "result"),
    [
        (TransposedWindow((3, 3), (2, 2), (1, 1, 1, 1)), (4, 4), (7, 7)),
        (TransposedWindow((3, 3), (2, 2), (1, 1, 1, 1), (1, 1)), (4, 4), (8, 8)),
        (TransposedWindow((3, 3), (2, 2), (1, 1, 1, 1), (1, 1)), (28, 28), (56, 56)),
        (TransposedWindow((4, 2), (2, 3), (1, 0, 2, 1), (1, 2), (2, 1)), (5, 7), (13, 21)),
    ],
)
def test_the_result_is_a_canvas_without_its_pads(
    window: TransposedWindow, image: tuple[int, int], result: tuple[int, int]
) -> None:
    assert window.output(*image) == result


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("pad", [0, 1, 4])
@pytest.mark.parametrize("dilation", [1, 2])
def test_places_read_the_elements_that_scattering_gives_them(stride: int, pad: int, dilation: int) -> None:
    size, kernel = 6, 3
    window = TransposedWindow((kernel, 1), (stride, 1), (pad, 0, 0, 0), dilation=(dilation, 1))
    rows = window.output(size, 1)[0]
    scattered = {
        (element * stride + tap * dilation - pad, element, tap)
        for element in range(size)
        for tap in range(kernel)
        if 0 <= element * stride + tap * dilation - pad < rows
    }
    direction = window.directions[0]
    gathered = set()
    for place in range(rows):
        for flipped in range(kernel):
            spread = place + flipped * dilation + direction.shift
            element = spread // stride - direction.before
            assert 0 <= spread // stride < direction.reads(rows)
            if spread % stride == 0 and 0 <= element < size:
                gathered.add((place, element, kernel - 1 - flipped))
    assert gathered == scattered


def test_the_zeros_in_front_are_as_few_as_can_be() -> None:
    rows, columns = TransposedWindow((4, 4), (2, 2), (1, 3, 1, 3)).directions
    assert rows == Direction(kernel=4, stride=2, dilation=1, before=1, shift=0)
    assert columns == Direction(kernel=4, stride=2, dilation=1, before=0, shift=0)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"kernel": (3, 3), "strides": (2, 2), "output_padding": (2, 0)},
            "transposed window: output_padding is smaller than the stride (or the dilation), 2; got (2, 0)",
        ),
        ({"kernel": (3, 0)}, "transposed window: kernel has 2 numbers from 1 on, not (3, 0)"),
        ({"kernel": (3, 3), "padding": (1, 1)}, "transposed window: padding has 4 numbers from 0 on, not (1, 1)"),
    ],
)
def test_windows_that_cannot_be_are_refused(arguments: dict[str, tuple[int, ...]], text: str) -> None:
    with pytest.raises(WindowError) as error:
        TransposedWindow(**arguments)  # what is tested
    assert str(error.value) == text


def test_pads_must_leave_something_of_the_result() -> None:
    with pytest.raises(WindowError) as error:
        TransposedWindow((3, 3), padding=(2, 2, 2, 2)).output(2, 4)
    assert str(error.value) == (
        "transposed window: pads (top, left, bottom, right) = (2, 2, 2, 2) leave nothing of the result, 0 x 2"
    )
    with pytest.raises(WindowError) as error:
        TransposedWindow((1, 1), padding=(0, 2, 0, 0), output_padding=(0, 1), dilation=(2, 2)).output(1, 2)
    assert str(error.value) == (
        "transposed window: pads (top, left, bottom, right) = (0, 2, 0, 0) cut off all that the image gives; the "
        "1 x 1 places that are left would all be zero"
    )

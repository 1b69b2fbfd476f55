from collections.abc import Callable
from typing import Any

import pytest

from vta.topi.core.window import Window, WindowError


def test_a_window_knows_the_size_of_its_result() -> None:
    assert Window((3, 3), padding=(1, 1, 1, 1)).output(56, 56) == (56, 56)
    assert Window((3, 2), (2, 1), (0, 1, 2, 0), (2, 3)).output(13, 11) == (6, 9)
    assert Window((1, 1), (2, 2)).output(7, 8) == (4, 4)


@pytest.mark.parametrize("window", [Window((3, 2), (2, 1), (0, 1, 2, 0), (2, 3)), Window((1, 5), (3, 2))])
def test_a_span_is_what_rows_of_the_result_read(window: Window) -> None:
    rows, columns = 4, 3
    touched = [
        {i * s + d * step for i in range(n) for d in range(k)}
        for n, s, k, step in zip((rows, columns), window.strides, window.kernel, window.dilation, strict=True)
    ]
    assert window.span(rows, columns) == tuple(max(places) + 1 for places in touched)


def test_only_a_kernel_of_one_row_or_column_leaves_gaps() -> None:
    assert Window((1, 3), (2, 2)).gaps == (2, 1)
    assert Window((3, 1), (2, 3)).gaps == (1, 3)


def test_a_window_may_read_padding_alone() -> None:
    assert Window((1, 1), (2, 2), (0, 1, 0, 0)).touches(3, 1) == (True, False)
    assert Window((2, 1), (2, 2), (3, 0, 0, 0)).touches(1, 1) == (True, True)


def test_tvms_forms_of_pads_and_strides_are_understood() -> None:
    assert Window.of((3, 3), 2, 1) == Window((3, 3), (2, 2), (1, 1, 1, 1))
    assert Window.of((3, 3), (2, 1), (1, 2), (1, 2)) == Window((3, 3), (2, 1), (1, 2, 1, 2), (1, 2))
    assert Window.of((3, 3), padding=[1, 2, 3, 4]) == Window((3, 3), padding=(1, 2, 3, 4))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Window(3), "window: kernel has 2 numbers from 1 on, not 3"),  # wrong on purpose
        (lambda: Window((0, 1)), "window: kernel has 2 numbers from 1 on, not (0, 1)"),
        (lambda: Window((1, 1), padding=(0, 0, -1, 0)), "window: padding has 4 numbers from 0 on, not (0, 0, -1, 0)"),
        (lambda: Window.of((1, 1), (1, 2, 3)), "window: strides is one number or two, not (1, 2, 3)"),
        (
            lambda: Window.of((1, 1), padding=(1, 2, 3)),
            "window: padding is one number, two (h, w) or four (top, left, bottom, right), not (1, 2, 3)",
        ),
        (
            lambda: Window((3, 3), dilation=(4, 1), padding=(1, 0, 0, 0)).output(7, 7),
            "window: 3x3 with dilation (4, 1) reaches over 9x3, and the padded image is 8x7",
        ),
    ],
)
def test_windows_that_cannot_be_are_refused(make: Callable[..., Any], message: str) -> None:
    with pytest.raises(WindowError) as caught:
        make()
    assert str(caught.value) == message

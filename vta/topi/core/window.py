"""The window that a convolution or a pooling slides over an image: sizes, strides, pads, dilation.

Tests: tests/vta/topi/core/test_window.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from isa.errors import VTAError

__all__ = ["Window", "WindowError"]

_SIDES = "(top, left, bottom, right)"


class WindowError(VTAError, ValueError):
    """A window that cannot be, or that does not fit its image."""


@dataclass(frozen=True, slots=True)
class Window:
    """``kernel`` rows and columns, ``dilation`` apart, moved by ``strides`` over an image with ``padding`` around it.

    ``padding`` is (top, left, bottom, right), as in TVM and ONNX.
    """

    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        for what, count, least in (("kernel", 2, 1), ("strides", 2, 1), ("padding", 4, 0), ("dilation", 2, 1)):
            values = getattr(self, what)
            if (
                not isinstance(values, tuple)
                or len(values) != count
                or not all(isinstance(value, int) and value >= least for value in values)
            ):
                raise WindowError(f"window: {what} has {count} numbers from {least} on, not {values!r}")

    @classmethod
    def of(
        cls,
        kernel: Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
    ) -> Self:
        """Return a window from TVM's forms: one number for both directions, or two; four pads, two (h, w), or one."""
        top, left, bottom, right = _pads(padding)
        height, width = kernel
        return cls(
            (int(height), int(width)),
            _pair(strides, "strides"),
            (top, left, bottom, right),
            _pair(dilation, "dilation"),
        )

    @property
    def reach(self) -> tuple[int, int]:
        """Rows and columns from the window's first place to its last one, both included."""
        return (
            (self.kernel[0] - 1) * self.dilation[0] + 1,
            (self.kernel[1] - 1) * self.dilation[1] + 1,
        )

    @property
    def gaps(self) -> tuple[int, int]:
        """How far apart the rows and columns are that are read at all: a kernel of one row skips those in between."""
        rows, columns = (s if k == 1 else 1 for s, k in zip(self.strides, self.kernel, strict=True))
        return rows, columns

    def output(self, height: int, width: int) -> tuple[int, int]:
        """Return rows and columns of the result on an image; raises ``WindowError`` if the window does not fit."""
        top, left, bottom, right = self.padding
        padded = (height + top + bottom, width + left + right)
        if padded[0] < self.reach[0] or padded[1] < self.reach[1]:
            raise WindowError(
                f"window: {self.kernel[0]}x{self.kernel[1]} with dilation {self.dilation} reaches over "
                f"{self.reach[0]}x{self.reach[1]}, and the padded image is {padded[0]}x{padded[1]}"
            )
        return (
            (padded[0] - self.reach[0]) // self.strides[0] + 1,
            (padded[1] - self.reach[1]) // self.strides[1] + 1,
        )

    def touches(self, height: int, width: int) -> tuple[bool, bool]:
        """Return whether any row, and any column, of an image is read by any place of the result."""
        rows, columns = (
            any(0 <= place * stride + tap * step - before < size for place in range(count) for tap in range(taps))
            for size, count, taps, stride, step, before in zip(
                (height, width),
                self.output(height, width),
                self.kernel,
                self.strides,
                self.dilation,
                self.padding[:2],
                strict=True,
            )
        )
        return rows, columns

    def span(self, rows: int, columns: int) -> tuple[int, int]:
        """Return how many rows and columns of the padded image ``rows`` x ``columns`` of the result read."""
        return (
            (rows - 1) * self.strides[0] + self.reach[0],
            (columns - 1) * self.strides[1] + self.reach[1],
        )


def _pair(value: int | Sequence[int], what: str) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    if len(value) != 2:
        raise WindowError(f"window: {what} is one number or two, not {value!r}")
    return int(value[0]), int(value[1])


def _pads(value: int | Sequence[int]) -> tuple[int, int, int, int]:
    match [value] if isinstance(value, int) else list(value):
        case [both]:
            return both, both, both, both
        case [rows, columns]:
            return rows, columns, rows, columns
        case [top, left, bottom, right]:
            return top, left, bottom, right
        case _:
            raise WindowError(f"window: padding is one number, two (h, w) or four {_SIDES}, not {value!r}")

"""The window of a transposed convolution: what it makes of an image's size, and which element feeds which place.

Every element of the image is multiplied with the kernel and added to the result, ``strides`` apart; then ``padding`` is
cut off. Tests: tests/vta/topi/transposed/test_transposed_window.py.
"""

from dataclasses import dataclass
from typing import NamedTuple

from vta.topi.core.window import WindowError

__all__ = ["Direction", "TransposedWindow"]


class Direction(NamedTuple):
    """One direction of a transposed convolution, as a correlation with the flipped kernel.

    Place ``i`` of the result is the sum, over the taps ``d`` of the flipped kernel for which
    ``i + d * dilation + shift`` is a multiple of ``stride``, of element ``(i + d * dilation + shift) // stride`` of the
    image with ``before`` zeros in front.
    """

    kernel: int
    stride: int
    dilation: int
    before: int
    shift: int

    def reads(self, places: int) -> int:
        """Return how many elements, zeros in front included, the first ``places`` places of the result reach over."""
        return (places - 1 + (self.kernel - 1) * self.dilation + self.shift) // self.stride + 1

    def meets(self, places: int, size: int) -> bool:
        """Return whether the places reach into an image of ``size`` elements."""
        return self.shift // self.stride < self.before + size and self.reads(places) > self.before


@dataclass(frozen=True, slots=True)
class TransposedWindow:
    """``kernel`` rows and columns, ``dilation`` apart; ``padding`` (top, left, bottom, right) is cut off the result.

    ``output_padding`` rows and columns of the result are kept in addition at the bottom and on the right.
    """

    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    output_padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        rules = (("kernel", 2, 1), ("strides", 2, 1), ("padding", 4, 0), ("output_padding", 2, 0), ("dilation", 2, 1))
        for what, count, least in rules:
            values = getattr(self, what)
            if len(values) != count or any(not isinstance(value, int) or value < least for value in values):
                raise WindowError(f"transposed window: {what} has {count} numbers from {least} on, not {values!r}")
        for more, stride, dilation in zip(self.output_padding, self.strides, self.dilation, strict=True):
            if more and more >= max(stride, dilation):
                raise WindowError(
                    f"transposed window: output_padding is smaller than the stride (or the dilation), {stride}; "
                    f"got {self.output_padding}"
                )

    def output(self, height: int, width: int) -> tuple[int, int]:
        """Return rows and columns of the result; raises ``WindowError`` if the pads leave nothing of it."""
        found = tuple(
            (size - 1) * stride + (kernel - 1) * dilation + 1 + more - cut
            for size, stride, kernel, dilation, more, cut in zip(
                (height, width), self.strides, self.kernel, self.dilation, self.output_padding, self._cut, strict=True
            )
        )
        if min(found) < 1:
            raise WindowError(
                f"transposed window: pads (top, left, bottom, right) = {self.padding} leave nothing of the result, "
                f"{found[0]} x {found[1]}"
            )
        if not all(d.meets(n, size) for d, n, size in zip(self.directions, found, (height, width), strict=True)):
            raise WindowError(
                f"transposed window: pads (top, left, bottom, right) = {self.padding} cut off all that the image "
                f"gives; the {found[0]} x {found[1]} places that are left would all be zero"
            )
        return found[0], found[1]

    @property
    def _cut(self) -> tuple[int, int]:
        top, left, bottom, right = self.padding
        return top + bottom, left + right

    @property
    def directions(self) -> tuple[Direction, Direction]:
        """Rows and columns."""
        rows, columns = (
            self._direction(kernel, stride, dilation, pad)
            for kernel, stride, dilation, pad in zip(
                self.kernel, self.strides, self.dilation, self.padding[:2], strict=True
            )
        )
        return rows, columns

    def _direction(self, kernel: int, stride: int, dilation: int, pad: int) -> Direction:
        offset = (kernel - 1) * dilation - pad
        before = max(0, -(-offset // stride))
        return Direction(kernel, stride, dilation, before, before * stride - offset)

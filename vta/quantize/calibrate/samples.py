"""Calibration data: an array for each input of a model, the samples one after the other.

Tests: tests/vta/quantize/calibrate/test_samples.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from runtime.executor.operators.types import Array
from vta.quantize.errors import CalibrationError

__all__ = ["InputType", "Samples", "input_types"]

_BATCH_ELEMENTS = 1 << 19
"""Numbers of the inputs that are run at a time."""


@dataclass(frozen=True, slots=True)
class InputType:
    """An input of a model: its sizes, None where they are open, and its element type."""

    name: str
    shape: tuple[int | None, ...]
    dtype: np.dtype[np.generic]

    def __str__(self) -> str:
        return f"{self.name!r} of shape ({', '.join('?' if s is None else str(s) for s in self.shape)})"


def input_types(model: onnx.ModelProto) -> tuple[InputType, ...]:
    """Return the inputs of a model that are no constants."""
    constants = {tensor.name for tensor in model.graph.initializer}
    found = []
    for value in model.graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        dims = tuple(int(d.dim_value) if d.dim_value > 0 else None for d in tensor.shape.dim)
        found.append(InputType(value.name, dims, np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))))
    return tuple(found)


class Samples:
    """Arrays by input, whose first axis counts the samples."""

    def __init__(self, arrays: Mapping[str, Array], types: tuple[InputType, ...]) -> None:
        self.arrays = {each.name: _checked(arrays, each) for each in types}
        counts = {len(array) for array in self.arrays.values()}
        if len(counts) != 1 or 0 in counts:
            raise CalibrationError(
                f"the inputs have {' and '.join(map(str, sorted(counts)))} samples; give each the same number, at "
                "least one"
            )
        [self.count] = counts
        fixed = {each.shape[0] for each in types if each.shape} - {None}
        self._fixed = next(iter(fixed)) if fixed else None

    def batches(self, first: int = 0, last: int | None = None) -> Iterator[dict[str, Array]]:
        """Yield the samples from ``first`` up to ``last``, as many at a time as the model takes and memory bears."""
        end = self.count if last is None else min(last, self.count)
        size = self._fixed or max(1, _BATCH_ELEMENTS // max(1, sum(array[0].size for array in self.arrays.values())))
        for start in range(first, end, size):
            if self._fixed and start + size > self.count:
                return  # the model takes whole batches alone
            yield {
                name: array[start : min(start + size, end) if not self._fixed else start + size]
                for name, array in self.arrays.items()
            }

    def split(self) -> tuple["Samples", "Samples"]:
        """Return three quarters of the samples and the fourth one; all of them twice where they are few."""
        step = 4 * (self._fixed or 1)
        if self.count < 2 * step:
            return self, self
        held = (np.arange(self.count) // (self._fixed or 1)) % 4 == 3
        return self._chosen(~held), self._chosen(held)

    def head(self, count: int) -> "Samples":
        """Return the first ``count`` samples, or whole batches around them."""
        whole = -(-count // (self._fixed or 1)) * (self._fixed or 1)
        return self._chosen(np.arange(self.count) < whole)

    def _chosen(self, mask: Array) -> "Samples":
        made = Samples.__new__(Samples)
        made.arrays = {name: array[mask] for name, array in self.arrays.items()}
        made.count, made._fixed = int(mask.sum()), self._fixed
        return made


def _checked(arrays: Mapping[str, Array], wanted: InputType) -> Array:
    """Return an input's samples as the model takes them; raises ``CalibrationError``."""
    if wanted.name not in arrays:
        raise CalibrationError(f"the data have {', '.join(arrays) or 'nothing'}, and the model takes {wanted}")
    array = np.asarray(arrays[wanted.name])
    sizes = array.shape
    if len(sizes) != len(wanted.shape) or any(
        w is not None and w != s for w, s in zip(wanted.shape[1:], sizes[1:], strict=True)
    ):
        raise CalibrationError(
            f"the data are of shape {tuple(sizes)}, and the model takes {wanted}; the first axis counts samples"
        )
    if wanted.dtype.kind == "f":
        if array.dtype.kind not in "fiub":
            raise CalibrationError(f"the data of {wanted.name!r} are {array.dtype}, and the model takes {wanted.dtype}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise CalibrationError(
                f"the data of {wanted.name!r} have numbers that are not finite; look at how they are made"
            )
        return array.astype(wanted.dtype, copy=False)
    if array.dtype != wanted.dtype:
        raise CalibrationError(f"the data of {wanted.name!r} are {array.dtype}, and the model takes {wanted.dtype}")
    return array

"""Samples from .npy and .npz files, and from iterators. Tests: tests/vta/quantize/data/test_arrays.py."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from isa.files.array_file import ArrayFileError, read_arrays
from isa.limits import LimitError
from runtime.executor.operators.types import Array
from vta.quantize.calibrate.samples import InputType
from vta.quantize.errors import CalibrationError

__all__ = ["from_arrays", "from_iterator"]


def from_arrays(path: Path, types: Sequence[InputType], count: int) -> dict[str, Array]:
    """Return the first ``count`` samples of a file; an .npz has arrays by input, or one for the only input."""
    try:
        arrays: dict[str, Array] = dict(read_arrays(path))
    except (ArrayFileError, LimitError) as error:
        raise CalibrationError(str(error)) from None
    names = [each.name for each in types]
    if len(names) == 1 and len(arrays) == 1:
        arrays = dict(zip(names, arrays.values(), strict=True))
    missing = [name for name in names if name not in arrays]
    if missing:
        there = ", ".join(key or "one array without a name" for key in arrays) or "nothing"
        call = f"numpy.savez(FILE, {', '.join(f'{name}=...' for name in names)})"
        raise CalibrationError(
            f"{path}: it holds {there}, and the model's inputs are {', '.join(names)}; "
            f"save arrays of these names, as {call}"
        )
    scalars = [name for name in names if arrays[name].ndim == 0]
    if scalars:
        raise CalibrationError(f"{path}: {scalars[0]!r} is one number; the first axis of an array counts samples")
    return {name: arrays[name][:count] for name in names}


def from_iterator(
    samples: Iterable[Array | Mapping[str, Array]], types: Sequence[InputType], count: int
) -> dict[str, Array]:
    """Return up to ``count`` samples of an iterator: arrays without a batch axis, or dictionaries of them by input."""
    names = [each.name for each in types]
    parts: dict[str, list[Array]] = {name: [] for name in names}
    for number, sample in enumerate(islice(samples, count)):
        given = sample if isinstance(sample, Mapping) else {names[0]: np.asarray(sample)}
        if set(given) != set(names):
            raise CalibrationError(
                f"sample {number} has {', '.join(map(str, given)) or 'nothing'}, and the model takes {', '.join(names)}"
            )
        for name in names:
            value = np.asarray(given[name])
            if parts[name] and parts[name][0].shape != value.shape:
                raise CalibrationError(
                    f"sample {number} of {name!r} is of shape {value.shape}, and those before of {parts[name][0].shape}"
                )
            parts[name].append(value)
    if not parts[names[0]]:
        raise CalibrationError("the iterator gave no samples")
    return {name: np.stack(values) for name, values in parts.items()}

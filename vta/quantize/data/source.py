"""Data by their path: a folder of pictures, an .npy or .npz file. Tests: tests/vta/quantize/data/test_source.py."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from vta.quantize.calibrate.samples import InputType, Samples
from vta.quantize.data.arrays import from_arrays
from vta.quantize.data.pictures import Preprocessing, from_pictures
from vta.quantize.errors import CalibrationError

__all__ = ["load", "sized"]


def load(path: Path, types: Sequence[InputType], preprocessing: Preprocessing, count: int) -> Samples:
    """Return up to ``count`` samples for inputs of ``types``; raises ``CalibrationError`` with the path."""
    if count < 1:
        raise CalibrationError(f"at least one sample is needed, not {count}")
    if path.is_dir():
        if len(types) != 1:
            names = ", ".join(each.name for each in types)
            raise CalibrationError(
                f"{path}: a folder of pictures is for one input, and the model has {names}; give an .npz"
            )
        return Samples(from_pictures(path, types[0], preprocessing, count), tuple(types))
    if path.suffix in (".npy", ".npz"):
        return Samples(from_arrays(path, types, count), tuple(types))
    if not path.exists():
        raise CalibrationError(
            f"{path}: no such file or folder; data are a folder of pictures, an .npy or an .npz file"
        )
    raise CalibrationError(f"{path}: data are a folder of pictures, an .npy or an .npz file")


def sized(types: Sequence[InputType], shapes: Mapping[str, int | tuple[int, ...]]) -> tuple[InputType, ...]:
    """Return inputs with the sizes that are given for them by name."""
    made = []
    for each in types:
        given = shapes.get(each.name)
        if isinstance(given, tuple):
            if len(given) != len(each.shape):
                raise CalibrationError(f"the model takes {each}, and {len(given)} sizes were given")
            each = replace(each, shape=(each.shape[0], *given[1:]))
        made.append(each)
    return tuple(made)

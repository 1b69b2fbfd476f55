"""Data are found by what their path is; open sizes are filled in."""

from pathlib import Path

import numpy as np
import pytest

from vta.quantize import CalibrationError
from vta.quantize.calibrate.samples import InputType
from vta.quantize.data import Preprocessing, load
from vta.quantize.data.source import sized

A = InputType("a", (None, 3, None, None), np.dtype(np.float32))
B = InputType("b", (None, 2), np.dtype(np.float32))


def test_arrays_and_folders_are_told_apart(tmp_path: Path) -> None:
    np.save(tmp_path / "data.npy", np.ones((5, 2)))
    assert load(tmp_path / "data.npy", [B], Preprocessing(), 3).count == 3
    with pytest.raises(
        CalibrationError, match=r"a folder of pictures is for one input, and the model has a, b; give an"
    ):
        load(tmp_path, [A, B], Preprocessing(), 3)
    with pytest.raises(CalibrationError, match=r"no such file or folder; data are a folder of pictures"):
        load(tmp_path / "data.txt", [B], Preprocessing(), 3)
    (tmp_path / "data.txt").touch()
    with pytest.raises(CalibrationError, match=r"data.txt: data are a folder of pictures, an \.npy or an \.npz file"):
        load(tmp_path / "data.txt", [B], Preprocessing(), 3)
    with pytest.raises(CalibrationError, match=r"^at least one sample is needed, not 0$"):
        load(tmp_path / "data.npy", [B], Preprocessing(), 0)


def test_sizes_that_are_given_fill_open_ones() -> None:
    assert [each.shape for each in sized([A, B], {"a": (1, 3, 8, 9), "n": 1})] == [(None, 3, 8, 9), (None, 2)]
    with pytest.raises(CalibrationError, match=r"^the model takes 'b' of shape \(\?, 2\), and 3 sizes were given$"):
        sized([B], {"b": (1, 2, 3)})

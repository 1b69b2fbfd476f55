"""Samples from numpy's files and from iterators."""

from pathlib import Path

import numpy as np
import pytest

from vta.quantize import CalibrationError
from vta.quantize.calibrate.samples import InputType
from vta.quantize.data import from_arrays, from_iterator

A = InputType("a", (None, 2), np.dtype(np.float32))
B = InputType("b", (None, 3), np.dtype(np.float32))


def test_one_array_is_for_the_only_input_and_several_are_by_name(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.ones((5, 2)))
    np.savez(tmp_path / "named.npz", other=np.ones((5, 2)))
    np.savez(tmp_path / "two.npz", b=np.zeros((5, 3)), a=np.ones((5, 2)))
    assert from_arrays(tmp_path / "one.npy", [A], 3)["a"].shape == (3, 2)
    assert from_arrays(tmp_path / "named.npz", [A], 9)["a"].shape == (5, 2)
    assert {name: value.shape for name, value in from_arrays(tmp_path / "two.npz", [A, B], 4).items()} == {
        "a": (4, 2), "b": (4, 3),
    }  # fmt: skip
    with pytest.raises(
        CalibrationError,
        match=r"one\.npy: it holds one array without a name, and the model's inputs are a, b; "
        r"save arrays of these names, as numpy\.savez\(FILE, a=\.\.\., b=\.\.\.\)$",
    ):
        from_arrays(tmp_path / "one.npy", [A, B], 3)


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    np.save(tmp_path / "scalar.npy", np.array(1.0))
    with pytest.raises(
        CalibrationError, match=r"bad\.npy: no file of numpy; expected what numpy\.save or numpy\.savez wrote"
    ):
        from_arrays(tmp_path / "bad.npy", [A], 1)
    with pytest.raises(CalibrationError, match=r"missing\.npy: cannot be read: No such file or directory"):
        from_arrays(tmp_path / "missing.npy", [A], 1)
    with pytest.raises(CalibrationError, match=r"'a' is one number; the first axis of an array counts samples"):
        from_arrays(tmp_path / "scalar.npy", [A], 1)


def test_iterators_give_arrays_or_dictionaries_and_are_not_read_too_far() -> None:
    endless = (np.full(2, number) for number in iter(int, 1))
    assert from_iterator(endless, [A], 4)["a"].shape == (4, 2)
    both = [{"a": np.ones(2), "b": np.ones(3)}] * 2
    assert from_iterator(both, [A, B], 9)["b"].shape == (2, 3)


def test_iterators_that_do_not_fit_are_refused() -> None:
    with pytest.raises(CalibrationError, match=r"^the iterator gave no samples$"):
        from_iterator([], [A], 4)
    with pytest.raises(CalibrationError, match=r"^sample 1 of 'a' is of shape \(3,\), and those before of \(2,\)$"):
        from_iterator([np.ones(2), np.ones(3)], [A], 4)
    with pytest.raises(CalibrationError, match=r"^sample 0 has a, and the model takes a, b$"):
        from_iterator([np.ones(2)], [A, B], 4)

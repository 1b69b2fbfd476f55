"""Arrays in numpy's files: identity, and one sentence for whatever is damaged, hostile or too large."""

import contextlib
import io
import os
import random
import zipfile
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest

from isa.files.array_file import ArrayFileError, beside, exactly, read_arrays, write_arrays
from isa.limits import Limits

MIB = 1 << 20


def npy(array: npt.NDArray[np.generic]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_objects_are_not_pickled() -> None:
    with pytest.raises(ValueError, match="Object arrays cannot be saved when allow_pickle=False"):
        write_arrays(io.BytesIO(), {"a": np.array([{"any": "thing"}], dtype=object)})


def header(text: str, *, version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + len(text).to_bytes(2 if version == b"\x01\x00" else 4, "little") + text.encode()


def refusal(path: Path, limits: Limits | None = None) -> str:
    with pytest.raises(ArrayFileError) as caught:
        read_arrays(path, limits=limits or Limits())
    return str(caught.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize("dtype", ["int8", "uint16", "<i4", ">i4", "float32", "bool", "float64", "uint64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_numpy_saves_is_read(tmp_path: Path, dtype: str, order: Literal["C", "F"]) -> None:
    array = np.asarray(np.random.default_rng(1).integers(0, 2, (3, 0, 2) if order == "F" else (3, 4, 2)), dtype, order)
    np.save(tmp_path / "a.npy", array)
    [(name, read)] = read_arrays(tmp_path / "a.npy").items()
    assert name == ""
    assert read.dtype == np.dtype(dtype).newbyteorder("=")
    np.testing.assert_array_equal(read, array)


def test_archives_are_read_and_written(tmp_path: Path) -> None:
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "a": np.arange(6).reshape(2, 3),
        "b/c": np.array(3.5, np.float32),
        "file": np.zeros((0, 4), np.int8),
    }
    np.savez_compressed(tmp_path / "numpy.npz", a=arrays["a"])
    np.testing.assert_array_equal(read_arrays(tmp_path / "numpy.npz")["a"], arrays["a"])
    with open(tmp_path / "ours.npz", "wb") as file:
        write_arrays(file, arrays)
    ours = read_arrays(tmp_path / "ours.npz")
    with np.load(tmp_path / "ours.npz") as loaded:
        assert list(loaded.files) == list(ours) == list(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(ours[name], array)
            np.testing.assert_array_equal(loaded[name], array)
    again = io.BytesIO()
    write_arrays(again, arrays)
    assert again.getvalue() == (tmp_path / "ours.npz").read_bytes()


def test_nothing_but_numbers_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.array([{"a": 1}], object), allow_pickle=True)
    assert refusal(path) == "the array holds '|O', which are no numbers that are known here"
    np.save(path, np.array(["a"]))
    assert refusal(path) == "the array holds '<U1', which are no numbers that are known here"
    path.write_text("1 2 3")
    assert refusal(path) == "no file of numpy; expected what numpy.save or numpy.savez wrote"
    assert refusal(tmp_path / "none.npy") == "cannot be read: No such file or directory"
    one = "{'descr': '|i1', 'fortran_order': False, 'shape': (1,), }\n"
    path.write_bytes(header(one, version=b"\x03\x00") + b"1")
    assert read_arrays(path)[""].tolist() == [ord("1")]
    path.write_bytes(header(one, version=b"\x04\x00") + b"1")
    assert refusal(path) == "the array has format version 4.0, and 1.0 to 3.0 are known"
    path.write_bytes(header("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }\n") + b"1234")
    assert refusal(path) == "the array holds [('a', '<i4')], which are no numbers that are known here"
    for text in (
        "{'descr': '|i1', 'shape': (1,)}",
        "{'descr': '|i1', 'fortran_order': False, 'shape': (1.0,)}",
        "((",
        "1",
        "{[]: 1}",
    ):
        path.write_bytes(header(text))
        assert refusal(path) == "the array is damaged: its header says not what type and shape it has"
    path.write_bytes(header(" " * 60_000))
    assert refusal(path) == "the array has a header of 60,000 bytes, and 10,000 at most are read"
    path.write_bytes(b"\x93NUMPY")
    assert refusal(path) == "the array is damaged: it does not begin as numpy's files do"


def test_a_header_cannot_ask_for_more_than_there_is(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(header("{'descr': '|i1', 'fortran_order': False, 'shape': (99999999999,), }\n"))
    assert refusal(path) == (
        "the array would take 186.3 GiB of memory, and the limit is 256 MiB (for a file of 78 bytes); raise it "
        "(--max-memory) if you trust the file"
    )
    path.write_bytes(header("{'descr': '|i1', 'fortran_order': False, 'shape': (99,), }\n") + b"abc")
    assert refusal(path) == "the array is cut off after 3 of its 99 bytes"
    path.write_bytes(header("{'descr': '|i1', 'fortran_order': False, 'shape': (-1, 2), }\n") + b"abc")
    assert refusal(path) == "the array has 2 dimensions, the smallest -1; no array has those"
    path.write_bytes(header(f"{{'descr': '|i1', 'fortran_order': False, 'shape': (0, {10**20}), }}\n"))
    assert refusal(path) == f"the array has an extent of {10**20}; no array has that"
    path.write_bytes(header(f"{{'descr': '|i1', 'fortran_order': False, 'shape': ({'1,' * 70}), }}\n") + b"a")
    assert refusal(path) == "the array has 70 dimensions, the smallest 1; no array has those"


def test_an_archive_that_unpacks_to_much_is_refused_until_it_is_trusted(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, a=np.zeros(200 * MIB, np.int8))
    assert path.stat().st_size < MIB
    assert refusal(path).startswith("array 'a' would take 400 MiB of memory, and the limit is 256 MiB (for a file of ")
    assert read_arrays(path, limits=Limits(memory=401 * MIB))["a"].size == 200 * MIB


@pytest.mark.parametrize("packed", [False, True])
def test_damaged_files_are_a_sentence_or_arrays(tmp_path: Path, packed: bool) -> None:
    rng, path = random.Random(5), tmp_path / "a"
    file = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(file, a=np.arange(40), b=np.ones((3, 3), np.float32))
    for whole in (npy(np.arange(40)), file.getvalue()):
        for _ in range(400):
            changed = bytearray(whole)
            for _ in range(rng.choice((1, 1, 4))):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            if rng.random() < 0.2:
                del changed[rng.randrange(len(changed)) :]
            path.write_bytes(changed)
            with contextlib.suppress(ArrayFileError):
                read_arrays(path)


def test_an_encrypted_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", npy(np.arange(3)))
    data = bytearray(path.read_bytes())
    for at in (6, data.index(b"PK\x01\x02") + 8):
        data[at] |= 1
    path.write_bytes(data)
    assert refusal(path) == "the archive is damaged, encrypted, or packed in a way that numpy does not use"


def test_numbers_become_a_type_that_holds_them_all_and_no_other() -> None:
    for low, high, dtype, right in (
        (-128, 127, "int8", True), (-129, 0, "int8", False), (0, 255, "uint8", True), (-1, 0, "uint8", False),
        (0, 1 << 24, "float32", True), (0, (1 << 24) + 1, "float32", False),
    ):  # fmt: skip
        array = np.array([low, high])
        if right:
            made = exactly(array, dtype, "x")
            assert made.dtype == dtype
            assert made.tolist() == [low, high]
            continue
        with pytest.raises(ArrayFileError, match=rf"^x goes from {low} to {high}, and {dtype} holds "):
            exactly(array, dtype, "x")
    assert exactly(np.array([], np.int64), "int8", "x").dtype == np.int8
    assert exactly(np.array([True, False]), "int8", "x").tolist() == [1, 0]
    huge = np.array([2**64 - 1], np.uint64)
    with pytest.raises(ArrayFileError, match=r"^x goes from 18446744073709551615 to "):
        exactly(huge, "int32", "x")
    with pytest.raises(ArrayFileError) as caught:
        exactly(np.array([1.0]), "int8", "x")
    assert str(caught.value) == "x holds float64, and int8 is wanted; convert it with .astype('int8')"


def test_files_beside_a_file_lie_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    os.symlink(tmp_path, folder / "link")
    assert beside(folder, "inner/a b.npy") == folder / "inner/a b.npy"
    assert beside(folder, "./a.npy") == folder / "a.npy"
    for name in ("../a.npy", "/etc/passwd", "", "link/a.npy", "inner/../../a.npy", "a\0b"):
        with pytest.raises(ArrayFileError, match="is not the name of a file in the same folder or below it"):
            beside(folder, name)


def test_an_array_may_have_as_many_dimensions_as_numpy_lets_it(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(npy(np.ones((1,) * 32, np.int8)))
    [array] = read_arrays(path).values()
    assert array.shape == (1,) * 32

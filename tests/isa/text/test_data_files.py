"""``.data NAME file=F``: type, shape and contents from a file beside the program."""

from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest

from isa.limits import Limits
from isa.text.assembler import AssemblyError, assemble_file
from isa.text.disassembler import disassemble

REST = "\n.text\n    finish\n"
MIB = 1 << 20


def segment(folder: Path, line: str, limits: Limits | None = None) -> npt.NDArray[np.generic]:
    path = folder / "p.vta"
    path.write_text(line + REST)
    [found] = assemble_file(path, limits=limits or Limits()).memory.segments
    return found.array()


def refusal(folder: Path, line: str, limits: Limits | None = None) -> str:
    with pytest.raises(AssemblyError) as caught:
        segment(folder, line, limits)
    return str(caught.value).removeprefix(f"{folder / 'p.vta'}:1: ")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["int8", ">i4", "float32"])
def test_an_array_brings_its_type_and_shape(tmp_path: Path, dtype: str, order: Literal["C", "F"]) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype, order=order)
    np.save(tmp_path / "a.npy", array)
    found = segment(tmp_path, ".data A file=a.npy")
    assert found.dtype.name == np.dtype(dtype).name
    np.testing.assert_array_equal(found, array)


def test_an_archive_has_the_array_by_the_region_s_name_and_a_name_may_have_blanks(tmp_path: Path) -> None:
    (tmp_path / "in here").mkdir()
    np.savez(tmp_path / "in here" / "all of them.npz", A=np.array([1, 2], np.int8), B=np.array([3], np.int8))
    np.testing.assert_array_equal(segment(tmp_path, '.data B file="in here/all of them.npz" ; B = 3'), [3])
    assert refusal(tmp_path, '.data C file="in here/all of them.npz"') == (
        "in here/all of them.npz has no array 'C'; its arrays: A, B"
    )


def test_another_type_is_taken_where_it_holds_all_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[-128, 127]]))
    assert segment(tmp_path, ".data A type=int8 shape=1,2 file=a.npy").dtype == np.int8
    assert refusal(tmp_path, ".data A type=uint8 file=a.npy") == "a.npy goes from -128 to 127, and uint8 holds 0 to 255"
    assert refusal(tmp_path, ".data A file=a.npy type=int8 shape=2") == "a.npy has shape (1, 2), not (2,)"
    assert refusal(tmp_path, ".data A file=a.npy") == (
        "a.npy holds int64, which is none of int8, uint8, int16, uint16, int32, uint32, float32; say type="
    )


def test_files_elsewhere_and_no_files_are_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, ".data A file=../a.npy") == (
        "'../a.npy' is not the name of a file in the same folder or below it, without links"
    )
    assert refusal(tmp_path, ".data A file=a.npy") == f"{tmp_path / 'a.npy'}: cannot be read: No such file or directory"


def test_one_file_many_times_has_one_limit(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", A=np.zeros(60 * MIB, np.int8), B=np.zeros(60 * MIB, np.int8))
    text = ".data A file=a.npz\n.data B file=a.npz"
    assert refusal(tmp_path, text).startswith(
        f"{tmp_path / 'p.vta'}:2: B would take 180 MiB of memory, and the limit is 256 MiB, less the 180 MiB that "
        "other parts took (for a number of files of "
    )


def test_the_disassembly_has_the_numbers_themselves(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([5, 1, 7], np.int8))
    (tmp_path / "p.vta").write_text(".data A file=a.npy" + REST)
    text = disassemble(assemble_file(tmp_path / "p.vta"))
    assert ".data A address=0x1000 type=int8 shape=3\n    5 1 7" in text

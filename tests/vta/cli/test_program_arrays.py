"""``vta run`` of programs with arrays from files and into files, and the note of the checker."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from vta.cli.app import app

ADD = Path(__file__).resolve().parents[3] / "examples" / "add_three.vta"


def vta(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(params=["text", "binary"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """C = A + 3 in both forms."""
    if request.param == "text":
        return ADD
    assert vta("asm", ADD, "-o", tmp_path / "add.vtab").exit_code == 0
    return tmp_path / "add.vtab"


@pytest.mark.parametrize("target", ["sim", "reference", "tsim"])
def test_arrays_go_in_and_out(program: Path, tmp_path: Path, target: str) -> None:
    given = np.random.default_rng(1).integers(-1000, 1000, (64, 16))
    np.save(tmp_path / "a.npy", given)
    np.savez(tmp_path / "a.npz", A=given.astype(np.int32))
    wanted = (given + 3).astype(np.int8)
    for option in ("a.npy", "a.npz"):
        result = vta("run", program, "--target", target, "--input", tmp_path / option, "--save", tmp_path / "o.npz")
        assert result.exit_code == 0, result.output
        with np.load(tmp_path / "o.npz") as saved:
            np.testing.assert_array_equal(saved["C"], wanted)
    result = vta("run", program, "--input", f"A={tmp_path / 'a.npz'}", "--save", tmp_path / "o.npz")
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("name", "array", "text"),
    [
        ("a.npy", np.zeros((64, 15), np.int32), "a.npy: data 'A' has shape (64, 16), and the array (64, 15)"),
        ("a.npy", np.zeros((64, 16)), "a.npy, for data 'A', holds float64, and int32 is wanted"),
        (
            "a.npy",
            np.full((64, 16), 1 << 40),
            "a.npy, for data 'A', goes from 1099511627776 to 1099511627776, ",
        ),
        ("a.npz", {"B": np.zeros(1)}, "it has no data 'B' for --input "),
        ("a.npz", b"PK", "a.npz: the archive is damaged"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, name: str, array: object, text: str) -> None:
    path = tmp_path / name
    if isinstance(array, bytes):
        path.write_bytes(array)
    elif isinstance(array, dict):
        np.savez(path, **array)
    else:
        np.save(path, array)
    result = vta("run", ADD, "--input", path)
    assert result.exit_code == 1
    assert text in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_name_that_is_no_data_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((64, 16), np.int32))
    result = vta("run", ADD, "--input", f"B={tmp_path / 'a.npy'}")
    assert result.exit_code == 1
    assert result.stderr.endswith("; its data: A\n")


def test_what_check_objects_to_is_noted_of_text_programs(tmp_path: Path) -> None:
    racy = tmp_path / "racy.vta"
    racy.write_text(
        ADD.read_text().replace(
            " push_next\n    store dram=C x=64 pop_prev push_prev", "\n    store dram=C x=64 push_prev"
        )
    )
    result = vta("run", racy)
    assert result.exit_code == 0, result.output
    note = result.stderr
    assert note.startswith(f"note: {racy}: it ran, and `vta check` finds ")
    assert note.count("\n") == 1
    [first] = [line for line in vta("check", racy).stdout.splitlines() if ": error: " in line][:1]
    assert note.strip().endswith(first.partition(": error: ")[2])
    assert vta("run", racy, "--no-check").stderr == ""
    assert vta("asm", racy, "-o", tmp_path / "racy.vtab").exit_code == 0
    assert vta("run", tmp_path / "racy.vtab").stderr == ""
    assert vta("run", tmp_path / "racy.vtab", "--check").stderr.startswith("note: ")
    assert vta("run", ADD).stderr == ""
    script = tmp_path / "s.py"
    script.write_text("")
    assert vta("run", script, "--check").exit_code == 2

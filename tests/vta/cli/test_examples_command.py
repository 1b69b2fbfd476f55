"""``vta examples``: the tutorials are listed, copied, and written over nothing."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from vta.cli.app import app
from vta.cli.commands.examples import examples_folder
from vta.cli.reporting import UserError


def vta(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_the_tutorials_are_listed() -> None:
    result = vta("examples")
    assert {"add_three.vta", "convolution.py", "matrix_multiply.py", "vector_add.py"} <= set(result.stdout.split())
    assert result.stderr == "vta examples --copy FOLDER copies them\n"


def test_a_copy_is_the_same_and_runs(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    result = vta("examples", "--copy", folder)
    assert result.exit_code == 0
    assert f"`vta run {folder / 'vector_add.py'}` runs the first tutorial" in result.stdout
    home = examples_folder()
    copied = [path for path in folder.rglob("*") if path.is_file()]
    assert len(copied) == int(result.stdout.split(": ")[1].split()[0])
    assert all(path.read_bytes() == (home / path.relative_to(folder)).read_bytes() for path in copied)
    assert vta("run", folder / "add_three.vta").exit_code == 0


def test_nothing_is_written_over(tmp_path: Path) -> None:
    mine = tmp_path / "vector_add.py"
    mine.write_text("mine")
    result = vta("examples", "--copy", tmp_path)
    assert (result.exit_code, result.stderr) == (1, f"error: {mine}: there is a file already; name another folder\n")
    assert [path.name for path in tmp_path.iterdir()] == ["vector_add.py"]
    assert mine.read_text() == "mine"


def test_an_installation_without_examples_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("vta.__file__", str(tmp_path / "vta" / "__init__.py"))
    with pytest.raises(UserError) as error:
        examples_folder()
    assert str(error.value) == f"{tmp_path / 'vta'}: no examples lie in this installation; install vta-toolchain again"

"""A user's file with the name of a package of ours: a sentence where it hides that, a note where it is hidden."""

import subprocess
import sys
from pathlib import Path

import pytest

import vta
from tests.support.turns import few
from vta.own_packages import OWN, ShadowedError, file_in_the_way, require_own_packages

HOME = Path(vta.__file__).resolve().parents[1]
SCRIPT = "import vta\nprint(vta.get_env())\n"


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def hide(folder: Path, name: str, *, package: bool) -> Path:
    """Put a module or a package called ``name`` into the folder; return what the sentence should name."""
    if not package:
        path = folder / f"{name}.py"
        path.write_text("def mine(): ...\n")
        return path
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("def mine(): ...\n")
    return folder / name


def sentence(hiding: Path, name: str) -> str:
    return (
        f"error: {hiding}: Python imports this as {name!r}, which must be the toolchain's own package {HOME / name}; "
        f"rename it, or move it out of {hiding.parent}\n"
    )


@pytest.mark.parametrize("package", [False, True], ids=["file", "folder"])
@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("arguments", [("script.py",), ("-m", "vta.cli", "--version")], ids=["script", "-m vta.cli"])
def test_what_hides_a_package_is_named_in_one_sentence(
    tmp_path: Path, name: str, package: bool, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    hiding = hide(tmp_path, name, package=package)
    result = python(tmp_path, *arguments)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", sentence(hiding, name))


def test_a_module_that_was_imported_before_is_named_too(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(f"import runtime\n{SCRIPT}")
    hiding = hide(tmp_path, "runtime", package=False)
    assert python(tmp_path, "script.py").stderr == sentence(hiding, "runtime")


def test_a_script_that_has_the_name_itself_is_named(tmp_path: Path) -> None:
    (tmp_path / "isa.py").write_text(SCRIPT)
    assert python(tmp_path, "isa.py").stderr == sentence(tmp_path / "isa.py", "isa")


def test_a_folder_that_is_no_package_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "runtime").mkdir()
    result = python(tmp_path, "script.py")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("command", ["vta.cli run", "vta.compat"])
@pytest.mark.parametrize("name", few(OWN))
def test_a_script_within_the_command_line_gets_the_package_and_a_note(tmp_path: Path, name: str, command: str) -> None:
    (tmp_path / "beside").mkdir()
    script = tmp_path / "beside" / "script.py"
    script.write_text(f"import {name}\n{name}.mine()\n")
    hidden = hide(script.parent, name, package=False)
    result = python(tmp_path, "-m", *command.split(), "beside/script.py")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-2:] == [
        f"AttributeError: module {name!r} has no attribute 'mine'",
        f"note: {hidden} was not imported: its name is that of a package of this toolchain",
    ]


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vta.own_packages.OWN", ("no_such_package",))
    with pytest.raises(ShadowedError) as error:
        require_own_packages()
    assert str(error.value) == (
        f"{HOME / 'no_such_package'}: this package of the toolchain is missing; install vta-toolchain again"
    )


def test_the_toolchains_own_folder_has_nothing_in_the_way() -> None:
    assert file_in_the_way(HOME) is None

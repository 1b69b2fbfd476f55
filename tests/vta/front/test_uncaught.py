"""A plain ``python script.py`` ends with our errors in one sentence, with its own in Python's traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vta import uncaught

OURS = "from vta import te\n\ndef f():\n    te.placeholder((0.5,), name='x')\n\nf()\n"
SENTENCE = "dimension 0 of 'x': expected an integer or an integer expression, got 0.5 of type float32"


def python(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(OURS)
    return path


def test_an_error_of_ours_is_one_sentence_with_the_line_of_the_script(script: Path) -> None:
    result = python(script)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", f"error: {script}:4: {SENTENCE}\n")


def test_without_a_script_it_is_the_sentence_alone() -> None:
    assert python("-c", OURS).stderr == f"error: {SENTENCE}\n"


@pytest.mark.parametrize(
    "command", [(), ("-m", "vta.cli", "run"), ("-m", "vta.compat")], ids=["python", "run", "compat"]
)
def test_the_variable_keeps_the_traceback(script: Path, command: tuple[str, ...]) -> None:
    lines = python(*command, script, VTA_TRACEBACK="1").stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == f"vta.te.tensor.TensorError: {SENTENCE}"


def test_an_error_of_the_script_is_pythons_traceback(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("import vta\nvta.te\n1 / 0\n")
    lines = python(path).stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == f'  File "{path}", line 3, in <module>'
    assert lines[-1] == "ZeroDivisionError: division by zero"


def test_an_error_that_the_script_made_of_ours_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(
        "from vta import te\ntry:\n    te.placeholder((0.5,))\nexcept ValueError as e:\n    raise OSError from e\n"
    )
    assert python(path).stderr.splitlines()[-1] == "OSError"


def test_another_hook_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def mine(*_: object) -> None:
        raise AssertionError("not called")

    monkeypatch.setattr(sys, "excepthook", mine)
    uncaught.install()
    assert sys.excepthook is mine


def test_someone_who_types_the_lines_sees_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    uncaught.install()
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    from vta.te import TensorError

    error = TensorError("too wide")
    sys.excepthook(TensorError, error, None)
    assert capsys.readouterr().err == "vta.te.tensor.TensorError: too wide\n"

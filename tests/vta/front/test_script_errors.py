"""How a failed script is described."""

import runpy
from pathlib import Path

import pytest

from vta.script_errors import describe
from vta.te import TensorError


def failure(script: Path, text: str) -> str:
    script.write_text(text)
    with pytest.raises(Exception) as error:  # noqa: PT011  # whatever the script raises
        runpy.run_path(str(script))
    return describe(error.value, script)


def test_our_errors_are_a_sentence_with_the_line_of_the_script(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    text = "from vta import te\n\ndef f():\n    te.placeholder((0.5,), name='x')\n\nf()\n"
    described = failure(script, text)
    assert described.startswith(f"error: {script}:4: ")
    assert described.count("\n") == 1


def test_an_error_that_the_script_is_not_part_of_names_the_script_alone() -> None:
    assert describe(TensorError("too wide"), Path("s.py")) == "error: s.py: too wide\n"


def test_other_errors_are_tracebacks_that_begin_in_the_script(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    described = failure(script, "import json\njson.loads('{')\n")
    assert described.splitlines()[1] == f'  File "{script}", line 2, in <module>'
    assert "runpy" not in described
    assert described.splitlines()[-1].startswith("json.decoder.JSONDecodeError: ")


def test_a_script_that_does_not_compile_shows_where(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    lines = failure(script, "def f(:\n").splitlines()
    assert lines[0] == f'  File "{script}", line 1'
    assert lines[-1] == "SyntaxError: invalid syntax"

"""``vta explain``."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from isa.text.assembler import assemble
from runtime.session import Session
from tests.support.runtime.recorded_runs import some_program
from vta.cli.app import app
from vta.inspect.trace import recording

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def vta(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "t"
    assert vta("run", EXAMPLES / "matrix_multiply.py", "--target", "tsim", "--record", path).exit_code == 0
    return path


def test_the_bound_and_the_best_change_come_first(trace: Path) -> None:
    result = vta("explain", trace)
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "cycles, bound by loads: moving inputs and weights is " in text
    assert text.index("memory port twice as wide") < text.index("one more buffer for loads")
    assert "HardwareConfig.data_width" in text


def test_where_the_command_can_be_run_is_said_in_another_folder(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = "(where matrix_multiply.py lies, with its arguments: a trace knows the name of the file alone)\n"
    monkeypatch.chdir(tmp_path)
    assert note in vta("explain", trace).stdout
    monkeypatch.chdir(EXAMPLES)
    assert note not in vta("explain", trace).stdout


def test_what_cannot_be_explained_is_an_error(trace: Path, tmp_path: Path) -> None:
    assert vta("explain", trace, "--launch", 3).stderr == f"error: {trace}: there is no launch 3; the trace has 1\n"
    path = tmp_path / "sim"
    vta("run", EXAMPLES / "add_three.vta", "--record", path)
    result = vta("explain", path)
    assert result.exit_code == 1
    assert result.stderr == f"error: {path}: launch 0: device 'sim' has no clock; record with --target tsim\n"


def test_a_launch_that_failed_gets_a_sentence_and_the_others_are_explained(tmp_path: Path) -> None:
    path, stuck = tmp_path / "t", assemble(".text\nnop.compute pop_prev\nfinish")
    session = Session(stuck.config, "tsim")
    with recording(session, path):
        session.run_program(some_program(0))
        with pytest.raises(Exception, match="deadlock"):
            session.run_program(stuck)
        session.run_program(some_program(1))
    result = vta("explain", path)
    assert result.exit_code == 1
    assert result.stderr == f"error: {path}: launch 1: the launch failed, so there is no whole run to explain\n"
    assert [line.split(":")[0] for line in result.stdout.splitlines() if line.startswith("launch ")] == [
        "launch 0",
        "launch 2",
    ]
    assert "all launches, by graph node" in result.stdout
    alone = vta("explain", path, "--launch", 1)
    assert (alone.exit_code, alone.stdout, alone.stderr) == (1, "", result.stderr)

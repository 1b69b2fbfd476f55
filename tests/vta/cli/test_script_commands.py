"""``vta run SCRIPT.py`` and ``vta lower SCRIPT.py``."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from vta.cli.app import app

ROOT = Path(__file__).resolve().parents[3]
MATRIX_MULTIPLY = ROOT / "examples" / "matrix_multiply.py"


def vta(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def script(folder: Path, text: str) -> Path:
    path = folder / "script.py"
    path.write_text(text)
    return path


def test_run_gives_a_script_its_arguments_and_its_folder(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("answer = 42\n")
    path = script(tmp_path, "import sys, beside\nprint(__name__, sys.argv[1:], beside.answer)\n")
    result = vta("run", path, "one", "two")
    assert (result.exit_code, result.stdout) == (0, "__main__ ['one', 'two'] 42\n")


@pytest.mark.parametrize("target", ["sim", "reference", "tsim"])
def test_run_prints_the_counters_of_the_device_that_was_asked_for(target: str) -> None:
    result = vta("run", MATRIX_MULTIPLY, "--target", target, "--stats")
    assert result.exit_code == 0, result.output
    assert "matrix multiply: equal to numpy" in result.stdout
    assert "│ gemm_counter" in result.stdout
    assert "65,536" in result.stdout


def test_run_uses_the_configuration_it_is_given(tmp_path: Path) -> None:
    path = script(tmp_path, "import vta\nprint(vta.get_env().MODEL)\n")
    config = ROOT / "isa" / "presets" / "b2k16.json"
    assert vta("run", path, "--config", config, "--target", "reference").stdout == (
        "reference_2x16_i8w8a32_15_15_18_17\n"
    )


def test_the_environment_is_the_default_again_after_a_run(tmp_path: Path) -> None:
    path = script(tmp_path, "raise SystemExit(3)\n")
    config = ROOT / "isa" / "presets" / "b2k16.json"
    assert vta("run", path, "--config", config).exit_code == 3
    path = script(tmp_path, "import vta\nprint(vta.get_env().BATCH)\n")
    assert vta("run", path).stdout == "1\n"


def test_the_trace_lists_each_instruction_with_the_line_that_it_came_from(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    assert vta("run", MATRIX_MULTIPLY, "--trace", trace).exit_code == 0
    head, *lines = trace.read_text().splitlines()
    assert head == "launch 0: 56 instructions, 2 micro-ops, 1x16_i8w8a32_15_15_18_17"
    assert len(lines) == 56
    load = next(line for line in lines if "load.wgt" in line)
    line_number = int(load.rsplit(":", 1)[1].removesuffix(")"))
    assert "; W_buf (matrix_multiply.py:" in load
    assert "W_buf" in MATRIX_MULTIPLY.read_text().splitlines()[line_number - 1]


def test_our_errors_name_the_line_of_the_script(tmp_path: Path) -> None:
    path = script(tmp_path, "from vta import te\n\nte.placeholder((4,), dtype='int7x')\n")
    result = vta("run", path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {path}:3: ")
    assert "int7x" in result.stderr
    assert "Traceback" not in result.output


def test_a_script_of_the_users_own_fails_with_its_own_traceback(tmp_path: Path) -> None:
    path = script(tmp_path, "def f():\n    return 1 / 0\n\nf()\n")
    result = subprocess.run(
        [sys.executable, "-m", "vta.cli", "run", str(path)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert result.returncode == 1
    assert "ZeroDivisionError" in result.stderr
    assert f'File "{path}", line 4' in result.stderr
    assert "vta/cli" not in result.stderr


def test_a_script_that_does_not_parse_is_shown_without_our_own_code(tmp_path: Path) -> None:
    path = script(tmp_path, "x = (\n")
    result = vta("run", path)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[:2] == [f'  File "{path}", line 1', "    x = ("]
    assert "runpy" not in result.stderr


def test_the_systems_error_names_the_line_of_the_script_and_the_file(tmp_path: Path) -> None:
    path = script(tmp_path, "open('nowhere/at-all')\n")
    assert vta("run", path).stderr == f"error: {path}:1: nowhere/at-all: No such file or directory\n"


def test_lower_prints_the_final_program_alone_on_stdout() -> None:
    result = vta("lower", MATRIX_MULTIPLY)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("@gemm = primfn(")
    assert '@tir.call_extern("VTALoadBuffer2D"' in result.stdout
    assert "equal to numpy" not in result.stdout
    assert "equal to numpy" in result.stderr


def test_lower_prints_what_a_script_lowered_before_it_failed(tmp_path: Path) -> None:
    path = script(
        tmp_path,
        "import vta\nfrom vta import te\na = te.placeholder((4,), name='a')\nb = te.compute((4,), lambda i: a[i] + 1)\n"
        "vta.lower(te.create_schedule(b.op), [a, b], name='early')\nraise SystemExit('late')\n",
    )
    result = vta("lower", path)
    assert result.exit_code == 1
    assert result.stdout.startswith("@early = primfn(")


def test_lower_prints_after_the_pass_that_was_asked_for() -> None:
    text = vta("lower", MATRIX_MULTIPLY, "--after", "tir.StorageFlatten").stdout
    assert '"pragma_dma_copy" = 1' in text
    assert "VTALoadBuffer2D" not in text


def test_lower_after_all_prints_each_pass_that_changed_something() -> None:
    text = vta("lower", MATRIX_MULTIPLY, "--after", "all").stdout
    headings = [line for line in text.splitlines() if line.startswith("=== ")]
    assert headings[:2] == ["=== after InjectConv2DTransposeSkip", "=== after StorageFlatten"]
    assert "=== after InjectDMAIntrin" in headings
    assert "=== after InjectSkipCopy" not in headings


def test_lower_refuses_an_unknown_pass_with_a_suggestion() -> None:
    result = vta("lower", MATRIX_MULTIPLY, "--after", "InjectDMA")
    assert result.exit_code == 1
    assert "--after InjectDMA: no such pass; did you mean 'InjectDMAIntrin'? passes are " in result.stderr


def test_lower_says_when_a_script_compiles_nothing(tmp_path: Path) -> None:
    path = script(tmp_path, "print('hello')\n")
    result = vta("lower", path)
    assert result.exit_code == 1
    assert (
        result.stderr
        == f"hello\nerror: {path}: nothing was lowered; the script calls neither vta.lower nor vta.build\n"
    )

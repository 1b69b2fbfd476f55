"""Scripts written for TVM run unmodified: the tutorials, in a process of their own, with an empty environment."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = Path(__file__).parent / "scripts"


def run(*arguments: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vta.compat", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=env or {}, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize(
    ("script", "last"),
    [
        ("vta_get_started.py", "Successful vector add test!"),
        ("matrix_multiply.py", "Successful matrix multiply test!"),
        ("matrix_multiply_opt.py", "Successful blocked matrix multiply test!"),
    ],
)
def test_br_071_and_br_151_a_tutorial_runs(script: str, last: str) -> None:
    done = run(SCRIPTS / script)
    assert done.stderr == ""
    assert done.returncode == 0
    assert last in done.stdout.splitlines()
    assert "primfn(" in done.stdout
    assert "VTALoadBuffer2D" in done.stdout


def test_a_script_in_the_style_of_the_unit_tests_runs() -> None:
    done = run(SCRIPTS / "instructions.py")
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "padded load 960", "padded load 960", "gemm default", "gemm smt", "Successful instruction tests!",
    ]  # fmt: skip


def test_arguments_and_the_folder_of_the_script_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "helper_of_script.py").write_text("VALUE = 7\n")
    script = tmp_path / "s.py"
    script.write_text(
        "import sys, tvm, helper_of_script\nprint(__name__, sys.argv[1:], helper_of_script.VALUE, tvm.__version__)\n"
    )
    done = run(script, "--size", "3")
    assert done.stdout == "__main__ ['--size', '3'] 7 0.9.0\n"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("import tvm; tvm.te.compile", "AttributeError: tvm.te.compile is not among what vta.compat answers for TVM"),
        ("from tvm import autotvm", "cannot import name 'autotvm'"),
        (
            "import tvm.relay",
            "ModuleNotFoundError: tvm.relay is not among what vta.compat answers for TVM; there is tvm",
        ),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, line: str, text: str) -> None:
    script = tmp_path / "s.py"
    script.write_text(line + "\n")
    done = run(script)
    assert done.returncode == 1
    assert text in done.stderr


def test_the_command_line_is_checked(tmp_path: Path) -> None:
    usage = "usage: python -m vta.compat SCRIPT.py [ARGUMENTS]\n"
    nothing = run()
    assert (nothing.returncode, nothing.stderr) == (2, usage)
    helped = run("--help")
    assert (helped.returncode, helped.stderr) == (0, usage)
    missing = run(tmp_path / "no.py")
    assert (missing.returncode, missing.stderr) == (2, f"vta.compat: {tmp_path / 'no.py'} is not a file\n{usage}")

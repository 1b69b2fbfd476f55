"""Scripts written for TVM run unmodified: the tutorials, in a process of their own, with an empty environment."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.support.relay.float_models import float_model, node
from vta.relay.interpreter import run as interpret
from vta.relay.onnx.importer import from_onnx

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


def test_the_cpu_matrix_multiply_runs_step_by_step() -> None:
    done = run(SCRIPTS / "optimize_gemm.py")
    assert (done.returncode, done.stderr) == (0, "")
    *steps, last = (line for line in done.stdout.splitlines() if line and line[0].isalpha())
    assert steps == [
        "baseline", "blocking", "vectorization", "loop permutation", "array packing", "block caching",
        "parallelization",
    ]  # fmt: skip
    assert last == "Successful CPU matrix multiply!"
    assert '"parallel"' in done.stdout


@pytest.mark.long
def test_a_script_that_tunes_runs(tmp_path: Path) -> None:
    done = run(SCRIPTS / "tune_relay.py", tmp_path / "records.log")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["(1, 8, 8, 16, 16, 3, 3)", "Successful tuning test!"]
    assert "[Task 1/1] 2/2: " in done.stderr
    assert len((tmp_path / "records.log").read_text().splitlines()) == 1


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
        ("import tvm; tvm.te.compile", "tvm.te.compile is not among what vta.compat answers for TVM; did you mean "),
        ("from tvm import micro", "tvm.micro is not among what vta.compat answers for TVM; there is tvm, "),
        ("from tvm.contrib import cublas", "tvm.contrib.cublas is not among what vta.compat answers "),
        ("import tvm.micro", "tvm.micro is not among what vta.compat answers for TVM; there is tvm, "),
        (
            "from tvm.relay import testing",
            "tvm.relay.testing is not among what vta.compat answers ",
        ),
    ],
)
def test_what_is_not_there_is_named_in_one_line(tmp_path: Path, line: str, text: str) -> None:
    script = tmp_path / "s.py"
    script.write_text(f"import sys\n{line}\n")
    done = run(script)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {script}:2: {text}")
    assert done.stderr.count("\n") == 1


def test_a_script_may_do_without_what_is_not_there(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text(
        "import tvm\ntry:\n    from tvm import micro\nexcept ImportError:\n"
        "    print('no micro', hasattr(tvm, 'webgpu'))\n"
    )
    assert run(script).stdout == "no micro False\n"


def test_an_error_of_the_script_is_its_own_traceback(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text("import tvm\n1 / 0\n")
    done = run(script)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert (lines[0], lines[-1]) == (
        "Traceback (most recent call last):", "ZeroDivisionError: division by zero",
    )  # fmt: skip
    assert [line for line in lines if line.startswith("  File")] == [f'  File "{script}", line 2, in <module>']
    script.write_text("import sys, tvm\nsys.exit(3)\n")
    assert run(script).returncode == 3


def test_the_command_line_is_that_of_vta_run(tmp_path: Path) -> None:
    nothing = run()
    assert nothing.returncode == 2
    assert "Missing argument 'FILE'" in nothing.stderr
    helped = run("--help")
    assert helped.returncode == 0
    assert all(option in helped.stdout for option in ("python -m vta.compat", "--target", "--config", "--record"))
    missing = run(tmp_path / "no.py")
    assert missing.returncode == 1
    assert missing.stderr.startswith(f"error: {tmp_path / 'no.py'}: no such file; expected ")


def test_targets_configurations_recordings_and_checks_are_options(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text(
        "import sys, tvm, vta\nenv = vta.get_env()\nprint(env.MODEL, sys.argv[1:])\n"
        "exec(open(sys.argv[2]).read()) if len(sys.argv) > 2 else None\n"
    )
    done = run("--target", "reference", "--config", "b2k16", script, "--target")
    assert done.stdout == "reference_2x16_i8w8a32_15_15_18_17 ['--target']\n"
    trace = tmp_path / "t"
    done = run("--target", "tsim", "--record", trace, "--sanitize", SCRIPTS / "vta_get_started.py")
    assert done.returncode == 0, done.stderr
    assert "Successful vector add test!" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1].endswith("vta_get_started.py: 1 launch sanitized, no errors")
    assert trace.stat().st_size > 100


def test_vta_run_and_lower_recognise_a_script_for_tvm() -> None:
    script = SCRIPTS / "vta_get_started.py"
    for words, text in ((["run"], "Successful vector add test!"), (["lower"], "C_buf")):
        command = [sys.executable, "-m", "vta.cli", *words, str(script)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        assert text in done.stdout


def test_an_onnx_classifier_is_deployed_by_an_unmodified_script(tmp_path: Path) -> None:
    """The founding flow: import, quantise, pack, build for two devices, run; the numbers are close to float."""
    model, image = deployed_network(), np.random.default_rng(5).standard_normal((1, 3, 16, 16)).astype(np.float32)
    onnx.save(model, tmp_path / "model.onnx")
    np.save(tmp_path / "image.npy", image)
    done = run(SCRIPTS / "deploy_onnx.py", tmp_path / "model.onnx", tmp_path / "image.npy", tmp_path / "out.npy")
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "Successful classification!"
    found = np.load(tmp_path / "out.npy")
    exact = np.asarray(interpret(from_onnx(model, {"image": (1, 3, 16, 16)}), [image]))
    assert (found * exact).sum() / np.linalg.norm(found) / np.linalg.norm(exact) > 0.98


def deployed_network() -> onnx.ModelProto:
    """Return a residual network with the stem of a ResNet."""
    rng = np.random.default_rng(2)

    def weight(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)

    weights = {
        "w0": weight(16, 3, 7, 7), "b0": weight(16, 1)[:, 0], "w1": weight(16, 16, 3, 3), "b1": weight(16, 1)[:, 0],
        "w2": weight(16, 16, 3, 3), "w3": weight(32, 16, 3, 3), "w4": weight(32, 16, 1, 1), "wd": weight(10, 32),
        "bd": weight(10, 1)[:, 0],
    }  # fmt: skip
    nodes = [
        node("Conv", ["image", "w0", "b0"], "c0", pads=[3] * 4, strides=[2, 2]), node("Relu", ["c0"], "r0"),
        node("MaxPool", ["r0"], "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
        node("Conv", ["pool", "w1", "b1"], "c1", pads=[1] * 4), node("Relu", ["c1"], "r1"),
        node("Conv", ["r1", "w2"], "c2", pads=[1] * 4), node("Add", ["c2", "pool"], "s2"), node("Relu", ["s2"], "r2"),
        node("Conv", ["r2", "w3"], "c3", pads=[1] * 4, strides=[2, 2]),
        node("Conv", ["r2", "w4"], "c4", strides=[2, 2]),
        node("Add", ["c3", "c4"], "s4"), node("Relu", ["s4"], "r4"), node("GlobalAveragePool", ["r4"], "average"),
        node("Flatten", ["average"], "features"), node("Gemm", ["features", "wd", "bd"], "logits", transB=1),
    ]  # fmt: skip
    return float_model(nodes, weights, outputs=["logits"], image=("n", 3, 16, 16))

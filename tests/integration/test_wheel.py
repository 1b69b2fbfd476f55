"""BR-054: the built package works from any folder, with no file beside it and no environment variable."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import numpy as np, vta
from vta import te

assert ".whl" in vta.__file__, vta.__file__
env = vta.get_env()
shape = (2, 4, env.BATCH, env.BLOCK_OUT)
a = te.placeholder(shape, name="A", dtype=env.acc_dtype)
buf = te.compute(shape, lambda *i: a(*i), "buf")
twice = te.compute(shape, lambda *i: buf(*i) + buf(*i), "twice")
c = te.compute(shape, lambda *i: twice(*i).astype(env.out_dtype), "C")
s = te.create_schedule(c.op)
for tensor, pragma in ((buf, env.dma_copy), (twice, env.alu)):
    s[tensor].set_scope(env.acc_scope)
    s[tensor].pragma(s[tensor].op.axis[0], pragma)
s[c].pragma(s[c].op.axis[0], env.dma_copy)
f = vta.build(s, [a, c], env.target)
device = vta.rpc.LocalSession().ext_dev(0)
values = np.arange(np.prod(shape), dtype=np.int32).reshape(shape) % 50
out = vta.nd.empty(shape, "int8", device)
f(vta.nd.array(values, device), out)
np.testing.assert_array_equal(out.numpy(), values * 2)
print("equal to numpy on", env.MODEL)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel."""
    pytest.importorskip("hatchling", reason="the wheel is built with hatchling, which pip installs for itself")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    [path] = folder.glob("*.whl")
    return path


def test_br_054_a_program_runs_from_the_wheel_in_another_folder(wheel: Path, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env={"PYTHONPATH": str(wheel)}, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout == "equal to numpy on sim_1x16_i8w8a32_15_15_18_17\n"


def test_br_054_a_configuration_file_is_honoured(wheel: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text((ROOT / "config" / "vta_config.json").read_text().replace('"LOG_BATCH": 0', '"LOG_BATCH": 1'))
    code = f"import vta\nwith vta.Environment({str(path)!r}) as env: print(vta.get_env().MODEL)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(wheel)}, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    assert (done.stderr, done.stdout) == ("", "sim_2x16_i8w8a32_15_15_18_17\n")


def test_the_wheel_has_the_packages_and_nothing_of_the_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split(os.sep)[0].split("/")[0] for name in names}
    assert {"vta", "isa", "runtime", "hw"} <= tops
    assert not tops & {"tests", "bench", "examples", "config"}
    assert "vta/compat/__main__.py" in names
    assert "isa/presets/b1k8.json" in names
    assert set(names) >= {f"vta/{path}" for path in ("examples/add_three.vta", "examples/vector_add.py")}
    assert {f"{package}/py.typed" for package in ("vta", "isa", "runtime", "hw")} <= set(names)


def test_the_description_for_an_index_leads_to_no_file(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    text = archive.read(name).decode()
    assert "Description-Content-Type: text/markdown" in text
    assert "# VTA toolchain" in text
    assert not re.search(r"\]\((?!https?:)", text)
    assert "`docs/inspection.md`" in text


def test_the_source_distribution_has_what_a_clone_needs(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="it is built with hatchling, which pip installs for itself")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    [path] = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {
        "Makefile", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "hatch_build.py", "pyproject.toml",
        "tests/conftest.py", "docs/json.md", "examples/add_three.vta", "bench/mutants.py", "config/vta_config.json",
    }  # fmt: skip

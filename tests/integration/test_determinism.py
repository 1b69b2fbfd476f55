"""The same input makes the same bytes: in every process, with every hash seed, in other folders, on every Python.

What is made is in ``tests.support.artefacts``. Pythons that are not installed, or without the packages, are named.
"""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.artefacts import MAKERS

ROOT = Path(__file__).resolve().parents[2]
NEEDED = "import numpy, llvmlite, amaranth, vcd, typer, rich, msgpack, pyosys, onnx, onnxruntime"
VERSIONS = ("3.11", "3.12", "3.13")


def digests(python: str, folder: Path, hash_seed: str) -> dict[str, str]:
    """Return the digests of all artefacts, made by ``python`` in ``folder``."""
    environment = {
        **os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT), "NO_COLOR": "1",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }  # fmt: skip
    command = [python, "-m", "tests.support.artefacts"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return dict(line.rsplit(": ", 1) for line in done.stdout.splitlines())


@functools.cache
def expected() -> Mapping[str, str]:
    """Return the digests of this Python with hash seed 0."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return digests(sys.executable, Path(folder), "0")


def test_everything_is_made() -> None:
    assert set(expected()) == set(MAKERS)


@pytest.mark.parametrize("hash_seed", ["1", pytest.param("random", marks=pytest.mark.long)])
def test_artefacts_are_the_same_with_every_hash_seed(hash_seed: str, tmp_path: Path) -> None:
    assert digests(sys.executable, tmp_path, hash_seed) == expected()


@pytest.mark.parametrize("version", VERSIONS)
def test_artefacts_are_the_same_on_every_python(version: str, tmp_path: Path) -> None:
    if sys.version.startswith(version):
        pytest.skip("this is the Python that all are compared with")
    python = os.environ.get(f"VTA_PYTHON_{version.replace('.', '_')}") or shutil.which(f"python{version}")
    if python is None:
        pytest.skip(f"python{version} is not installed")
    if subprocess.run([python, "-c", NEEDED], capture_output=True, check=False).returncode:
        pytest.skip(f"python{version} does not have the packages that the toolchain needs")
    assert digests(python, tmp_path, "0") == expected()

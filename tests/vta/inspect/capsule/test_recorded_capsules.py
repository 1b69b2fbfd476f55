"""Capsules that another machine wrote: they replay here to the same memory, cycles and errors, on every code path.

``recorded`` has three programs, and of each a capsule that ``vta run PROGRAM --target T --capsule FILE`` wrote, with
``--target sim`` and ``tsim``. Write them anew when the hardware takes another number of cycles, or a message changes:
``pytest tests/vta/inspect/capsule/test_recorded_capsules.py --update-golden``.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from runtime.devices import functional
from runtime.sim.code_path import CodePath, host_code_paths
from vta.cli.app import app
from vta.inspect.capsule import Capsule, load_capsule, replay

ROOT = Path(__file__).resolve().parents[4]
FOLDER = Path(__file__).resolve().parent / "recorded"
PROGRAMS = ("product", "stuck", "beyond")
ENDS = {
    "product": ("finished", ""),
    "stuck": (
        "DeadlockError",
        "deadlock: load: nothing left; compute: instruction 9 waits for a token store->compute; "
        "store: instruction 8 waits for a token compute->store",
    ),
    "beyond": (
        "ExecutionError",
        "instruction 8: OUT elements 2045 to 2054 are out of range, the buffer has 2048 elements",
    ),
}
DIGEST = "0fd7e837621f5391672a904a6600dd5874500e8dafbec9d43c6ec225bc3f48e5"
"""Of what A, W, bias and C hold after the product: written here, too, so that no capsule can say something else."""


def path_of(program: str, device: str) -> Path:
    return FOLDER / f"{program}.{device}.capsule"


def capsule_of(program: str, device: str) -> Capsule:
    return load_capsule(path_of(program, device))


def vta(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module", autouse=True)
def _written_anew(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--update-golden"):
        return
    for program in PROGRAMS:
        for device in ("sim", "tsim"):
            vta("run", FOLDER / f"{program}.vta", "--target", device, "--capsule", path_of(program, device))


@pytest.mark.parametrize("device", ["sim", "tsim"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_recorded_capsule_replays_to_the_same_outcome(program: str, device: str) -> None:
    capsule = capsule_of(program, device)
    [outcome] = capsule.outcomes
    assert (outcome.kind, outcome.message) == ENDS[program]
    assert (outcome.cycles is None) == (device == "sim")
    assert replay(capsule) == []


@pytest.mark.parametrize("code_path", list(CodePath), ids=lambda code_path: code_path.value)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_replay_does_not_depend_on_the_processor(
    program: str, code_path: CodePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    if code_path not in host_code_paths():
        pytest.skip(f"this processor cannot run the {code_path.value} kernels")
    capsule, used = capsule_of(program, "sim"), []

    def host_code_path() -> CodePath:
        used.append(code_path)
        return code_path

    monkeypatch.setattr(functional, "host_code_path", host_code_path)
    assert replay(capsule) == []
    assert used == [code_path]


def test_both_devices_recorded_the_same_digest() -> None:
    digests = {capsule_of("product", device).outcomes[0].digest for device in ("sim", "tsim")}
    assert digests == {DIGEST}


def test_a_fresh_process_elsewhere_replays_them(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    for program, device in (("product", "tsim"), ("beyond", "sim")):
        copy = tmp_path / f"{program}.capsule"
        copy.write_bytes(path_of(program, device).read_bytes())
        command = [sys.executable, "-m", "vta.cli", "run", copy.name]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        [outcome] = capsule_of(program, device).outcomes
        how = f"fails as it did: {outcome.message}" if outcome.failed else "finishes with the same memory"
        cycles = f", {outcome.cycles} cycles" if device == "tsim" else ""
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{copy.name}: 1 launch on {device}: {how}{cycles}\n"


def test_they_are_small() -> None:
    assert all(len(path.read_bytes()) < 4096 for path in FOLDER.glob("*.capsule"))
    assert len(list(FOLDER.glob("*.capsule"))) == 2 * len(PROGRAMS)

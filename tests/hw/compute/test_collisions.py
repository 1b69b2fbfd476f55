# amaranth: UnusedElaboratable=no
"""What accumulator and micro-op memory promise: no element counts that was read while it was written."""

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib.memory import Memory

from hw.compute.stage import ComputeStage
from hw.scratchpad import Scratchpad
from hw.sim import compile_design
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from tests.support.hw import compute_rig
from tests.support.hw.compute_rig import COMPUTE_CONFIGS, ComputeRig, Stalls, random_compute_program


class Wrong(Scratchpad):
    """Gives the complement of an element that is read while it is written, or while any element is (``eager``)."""

    eager = False

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        m.submodules.memory = memory = Memory(shape=unsigned(self.width), depth=self.depth, init=[])
        read, write = memory.read_port(), memory.write_port(granularity=self.write_granularity)
        hit = Signal()
        same = (self.read_address == self.write_address) | int(self.eager)
        with m.If(self.read_enable):
            m.d.sync += hit.eq(self.write_enable.any() & same)
        m.d.comb += [
            read.addr.eq(self.read_address),
            read.en.eq(self.read_enable),
            self.read_data.eq(read.data ^ hit.replicate(self.width)),
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
            write.en.eq(self.write_enable),
        ]
        return m


def run(config: VTAConfig, monkeypatch: pytest.MonkeyPatch, seeds: range, *, eager: bool) -> None:
    monkeypatch.setattr(Wrong, "eager", eager)
    monkeypatch.setattr("hw.accumulator.Scratchpad", Wrong)
    monkeypatch.setattr("hw.compute.uop_memory.Scratchpad", Wrong)
    design = compile_design(ComputeStage(config, HardwareConfig()))
    monkeypatch.setattr(compute_rig, "_design", lambda *_: design)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        program, memory = random_compute_program(rng, config)
        stalls = Stalls() if seed % 2 else Stalls(insn=20, tokens=20, memory=30, store=30, latency=9)
        rig = ComputeRig(config, seed=seed, stalls=stalls, memory=memory)
        rig.run(program)
        rig.check()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "block4" else pytest.mark.long) for name in COMPUTE_CONFIGS]
)
def test_no_result_depends_on_an_element_that_was_read_while_it_was_written(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(COMPUTE_CONFIGS[name], monkeypatch, range(300, 306), eager=False)


def test_results_depend_on_other_elements_that_were_read_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError):
        run(COMPUTE_CONFIGS["block4"], monkeypatch, range(300, 306), eager=True)

# amaranth: UnusedElaboratable=no
"""Levels of logic in the netlist that yosys maps to ECP5: they are what the clock of a board depends on most."""

from pathlib import Path
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.dma.address import BurstWalker
from hw.fetch import InstructionFetch
from hw.fpga.levels import levels_by_module, long_paths, module_of
from hw.fpga.netlist import Netlist, NetlistCell
from hw.fpga.synthesis import mapped_netlist
from hw.memory_engine import MemoryEngine
from hw.verilog import component_to_verilog
from hw.verilog.yosys import run_yosys
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig


class Chain(wiring.Component):
    """Registers with the parity of four bits, and of seventeen, between them."""

    def __init__(self) -> None:
        super().__init__({"data": In(16), "parity": Out(1)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        kept = Signal(16)
        one = Signal()
        m.d.sync += [kept.eq(self.data), one.eq(kept[:4].xor()), self.parity.eq(kept.xor() ^ one)]
        return m


def test_levels_are_the_look_up_tables_between_two_registers() -> None:
    netlist = mapped_netlist(component_to_verilog(Chain(), name="chain"), "chain")
    assert levels_by_module(netlist) == {"top": 2}
    longest = max(long_paths(netlist), key=lambda path: path.levels)
    assert longest.start.startswith(("kept", "one"))
    assert longest.modules == ("top",)


def test_a_module_is_what_stands_before_the_last_dot() -> None:
    assert [module_of("core.fetch.reader.x_left"), module_of("x")] == ["core.fetch.reader", "top"]
    assert module_of("a.b.c.d.e", 2) == "a.b"


def mapped(component: wiring.Component) -> Any:
    return mapped_netlist(component_to_verilog(component, name="part"), "part")


def test_a_design_is_mapped_with_fewer_long_paths_than_by_the_usual_commands(tmp_path: Path) -> None:
    engine = MemoryEngine(
        addr_width=32, data_width=64, readers=4, urgent=2, read_bursts=16, read_beats=64, write_bursts=16
    )
    (tmp_path / "design.v").write_text(component_to_verilog(engine, name="part"))
    run_yosys("read_verilog design.v", "synth_ecp5 -top part", "write_json design.json", folder=tmp_path)
    usual = Netlist.from_json(tmp_path / "design.json", "part")
    ours = mapped(engine)
    assert not [cell for cell in ours.cells if cell.kind.startswith("$") and cell.kind != "$scopeinfo"]  # all is mapped
    found, before = (sum(path.levels > 3 for path in long_paths(netlist)) for netlist in (ours, usual))
    assert found < before


def test_a_request_of_the_walker_waits_for_no_burst() -> None:
    walker = BurstWalker(addr_width=32, data_width=64, burst_beats=64, size_width=24, ahead=True)
    netlist = mapped(walker)
    assert netlist.inputs_of("request_ready") == set()


def test_a_queue_of_instructions_waits_for_no_check_of_the_word() -> None:
    """What fetch offers comes from registers of checked words, two tables behind them at most."""
    vta = VTAConfig(log_block=2, log_uop_buff_size=9, log_inp_buff_size=9, log_wgt_buff_size=10, log_acc_buff_size=11)
    netlist = mapped(InstructionFetch(vta, HardwareConfig()))
    for queue in ("load", "compute", "store"):
        assert netlist.inputs_of(f"{queue}_valid") == set()
        assert netlist.inputs_of(f"{queue}_payload") == set()


def test_modules_are_known_by_three_parts_of_their_names() -> None:
    """A chain of two tables between registers four modules deep, and a carry between those of the top."""
    cells = (
        NetlistCell("core.fetch.reader.walker.x_FF", "TRELLIS_FF", {"DI": (5,)}, {"Q": (1,)}, {}),
        NetlistCell("core.fetch.reader.walker.t", "LUT4", {"A": (1,)}, {"Z": (4,)}, {}),
        NetlistCell("core.fetch.t", "LUT4", {"A": (4,), "B": (6,)}, {"Z": (5,)}, {}),
        NetlistCell("y_FF", "TRELLIS_FF", {"DI": (7,)}, {"Q": (6,)}, {}),
        NetlistCell("carry", "CCU2C", {"CIN": (6,)}, {"COUT": (7,)}, {}),
    )
    names = {1: "core.fetch.reader.walker.x", 4: "core.fetch.reader.walker.w", 5: "core.fetch.v", 6: "y", 7: "z"}
    netlist = Netlist({}, {}, cells, names)
    assert levels_by_module(netlist) == {"core.fetch.reader": 2, "top": 0}
    assert levels_by_module(netlist, 1) == {"core": 2, "top": 0}
    first, second = long_paths(netlist)
    assert (first.levels, first.start, first.end) == (2, "core.fetch.reader.walker.x", cells[0].name)
    assert first.modules == ("core.fetch.reader", "core.fetch")
    assert (second.levels, second.start, second.end, second.modules) == (0, "y", "y_FF", ("top",))
    assert module_of("a.b.c.d.e") == "a.b.c"

"""The core without its AXI4-Lite shell: control signals are driven as registers do it, inner signals are watched."""

from functools import reduce
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, ReadOnly
from cocotbext.axi import AxiBus, AxiRam

from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Finish
from tests.support.benches.cocotb_bench import PERIOD_NS, parameters, value

ADDRESS = 0x1000


async def start(dut: Any) -> AxiRam:
    """Zero all inputs, connect a memory with one FINISH in it, and reset."""
    given = parameters()
    for name in given["inputs"]:
        getattr(dut, name).value = 0
    Clock(dut.clk, PERIOD_NS, unit="ns").start()
    memory = AxiRam(AxiBus.from_prefix(dut, "axi"), dut.clk, dut.rst, size=1 << 16)
    memory.write(ADDRESS, encode(Finish(), VTAConfig.from_dict(given["vta"])).to_bytes(16, "little"))
    dut.rst.value = 1
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)
    return memory


@cocotb.test()
async def br_041_the_done_port_is_its_register_in_every_cycle(dut: Any) -> None:
    await start(dut)
    seen = []
    for cycle in range(80):
        await FallingEdge(dut.clk)
        dut.control_insn_address.value = ADDRESS
        dut.control_insn_count.value = 1
        dut.control_launch.value = int(cycle == 5)
        await ReadOnly()
        done = value(dut.control_done)
        assert done == value(dut.launch.control_done)
        seen.append(done)
    assert seen[:6] == [0] * 6, "zero after reset and until a launch has ended"
    assert seen[-1] == 1
    assert seen == sorted(seen), "it rises once"


@cocotb.test()
async def br_043_ports_and_documented_signals_are_plain_attributes(dut: Any) -> None:
    await start(dut)
    await FallingEdge(dut.clk)
    await ReadOnly()
    given = parameters()
    for name in (*given["inputs"], *given["outputs"], "clk", "rst"):
        assert getattr(dut, name).value is not None
    for path in given["signals"]:
        signal = reduce(getattr, path.split("."), dut)
        assert value(signal) == 0, f"{path} after reset"

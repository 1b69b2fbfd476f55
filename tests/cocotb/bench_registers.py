"""The control registers: a host writes and reads by the table of registers, and the core's side is watched."""

from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import CAUSES_OFFSET, MAP_BYTES, Access, control_registers
from tests.support.benches.cocotb_bench import Bench, value


class RegisterBench(Bench):
    """Registers with a host."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.vta = VTAConfig.from_dict(self.given["vta"])
        self.hardware = HardwareConfig(**self.given["hardware"])
        self.table = control_registers(self.vta, self.hardware)

    async def begin(self) -> None:
        """Reset and start the host."""
        await self.start()
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(self.dut, "bus"), self.dut.clk, self.dut.rst)
        await ClockCycles(self.dut.clk, 2)

    async def read(self, offset: int, words: int) -> int:
        """Return the number at ``offset``."""
        return int.from_bytes((await self.host.read(offset, 4 * words)).data, "little")


@cocotb.test()
async def br_034_registers_lie_where_the_table_says(dut: Any) -> None:
    bench = RegisterBench(dut)
    await bench.begin()
    writable = [entry for entry in bench.table if entry.access is Access.READ_WRITE]
    numbers = {entry.name: bench.random.getrandbits(entry.width) for entry in writable}
    for entry in writable:
        await bench.host.write(entry.offset, numbers[entry.name].to_bytes(4 * entry.words, "little"))
    for entry in writable:
        if entry.name != "irq_enable":
            assert value(getattr(dut, f"control_{entry.name}")) == numbers[entry.name], entry.name
        assert await bench.read(entry.offset, entry.words) == numbers[entry.name], entry.name
    taken = [entry.offset + 4 * word for entry in bench.table for word in range(entry.words)]
    assert len(taken) == len(set(taken)), "no two registers share a word"
    for offset in set(range(0, MAP_BYTES, 4)) - set(taken):
        assert await bench.read(offset, 1) == 0, f"{offset:#x} is no register"


@cocotb.test()
async def what_the_core_says_can_be_read(dut: Any) -> None:
    bench = RegisterBench(dut)
    await bench.begin()
    shown = [entry for entry in bench.table if entry.access is Access.READ and entry.name != "status"]
    shown = [entry for entry in shown if entry.offset < CAUSES_OFFSET]  # a memory beside the registers
    numbers = {entry.name: bench.random.getrandbits(entry.width) for entry in shown}
    for name, number in numbers.items():
        getattr(dut, f"control_{name}").value = number
    dut.control_busy.value = 1
    dut.control_error.value = 3
    await RisingEdge(dut.clk)
    for entry in shown:
        assert await bench.read(entry.offset, entry.words) == numbers[entry.name], entry.name
        await bench.host.write(entry.offset, bytes(4 * entry.words))
        assert await bench.read(entry.offset, entry.words) == numbers[entry.name], f"{entry.name} is read only"
    constants = [entry for entry in bench.table if entry.access is Access.CONSTANT]
    for entry in constants:
        assert await bench.read(entry.offset, entry.words) == entry.value, entry.name
    (status,) = (entry for entry in bench.table if entry.name == "status")
    assert await bench.read(status.offset, 1) == 3 << 8 | 0b101


@cocotb.test()
async def byte_enables_are_kept_and_launch_is_one_pulse(dut: Any) -> None:
    bench = RegisterBench(dut)
    await bench.begin()
    entry = next(entry for entry in bench.table if entry.name == "insn_address")
    await bench.host.write(entry.offset, bytes([1, 2, 3, 4]))
    await bench.host.write(entry.offset + 1, bytes([9, 8]))
    assert await bench.read(entry.offset, 1) == int.from_bytes(bytes([1, 9, 8, 4]), "little")
    pulses = 0

    async def count() -> None:
        nonlocal pulses
        while True:
            await RisingEdge(dut.clk)
            pulses += value(dut.control_launch)

    cocotb.start_soon(count())
    await bench.host.write(0, (0).to_bytes(4, "little"))
    await bench.host.write(0, (1).to_bytes(4, "little"))
    await ClockCycles(dut.clk, 5)
    assert pulses == 1

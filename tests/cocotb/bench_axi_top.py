"""The accelerator as a black box: a host on its AXI4-Lite port, a memory on its AXI4 port, programs from files.

To run a program of your own, save it (``vta`` or ``isa.program_file.save_program``) and name the file in ``programs``.
"""

import itertools
import logging
import random
import time
from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

from isa.config import VTAConfig
from isa.machine.causes import Cause
from isa.machine.counters import COUNTED_MODULES
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import Register, control_registers, register
from isa.program import Program
from isa.program_file import load_program
from isa.reference import execute
from tests.support.benches.cocotb_bench import PERIOD_NS, parameters, value

MEMORY_BYTES = 1 << 27
INSTRUCTIONS = 1 << 26
"""Where the bench puts the instructions: after everything that the programs name."""


class Host:
    """Registers by name, and memory, of one accelerator."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.given = parameters()
        self.vta = VTAConfig.from_dict(self.given["vta"])
        self.hardware = HardwareConfig(**self.given["hardware"])
        self.registers = control_registers(self.vta, self.hardware)
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        self.memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=MEMORY_BYTES)
        for part in (self.bus.read_if, self.bus.write_if, self.memory.read_if, self.memory.write_if):
            part.log.setLevel(logging.WARNING)  # not a line for each burst

    async def start(self) -> None:
        """Start the clock and reset."""
        Clock(self.dut.clk, PERIOD_NS, unit="ns").start()
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 4)
        self.dut.rst.value = 0
        await ClockCycles(self.dut.clk, 2)
        await self.write("irq_enable", 1)

    def stall(self, probability: float, seed: int) -> None:
        """Hold back every channel of the memory at random."""
        read, write = self.memory.read_if, self.memory.write_if
        channels = (read.ar_channel, read.r_channel, write.aw_channel, write.w_channel, write.b_channel)
        for index, channel in enumerate(channels):
            channel.set_pause_generator(_pauses(probability, seed + index))

    def _register(self, name: str) -> Register:
        return register(self.registers, name)

    async def read(self, name: str) -> int:
        """Return the value of a register."""
        entry = self._register(name)
        data = await self.bus.read(entry.offset, 4 * entry.words)
        return int.from_bytes(data.data, "little")

    async def write(self, name: str, number: int) -> None:
        """Write a register."""
        entry = self._register(name)
        await self.bus.write(entry.offset, number.to_bytes(4 * entry.words, "little"))

    def load(self, program: Program) -> None:
        """Put a program and the memory that it expects into DRAM."""
        for segment in program.memory.segments:
            self.memory.write(segment.address, segment.data)
        self.memory.write(program.uop_base, np.array(program.uops, "<u4").tobytes())
        self.memory.write(INSTRUCTIONS, program.words.astype("<u8").tobytes())

    async def launch(self, count: int) -> None:
        """Launch ``count`` instructions and wait for the interrupt, ``limit`` (a parameter) cycles at most.

        The log says every ``progress`` (a parameter) cycles how far and how fast the simulation is.
        """
        await self.begin(INSTRUCTIONS, count)
        await self.end()

    async def begin(self, address: int, count: int) -> None:
        """Launch ``count`` instructions, with the interrupt acknowledged."""
        await self.write("irq_pending", 1)
        await self.write("insn_address", address)
        await self.write("insn_count", count)
        await self.write("launch", 1)

    async def end(self) -> None:
        """Wait for the interrupt, as ``launch`` says."""
        limit, progress = self.given.get("limit", 50_000), self.given.get("progress", 100_000)
        assert value(self.dut.irq) == 0
        end = RisingEdge(self.dut.irq)
        begin = time.perf_counter()
        for cycles in range(progress, limit + progress, progress):
            if await First(end, ClockCycles(self.dut.clk, progress)) is end:
                await RisingEdge(self.dut.clk)
                return
            rate = cycles / (time.perf_counter() - begin)
            self.dut._log.info("%d cycles of this launch, %d cycles a second", cycles, rate)
        started = [await self.read(f"{name}_started") for name in ("load", "compute", "store")]
        raise AssertionError(f"no end within {limit} cycles; instructions started: {started}")

    def check(self, program: Program) -> None:
        """Compare everything the program names in DRAM with the reference interpreter."""
        expected = execute(program).memory
        for segment in program.memory.segments:
            got = np.frombuffer(self.memory.read(segment.address, segment.nbytes), np.uint8)
            want = expected[segment.address : segment.address + segment.nbytes]
            np.testing.assert_array_equal(got, want, err_msg=f"{segment.name} at {segment.address:#x}")


def _pauses(probability: float, seed: int) -> Iterator[bool]:
    generator = random.Random(seed)
    return (generator.random() < probability for _ in itertools.count())


@cocotb.test()
async def programs_give_what_the_reference_gives(dut: Any) -> None:
    host = Host(dut)
    await host.start()
    host.stall(host.given["stall"], host.given["seed"])
    for path in host.given["programs"]:
        program = load_program(path)
        host.load(program)
        await host.launch(len(program.instructions))
        assert await host.read("status") == 0b010, "done alone"
        host.check(program)
        cycles = await host.read("cycles")
        dut._log.info("%s: %d instructions, %d cycles", path, len(program.instructions), cycles)


@cocotb.test()
async def the_digests_say_what_was_built(dut: Any) -> None:
    host = Host(dut)
    await host.start()
    assert await host.read("vta_digest") == int(host.vta.digest, 16)
    assert await host.read("hardware_digest") == int(host.hardware.digest, 16)


@cocotb.test()
async def an_illegal_word_stops_with_its_place_and_the_next_launch_is_clean(dut: Any) -> None:
    host = Host(dut)
    await host.start()
    program = load_program(host.given["programs"][0])
    host.load(program)
    place = 3
    host.memory.write(INSTRUCTIONS + 16 * place, bytes([7]) + bytes(15))  # 7 is no opcode
    await host.launch(len(program.instructions))
    status = await host.read("status")
    assert status & 0b110 == 0b100, "error, not done"
    assert ErrorCode(status >> 8) is ErrorCode.OPCODE
    assert await host.read("error_place") == place
    while await host.read("status") & 1:
        pass
    host.load(program)
    await host.launch(len(program.instructions))
    assert await host.read("status") == 0b010
    host.check(program)


def first_program(host: Host) -> Program:
    """Put the first program into memory and return it."""
    program = load_program(host.given["programs"][0])
    host.load(program)
    return program


async def good_launch(host: Host, program: Program) -> None:
    """Run a program and compare memory."""
    host.load(program)
    await host.launch(len(program.instructions))
    assert await host.read("status") == 0b010
    host.check(program)


async def given_up_at(host: Host, program: Program, cycles: int, register_name: str) -> None:
    """Launch, and write 1 to a register some cycles later; return when the accelerator is idle again."""
    await host.begin(INSTRUCTIONS, len(program.instructions))
    await ClockCycles(host.dut.clk, cycles)
    await host.write(register_name, 1)
    for _ in range(2000):
        if not await host.read("status") & 1:
            return
    raise AssertionError(f"busy long after {register_name}")


@cocotb.test()
async def registers_that_change_in_a_launch_change_the_next_one_only(dut: Any) -> None:
    host = Host(dut)
    await host.start()
    host.stall(host.given["stall"], host.given["seed"])
    program = first_program(host)
    names = ("insn_address", "insn_count", "uop_base", "inp_base", "wgt_base", "acc_base", "out_base")
    for _ in range(3):
        host.load(program)
        await host.begin(INSTRUCTIONS, len(program.instructions))
        for name in names:
            await host.write(name, 0x10000)
        await host.end()
        assert await host.read("status") == 0b010
        host.check(program)
        for name in names:
            assert await host.read(name) == 0x10000
            await host.write(name, 0)


@cocotb.test()
async def an_abort_ends_with_its_code_and_the_next_launch_is_right(dut: Any) -> None:
    host = Host(dut)
    await host.start()
    host.stall(host.given["stall"], host.given["seed"])
    program = first_program(host)
    ended = []
    for cycles in (0, 7, 40, 90, 150, 220, 300):
        await given_up_at(host, program, cycles, "abort")
        status = await host.read("status")
        ended.append(status)
        if status != 0b010:
            assert status == 0b100 | ErrorCode.ABORTED << 8
            assert await host.read("error_place") == await host.read("fetched")
        assert value(dut.irq) == 1
        await good_launch(host, program)
    assert ended[0] != 0b010
    await host.write("irq_pending", 1)
    await host.write("abort", 1)  # there is no launch
    assert await host.read("status") == 0b010
    assert value(dut.irq) == 0


@cocotb.test()
async def a_reset_with_transfers_under_way_leaves_the_next_launch_right(dut: Any) -> None:
    host = Host(dut)
    await host.start()
    host.stall(host.given["stall"], host.given["seed"])
    program = first_program(host)
    for cycles in (5, 20, 33, 61, 80, 120, 160, 240):
        await given_up_at(host, program, cycles, "reset")
        for name in ("insn_address", "insn_count", "irq_enable", "irq_pending"):
            assert await host.read(name) == 0
        assert value(dut.irq) == 0
        assert await host.read("status") in (0, 0b010)
        await host.write("irq_enable", 1)
        await good_launch(host, program)


@cocotb.test()
async def the_interrupt_stays_until_it_is_acknowledged_and_is_silent_unless_enabled(dut: Any) -> None:
    host = Host(dut)
    await host.start()
    program = first_program(host)
    await host.launch(len(program.instructions))
    await ClockCycles(dut.clk, 50)
    assert value(dut.irq) == 1
    assert await host.read("irq_pending") == 1
    await host.write("irq_pending", 1)
    assert value(dut.irq) == 0
    await host.write("irq_enable", 0)
    await host.begin(INSTRUCTIONS, len(program.instructions))
    while await host.read("status") & 1:
        assert value(dut.irq) == 0
    assert await host.read("irq_pending") == 1
    assert value(dut.irq) == 0
    await host.write("irq_enable", 1)
    assert value(dut.irq) == 1


@cocotb.test()
async def a_base_below_a_beat_is_refused_with_its_place(dut: Any) -> None:
    host = Host(dut)
    await host.start()
    program = first_program(host)
    for place, name in enumerate(("uop_base", "inp_base", "wgt_base", "acc_base", "out_base"), start=1):
        await host.write(name, 4)
        await host.launch(len(program.instructions))
        assert await host.read("status") == 0b100 | ErrorCode.MISALIGNED << 8
        assert await host.read("error_place") == place
        assert await host.read("read_beats") == 0
        await host.write(name, 0)
    await host.begin(INSTRUCTIONS + 8, 1)
    await host.end()
    assert await host.read("error_place") == 0
    await good_launch(host, program)


@cocotb.test()
async def the_counters_of_causes_sum_to_the_cycles(dut: Any) -> None:
    host = Host(dut)
    await host.start()
    host.stall(host.given["stall"], host.given["seed"])
    program = first_program(host)
    for _ in range(2):
        await good_launch(host, program)
        cycles = await host.read("cycles")
        for module in COUNTED_MODULES:
            counts = {cause: await host.read(f"{module}_{cause.name.lower()}") for cause in Cause}
            assert sum(counts.values()) == cycles, module
            assert counts[Cause.WORK] > 0, module

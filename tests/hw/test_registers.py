# amaranth: UnusedElaboratable=no
import random
from typing import Any

import pytest

from docs.make_pages.registers_page import register_page
from hw.registers import ControlRegisters
from hw.sim import compile_design
from isa.config import VTAConfig
from isa.machine.causes import Cause
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import CAUSES_OFFSET, MAP_BYTES, Access, control_registers, register
from tests.support.hw.axil_host import AxilHost
from tests.support.hw.hw_streams import run_benches

VTA = VTAConfig()
WIDE = HardwareConfig(addr_width=40)


def test_registers_lie_apart_and_within_the_map() -> None:
    taken: dict[Any, Any] = {}
    for entry in control_registers(VTA, WIDE):
        assert entry.offset % (4 * entry.words) == 0
        assert entry.width <= 64
        for word in range(entry.words):
            place = entry.offset + 4 * word
            assert place not in taken, f"{entry.name} and {taken[place]}"
            taken[place] = entry.name
    assert max(taken) < MAP_BYTES


def test_the_page_lists_every_register() -> None:
    page = register_page(VTA, WIDE)
    for entry in control_registers(VTA, WIDE):
        assert f"| {entry.offset:#04x} | {entry.name} | {entry.width} |" in page
    assert f"constant {int(VTA.digest, 16):#x}" in page


def test_an_unknown_register_is_a_key_error() -> None:
    with pytest.raises(KeyError, match=r"^'nothing'$"):
        register(control_registers(VTA, WIDE), "nothing")


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_what_is_written_drives_the_core_and_reads_back(stall: float) -> None:
    block = ControlRegisters(VTA, WIDE)
    generator = random.Random(1)
    host = AxilHost(block.bus, seed=2, stall=stall)
    entries = [entry for entry in block.registers if entry.access is Access.READ_WRITE]
    values = {entry.name: generator.getrandbits(entry.width) for entry in entries}

    async def bench(ctx: Any) -> None:
        for entry in entries:
            for word in range(entry.words):
                await host.write(ctx, entry.offset + 4 * word, values[entry.name] >> 32 * word & 0xFFFFFFFF)
        for entry in entries:
            if entry.name != "irq_enable":
                assert ctx.get(getattr(block.control, entry.name)) == values[entry.name]
            low = await host.read(ctx, entry.offset)
            high = await host.read(ctx, entry.offset + 4) if entry.words == 2 else 0
            assert low | high << 32 == values[entry.name]
        assert await host.read(ctx, MAP_BYTES - 4) == 0

    run_benches(block, bench)


def test_byte_strobes_select_what_is_written() -> None:
    block = ControlRegisters(VTA, WIDE)
    host = AxilHost(block.bus)

    async def bench(ctx: Any) -> None:
        await host.write(ctx, 0x10, 0x11223344)
        await host.write(ctx, 0x10, 0xAABBCCDD, strobe=0b0101)
        assert await host.read(ctx, 0x10) == 0x11BB33DD

    run_benches(block, bench)


def test_launch_is_a_pulse_of_one_cycle_and_only_a_one_begins() -> None:
    block = ControlRegisters(VTA, WIDE)
    host = AxilHost(block.bus)
    pulses: list[Any] = []

    async def bench(ctx: Any) -> None:
        await host.write(ctx, 0x00, 0)
        await host.write(ctx, 0x00, 1, strobe=0b1110)
        assert pulses == []
        await host.write(ctx, 0x00, 1)
        for _ in range(5):
            await ctx.tick()
        assert await host.read(ctx, 0x00) == 0

    async def watch(ctx: Any) -> None:
        while True:
            (launch,) = (await ctx.tick().sample(block.control.launch))[2:]
            if launch:
                pulses.append(1)

    run_benches(block, bench, background=(watch,))
    assert pulses == [1]


async def _launch_ends(ctx: Any, block: ControlRegisters) -> None:
    ctx.set(block.control.busy, 1)
    await ctx.tick().repeat(3)
    ctx.set(block.control.busy, 0)
    await ctx.tick().repeat(2)


def test_irq_is_high_from_the_end_of_a_launch_until_it_is_acknowledged_if_it_is_enabled() -> None:
    block = ControlRegisters(VTA, WIDE)
    host = AxilHost(block.bus)
    enable, pending = (register(block.registers, name).offset for name in ("irq_enable", "irq_pending"))

    async def bench(ctx: Any) -> None:
        await _launch_ends(ctx, block)
        assert (await host.read(ctx, pending), ctx.get(block.irq)) == (1, 0)
        await host.write(ctx, enable, 1)
        assert ctx.get(block.irq) == 1
        await host.write(ctx, pending, 0)
        assert ctx.get(block.irq) == 1
        await host.write(ctx, pending, 1)
        assert (await host.read(ctx, pending), ctx.get(block.irq)) == (0, 0)
        await _launch_ends(ctx, block)
        assert ctx.get(block.irq) == 1
        await host.write(ctx, enable, 0)
        assert (await host.read(ctx, pending), ctx.get(block.irq)) == (1, 0)

    run_benches(block, bench)


def test_a_reset_makes_every_register_zero_and_interrupts_nobody() -> None:
    block = ControlRegisters(VTA, WIDE)
    host = AxilHost(block.bus)
    pulses: list[int] = []

    async def bench(ctx: Any) -> None:
        for entry in block.registers:
            if entry.access is Access.READ_WRITE:
                await host.write(ctx, entry.offset, 0xFFFFFFFF)
        await _launch_ends(ctx, block)
        ctx.set(block.control.busy, 1)
        await ctx.tick()
        await host.write(ctx, register(block.registers, "reset").offset, 1)
        for entry in block.registers:
            if entry.access in (Access.READ_WRITE, Access.ACKNOWLEDGE):
                assert await host.read(ctx, entry.offset) == 0, entry.name
        ctx.set(block.control.busy, 0)
        await ctx.tick().repeat(3)
        assert await host.read(ctx, register(block.registers, "irq_pending").offset) == 0
        await _launch_ends(ctx, block)
        assert await host.read(ctx, register(block.registers, "irq_pending").offset) == 1

    async def watch(ctx: Any) -> None:
        while True:
            (reset,) = (await ctx.tick().sample(block.control.reset))[2:]
            pulses.append(reset)

    run_benches(block, bench, background=(watch,))
    assert sum(pulses) == 1


@pytest.mark.parametrize("cycles", range(-4, 5))
def test_a_reset_around_the_end_of_a_launch_leaves_the_interrupt_of_the_next_one(cycles: int) -> None:
    design = compile_design(ControlRegisters(VTA, WIDE))
    design.poke("bus__bready", 1)
    design.poke("bus__awaddr", register(control_registers(VTA, WIDE), "reset").offset)
    design.poke("bus__wdata", 1)
    design.poke("bus__wstrb", 15)
    for time in range(20):
        design.poke("control__busy", int(time < 10))
        for channel in ("aw", "w"):
            design.poke(f"bus__{channel}valid", int(time == 10 + cycles))
        design.step()
    assert design.peek("irq_pending") == 0
    for busy in (1, 1, 1, 0, 0, 0):
        design.poke("control__busy", busy)
        design.step()
    assert design.peek("irq_pending") == 1


def test_a_launch_that_follows_a_reset_while_memory_is_busy_interrupts_at_its_end() -> None:
    block = ControlRegisters(VTA, WIDE)
    host = AxilHost(block.bus)
    pending = register(block.registers, "irq_pending").offset

    async def bench(ctx: Any) -> None:
        ctx.set(block.control.busy, 1)
        await ctx.tick()
        await host.write(ctx, register(block.registers, "reset").offset, 1)
        await host.write(ctx, register(block.registers, "launch").offset, 1)
        await ctx.tick().repeat(5)
        assert await host.read(ctx, pending) == 0
        ctx.set(block.control.busy, 0)
        await ctx.tick().repeat(3)
        assert await host.read(ctx, pending) == 1

    run_benches(block, bench)


def test_a_counter_of_a_cause_is_read_where_the_map_says() -> None:
    block = ControlRegisters(VTA, WIDE)
    host = AxilHost(block.bus)

    async def counters(ctx: Any) -> None:
        while True:
            ctx.set(block.count, 1000 + ctx.get(block.count_index))
            await ctx.delay(1e-8)

    async def bench(ctx: Any) -> None:
        for module in range(4):
            for cause in Cause:
                assert await host.read(ctx, CAUSES_OFFSET + 64 * module + 4 * cause) == 1000 + 16 * module + cause

    run_benches(block, bench, background=(counters,))


def test_without_counters_of_causes_there_are_no_registers_of_them() -> None:
    names = {entry.name for entry in control_registers(VTA, WIDE)}
    assert names - {entry.name for entry in control_registers(VTA, HardwareConfig(cause_counters=0))} == {
        f"{module}_{cause.name.lower()}" for module in ("fetch", "load", "compute", "store") for cause in Cause
    }


def test_the_status_counters_and_digests_read_as_the_map_says() -> None:
    block = ControlRegisters(VTA, WIDE)
    host = AxilHost(block.bus)

    async def bench(ctx: Any) -> None:
        control = block.control
        ctx.set(control.busy, 0)
        ctx.set(control.done, 1)
        assert await host.read(ctx, 0x04) == 0b010
        ctx.set(control.busy, 1)
        ctx.set(control.done, 0)
        ctx.set(control.error, ErrorCode.ILLEGAL)
        assert await host.read(ctx, 0x04) == 0b101 | ErrorCode.ILLEGAL << 8
        ctx.set(control.cycles, 0x123456789ABC)
        assert await host.read(ctx, 0x50) == 0x56789ABC
        assert await host.read(ctx, 0x54) == 0x1234
        for entry in block.registers:
            if entry.access is Access.CONSTANT:
                low = await host.read(ctx, entry.offset)
                high = await host.read(ctx, entry.offset + 4) if entry.words == 2 else 0
                assert low | high << 32 == entry.value

    run_benches(block, bench)


def test_registers_have_the_widths_of_what_they_hold() -> None:
    hardware = HardwareConfig()
    widths = {entry.name: entry.width for entry in control_registers(VTAConfig(), hardware)}
    assert (widths["launch"], widths["status"], widths["version"]) == (1, 16, 32)
    assert widths["insn_address"] == hardware.addr_width


@pytest.mark.parametrize("first", ["aw", "w"])
def test_a_write_takes_effect_when_address_and_data_have_come_whichever_is_first(first: str) -> None:
    design = compile_design(ControlRegisters(VTA, WIDE))
    design.poke("bus__awaddr", 0x10)
    design.poke("bus__wdata", 0x11223344)
    design.poke("bus__wstrb", 15)
    for channel in (first, "w" if first == "aw" else "aw"):
        assert design.peek(f"bus__{channel}ready")
        design.poke(f"bus__{channel}valid", 1)
        design.step()
        design.poke(f"bus__{channel}valid", 0)
        before = design.peek("bus__bvalid"), design.peek("control__insn_address")
        design.step(3)
    assert before == (0, 0)
    assert (design.peek("bus__bvalid"), design.peek("control__insn_address")) == (1, 0x11223344)


def test_a_write_waits_for_its_response_to_be_taken_and_not_for_the_master_to_be_ready() -> None:
    design = compile_design(ControlRegisters(VTA, WIDE))
    for name in ("awvalid", "wvalid"):
        design.poke(f"bus__{name}", 1)
    design.poke("bus__awaddr", 0x10)
    design.poke("bus__wstrb", 15)
    design.poke("bus__wdata", 5)
    design.step(2)
    assert (design.peek("bus__bvalid"), design.peek("control__insn_address")) == (1, 5)
    design.poke("bus__wdata", 6)
    design.step(4)  # the next one has come, and the first response is still there
    assert (design.peek("bus__awready"), design.peek("bus__wready")) == (0, 0)
    assert design.peek("control__insn_address") == 5
    design.poke("bus__bready", 1)
    design.step()
    assert (design.peek("bus__bvalid"), design.peek("control__insn_address")) == (1, 6)

"""Memory that answers with SLVERR or DECERR behind the AXI top: which code, who asked, and what the next launch does.

``programs`` has one program whose memory is read by every reader in bursts of several beats, and written by two bursts;
``regions`` says where each part of the accelerator reads or writes: a list of [place of the part, address, end].
"""

from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiResp

from isa.machine.error_codes import ErrorCode
from isa.program import Program
from tests.cocotb.bench_axi_top import INSTRUCTIONS, Host, first_program, good_launch
from tests.support.benches.cocotb_bench import PERIOD_NS, value
from tests.support.benches.cocotb_faults import Burst, FaultyMemory

FETCH, LOAD, STORE = 0, 3, 4

Respond = Callable[[Burst, int], AxiResp]


class Bench:
    """A host with a memory whose answers are chosen, and the bursts of a launch that went well."""

    def __init__(self, dut: Any) -> None:
        self.host = Host(dut)
        self.faults = FaultyMemory(self.host.memory)
        self.reads: list[Burst] = []
        self.writes: list[Burst] = []

    async def start(self, *, stall: bool) -> Program:
        """Reset, run the program once, and return it."""
        host = self.host
        await host.start()
        if stall:
            host.stall(host.given["stall"], host.given["seed"])
        program = first_program(host)
        await good_launch(host, program)
        self.reads, self.writes = list(self.faults.reads), list(self.faults.writes)
        return program

    def place(self, burst: Burst) -> int:
        """Return which part a burst is of."""
        [place] = [place for place, begin, end in self.host.given["regions"] if begin <= burst.address < end]
        return int(place)

    def bursts(self, place: int) -> list[Burst]:
        """Return the bursts of a part."""
        found = [burst for burst in (self.writes if place == STORE else self.reads) if self.place(burst) == place]
        assert found, place
        return found

    def respond(self, place: int, respond: Respond) -> None:
        """Let reads, or the responses to writes, be answered so."""
        self.faults.forget()
        if place == STORE:
            self.faults.write = respond
        else:
            self.faults.read = respond

    def missing(self, place: int) -> Respond:
        """Return what answers as if there were no memory for a part."""
        return lambda burst, _beat: AxiResp.DECERR if self.place(burst) == place else AxiResp.OKAY

    async def fails(self, program: Program, place: int, what: str) -> None:
        """Launch; the launch ends with the part's error, and the next one is right."""
        host = self.host
        host.load(program)
        await host.launch(len(program.instructions))
        await self.failed(place, what)
        await self.goes_on(program)

    async def failed(self, place: int, what: str) -> None:
        """Compare the registers of a launch that ended with a part's error."""
        host = self.host
        code = ErrorCode.WRITE_RESPONSE if place == STORE else ErrorCode.READ_RESPONSE
        status = await host.read("status")
        assert status & ~1 == 0b100 | code << 8, f"{what}: status {status:#x}"
        assert await host.read("error_place") == place, what
        assert value(host.dut.irq) == 1, what
        assert await host.read("irq_pending") == 1, what

    async def goes_on(self, program: Program) -> None:
        """Wait until what was begun has ended; then memory answers well, and the program runs right."""
        await self.settle()
        self.faults.forget()
        await good_launch(self.host, program)

    async def settle(self) -> None:
        """Wait until the accelerator is idle."""
        for _ in range(2000):
            if not await self.host.read("status") & 1:
                return
        raise AssertionError("busy long after an error")


def at(burst: Burst, beat: int, response: AxiResp) -> Respond:
    """Return what answers one beat of the bursts at an address with an error."""
    return lambda asked, number: response if (asked.address, number) == (burst.address, beat) else AxiResp.OKAY


@cocotb.test()
async def an_error_on_any_beat_that_a_reader_gets_has_its_code_and_its_reader(dut: Any) -> None:
    bench = Bench(dut)
    program = await bench.start(stall=False)
    for place in range(STORE):
        burst = max(bench.bursts(place), key=lambda burst: burst.beats)
        assert burst.beats > 1, place
        for beat in sorted({0, burst.beats // 2, burst.beats - 1}):
            for response in (AxiResp.SLVERR, AxiResp.DECERR):
                bench.respond(place, at(burst, beat, response))
                await bench.fails(program, place, f"{response.name} at beat {beat} of {burst}")


@cocotb.test()
async def an_error_on_the_response_to_any_write_is_the_store_modules(dut: Any) -> None:
    bench = Bench(dut)
    program = await bench.start(stall=False)
    assert len(bench.writes) > 1
    for burst in (bench.writes[0], bench.writes[-1]):
        for response in (AxiResp.SLVERR, AxiResp.DECERR):
            bench.respond(STORE, at(burst, 0, response))
            await bench.fails(program, STORE, f"{response.name} of {burst}")


@cocotb.test()
async def memory_that_is_not_there_at_all_fails_with_its_first_reader_however_it_stalls(dut: Any) -> None:
    bench = Bench(dut)
    program = await bench.start(stall=True)
    for place in range(STORE + 1):
        bench.respond(place, bench.missing(place))
        await bench.fails(program, place, f"no memory for {place}")


@cocotb.test()
async def exclusive_okay_is_no_error(dut: Any) -> None:
    bench = Bench(dut)
    program = await bench.start(stall=False)
    bench.faults.read = bench.faults.write = lambda _burst, _beat: AxiResp.EXOKAY
    await good_launch(bench.host, program)


@cocotb.test()
async def of_an_error_and_an_abort_the_one_that_comes_first_is_told_and_in_the_same_cycle_the_error(dut: Any) -> None:
    bench = Bench(dut)
    program = await bench.start(stall=False)
    host = bench.host
    for place in (FETCH, LOAD, STORE):
        burst = bench.bursts(place)[-1]
        wrong, times = at(burst, 0 if place == STORE else burst.beats - 1, AxiResp.SLVERR), list[float]()

        def noted(asked: Burst, beat: int, wrong: Respond = wrong, times: list[float] = times) -> AxiResp:
            response = wrong(asked, beat)
            if response != AxiResp.OKAY:
                times.append(get_sim_time("ns"))
            return response

        bench.respond(place, noted)
        host.load(program)
        await host.begin(INSTRUCTIONS, len(program.instructions))
        begin = get_sim_time("ns")
        await RisingEdge(dut.irq)
        comes = round((times[0] - begin) / PERIOD_NS)
        await bench.goes_on(program)
        told, lasted = list[ErrorCode](), list[int]()
        for cycles in range(comes - 4, comes + 4):  # a write to a register takes some of them
            bench.respond(place, wrong)
            host.load(program)
            await host.begin(INSTRUCTIONS, len(program.instructions))
            await ClockCycles(dut.clk, cycles)
            await host.write("abort", 1)
            await bench.settle()
            code = ErrorCode(await host.read("status") >> 8)
            told.append(code)
            lasted.append(await host.read("cycles"))
            if code is ErrorCode.ABORTED:
                assert await host.read("status") == 0b100 | code << 8
                assert await host.read("error_place") == await host.read("fetched")
                assert value(dut.irq) == 1
            else:
                await bench.failed(place, f"an abort {cycles} cycles after the launch, the error after {comes}")
            await bench.goes_on(program)
        # Aborts come a cycle later every time. The last one that is told came right before the error: the next one, in
        # the cycle of the error, is not.
        first = told.index(next(code for code in told if code is not ErrorCode.ABORTED))
        assert 0 < first < len(told) - 1, told
        assert ErrorCode.ABORTED not in told[first:], told
        assert lasted[first - 1] + 1 == lasted[first] == lasted[-1], lasted


@cocotb.test()
async def errors_on_what_an_abort_or_a_reset_drains_change_nothing(dut: Any) -> None:
    bench = Bench(dut)
    program = await bench.start(stall=True)
    host = bench.host
    for register, expected in (("abort", 0b100 | ErrorCode.ABORTED << 8), ("reset", 0)):
        for cycles in (25, 60, 110):
            host.load(program)
            await host.begin(INSTRUCTIONS, len(program.instructions))
            await ClockCycles(dut.clk, cycles)
            await host.write(register, 1)
            bench.faults.read = bench.faults.write = lambda _burst, _beat: AxiResp.SLVERR
            await bench.settle()
            assert await host.read("status") == expected
            await host.write("irq_enable", 1)
            await bench.goes_on(program)

"""The AXI4 memory beside a simulation: its timing cycle by cycle, its bytes, and what it refuses."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import AXI4
from hw.sim import AxiCounts, AxiError, AxiMemory, SimulatorError, compile_design
from tests.support.hw.inline_design import Small

PAGE = 4096


def wires(m: Module, io: Any) -> None:
    wiring.connect(m, wiring.flipped(io.host), wiring.flipped(io.axi))


def nothing(m: Module, io: Any) -> None:
    """Leave everything at zero."""


class Bus:
    """A master that is driven from Python: ``host__*`` are the wires of the port ``axi``."""

    def __init__(self, width: int = 64, *, id_width: int = 4, **timing: Any) -> None:
        signature = AXI4(addr_width=32, data_width=width, id_width=id_width)
        self.size = width // 8
        self.axi = AxiMemory("axi", **timing)
        self.design = compile_design(
            Small(wires, {"host": In(signature), "axi": Out(signature)}), hooks=[self.axi], cache=False
        )
        self.memory = np.zeros(4 * PAGE, np.uint8)
        self.axi.attach(self.memory)

    def set(self, **values: int) -> None:
        for name, value in values.items():
            self.design.poke(f"host__{name}", value)

    def get(self, name: str) -> int:
        return self.design.peek(f"host__{name}")

    def address(self, channel: str, address: int, beats: int, *, number: int = 0) -> None:
        """Offer a burst on ``ar`` or ``aw``."""
        fields = {"addr": address, "len": beats - 1, "size": self.size.bit_length() - 1, "burst": 1, "id": number}
        self.set(**{channel + name: value for name, value in fields.items()}, **{channel + "valid": 1})


def read_all(
    bus: Bus, bursts: Sequence[tuple[int, int]], *, ready: Any = None
) -> tuple[list[int], list[int], list[int]]:
    """Ask for (address, beats) as fast as it goes; return cycles of the addresses, cycles and values of the beats."""
    asked: list[int] = []
    cycles: list[int] = []
    values: list[int] = []
    total = sum(beats for _, beats in bursts)
    for cycle in range(100_000):
        if len(values) == total:
            return asked, cycles, values
        if len(asked) < len(bursts):
            bus.address("ar", *bursts[len(asked)], number=len(asked) % 16)
        else:
            bus.set(arvalid=0)
        bus.set(rready=1 if ready is None else ready(cycle))
        if len(asked) < len(bursts) and bus.get("arready"):
            asked.append(cycle)
        if bus.get("rvalid") and bus.get("rready"):
            cycles.append(cycle)
            values.append(bus.get("rdata"))
        bus.design.step()
    raise AssertionError("the memory did not answer")


def table(asked: list[int], beats: Sequence[int], latency: int) -> list[int]:
    """The cycles of read beats that the specification gives: in order, ``latency`` after the address, one a cycle."""
    cycles: list[int] = []
    for begin, count in zip(asked, beats, strict=True):
        first = max(begin + latency, cycles[-1] + 1 if cycles else 0)
        cycles += range(first, first + count)
    return cycles


@pytest.mark.parametrize("latency", [1, 2, 5, 32, 100])
def test_reads_come_a_latency_behind_their_address_and_then_one_beat_a_cycle(latency: int) -> None:
    rng = random.Random(latency)
    bus = Bus(latency=latency)
    bus.memory[:] = np.random.default_rng(latency).integers(0, 256, bus.memory.size, np.uint8)
    beats = [rng.choice((1, 1, 2, 3, 16)) for _ in range(30)]
    bursts = [(8 * rng.randrange(64) + PAGE * rng.randrange(4), count) for count in beats]
    asked, cycles, values = read_all(bus, bursts)
    assert asked == list(range(30))  # an address is taken in every cycle
    assert cycles == table(asked, beats, latency)
    words = bus.memory.view("<u8")
    assert values == [int(words[start // 8 + k]) for start, count in bursts for k in range(count)]
    assert bus.axi.counts == AxiCounts(30, sum(beats), 0, 0)
    assert bus.axi.idle


@pytest.mark.parametrize("limit", [1, 3, 64])
def test_no_more_bursts_than_the_limit_are_under_way(limit: int) -> None:
    bus = Bus(latency=100, outstanding=limit)
    asked, cycles, _ = read_all(bus, [(8 * k, 1) for k in range(2 * limit)])
    assert asked[:limit] == list(range(limit))
    # The beat of the first one is taken in cycle 100; there is room again in the next.
    assert asked[limit:] == list(range(101, 101 + limit))
    assert cycles == table(asked, [1] * (2 * limit), 100)


def write_all(
    bus: Bus, bursts: Sequence[tuple[int, Sequence[int]]], *, address_after: int = 0
) -> tuple[list[int], list[int]]:
    """Write (address, values); return the cycles of the last beats and of the answers. Addresses begin later."""
    flat = [(value, k == len(values) - 1) for _, values in bursts for k, value in enumerate(values)]
    sent = asked = 0
    lasts: list[int] = []
    answers: list[int] = []
    for cycle in range(100_000):
        if len(answers) == len(bursts):
            return lasts, answers
        if asked < len(bursts) and cycle >= address_after:
            bus.address("aw", bursts[asked][0], len(bursts[asked][1]))
        else:
            bus.set(awvalid=0)
        if sent < len(flat):
            value, last = flat[sent]
            bus.set(wvalid=1, wdata=value, wstrb=(1 << bus.size) - 1, wlast=int(last))
        else:
            bus.set(wvalid=0)
        bus.set(bready=1)
        asked += bus.get("awvalid") and bus.get("awready")
        if bus.get("wvalid") and bus.get("wready"):
            sent += 1
            if flat[sent - 1][1]:
                lasts.append(cycle)
        if bus.get("bvalid"):
            answers.append(cycle)
        bus.design.step()
    raise AssertionError("the memory did not answer")


@pytest.mark.parametrize("latency", [1, 2, 32, 100])
def test_answers_to_writes_come_a_latency_behind_their_last_beat(latency: int) -> None:
    bus = Bus(latency=latency)
    bursts = [(64 * k, [1000 * k + n for n in range(1 + k % 5)]) for k in range(12)]
    lasts, answers = write_all(bus, bursts)
    assert lasts == [sum(1 + n % 5 for n in range(k + 1)) - 1 for k in range(12)]
    assert answers == [last + latency for last in lasts]
    words = bus.memory.view("<u8")
    assert [words[start // 8 : start // 8 + len(values)].tolist() for start, values in bursts] == [v for _, v in bursts]


def test_write_beats_may_come_before_their_address() -> None:
    bus = Bus(latency=4)
    lasts, answers = write_all(bus, [(8, [5, 6]), (32, [7])], address_after=10)
    assert lasts == [1, 2]
    assert answers == [14, 15]
    assert bus.memory.view("<u8")[:5].tolist() == [0, 5, 6, 0, 7]


def test_reads_and_writes_share_no_bandwidth() -> None:
    bus = Bus(latency=1)
    bus.set(rready=1, bready=1, wvalid=1, wstrb=255, wlast=0)
    reads = 0
    for cycle in range(40):
        bus.address("ar", 8 * cycle, 1)
        if cycle % 16 == 0:
            bus.address("aw", 0, 16)
        else:
            bus.set(awvalid=0)
        bus.set(wlast=int(cycle % 16 == 15))
        reads += bus.get("rvalid")
        bus.design.step()
    assert reads == 39
    assert bus.axi.counts == AxiCounts(40, 39, 3, 40)


@pytest.mark.parametrize("width", [8, 16, 32, 64, 128, 256, 512])
def test_strobes_choose_bytes_at_every_width(width: int) -> None:
    rng = random.Random(width)
    bus = Bus(width=width, latency=2)
    expected = bus.memory.copy()
    size = width // 8
    for _ in range(40):
        place, strobes, value = rng.randrange(64), rng.getrandbits(size), rng.getrandbits(width)
        bus.address("aw", place * size, 1)
        bus.set(wvalid=1, wdata=value, wstrb=strobes, wlast=1, bready=1)
        bus.design.step()
        bus.set(awvalid=0, wvalid=0)
        bus.design.step(4)
        for lane in range(size):
            if strobes >> lane & 1:
                expected[place * size + lane] = value >> 8 * lane & 255
    assert bus.memory.tolist() == expected.tolist()
    _, _, values = read_all(bus, [(0, 64)])
    assert b"".join(value.to_bytes(size, "little") for value in values) == expected[: 64 * size].tobytes()


@pytest.mark.parametrize("width", [1, 4, 8, 9, 16, 17, 32])
def test_answers_have_the_whole_identifier_of_their_burst(width: int) -> None:
    bus = Bus(id_width=width, latency=2)
    number = random.Random(width).getrandbits(width) | 1 << (width - 1)
    bus.address("ar", 0, 1, number=number)
    bus.address("aw", 64, 1, number=number)
    bus.set(wvalid=1, wlast=1, wstrb=255, rready=1, bready=1)
    bus.design.step()
    bus.set(arvalid=0, awvalid=0, wvalid=0)
    assert bus.design.run_until("host__rvalid", 20) < 20
    assert bus.get("rid") == number
    assert bus.design.run_until("host__bvalid", 20) < 20
    assert bus.get("bid") == number


@pytest.mark.parametrize("channel", ["AR", "R", "AW", "W", "B"])
def test_a_stalled_channel_delays_itself_alone(channel: str) -> None:
    quick, slow = Bus(latency=3), Bus(latency=3)
    slow.axi.configure(stalls={channel: 0.5}, seed=7)
    bursts = [(8 * k, 2) for k in range(20)]
    writes = [(1024 + 64 * k, [k, k + 1, k + 2]) for k in range(20)]
    for bus in (quick, slow):
        bus.memory.view("<u8")[:64] = np.arange(64)
    reads = [read_all(bus, bursts) for bus in (quick, slow)]
    times = [write_all(bus, writes) for bus in (quick, slow)]
    assert reads[0][2] == reads[1][2]
    assert quick.memory.tolist() == slow.memory.tolist()
    assert (reads[0][0] != reads[1][0]) == (channel == "AR")
    assert (reads[0][1] != reads[1][1]) == (channel in ("AR", "R"))
    assert (times[0][0] != times[1][0]) == (channel == "W")
    # An address that waits delays an answer only if its beats were there before.
    assert channel == "AW" or (times[0][1] != times[1][1]) == (channel in ("W", "B"))


def test_equal_seeds_stall_alike_and_others_do_not() -> None:
    cycles = []
    for seed in (3, 3, 4):
        bus = Bus(latency=3)
        bus.axi.configure(stalls=0.3, seed=seed)
        cycles.append(read_all(bus, [(8 * k, 3) for k in range(20)])[1])
    assert cycles[0] == cycles[1]
    assert cycles[0] != cycles[2]


def test_a_master_that_waits_with_ready_misses_nothing() -> None:
    bus = Bus(latency=2)
    bus.memory.view("<u8")[:] = np.arange(bus.memory.size // 8)
    _, cycles, values = read_all(bus, [(0, 16), (256, 16)], ready=lambda cycle: int(cycle % 3 == 0))
    assert values == [*range(16), *range(32, 48)]
    assert all(cycle % 3 == 0 for cycle in cycles)


def test_timing_may_change_while_nothing_is_under_way() -> None:
    bus = Bus(latency=1)
    assert read_all(bus, [(0, 1)])[1] == [1]
    bus.axi.configure(latency=9)
    assert read_all(bus, [(0, 1)])[1] == [9]
    assert bus.axi.idle
    bus.design.reset()
    assert read_all(bus, [(0, 1)])[1] == [9]


# ---- what a master does wrong


def fault(**values: int) -> str:
    bus = Bus()
    bus.axi.attach(bus.memory, address=0x10000)
    bus.design.step(2)
    bus.address("ar", 0x10000, 2)
    bus.set(arvalid=0, wstrb=255)
    bus.set(**values)
    with pytest.raises(AxiError) as caught:
        bus.design.step(4)
    return str(caught.value)


RANGE = "which is 0x10000 to 0x13fff"


def test_bursts_that_break_the_rules_are_named() -> None:
    assert fault(arvalid=1, araddr=0x10FF8) == (
        "axi, channel AR, cycle 2: the burst crosses a 4 KiB boundary at address 0x10ff8"
    )
    for address in (0xFFF0, 0x14000, 0xFFFFFF00):
        assert fault(arvalid=1, araddr=address) == (
            f"axi, channel AR, cycle 2: the burst leaves the memory, {RANGE} at address {address:#x}"
        )
    assert fault(arvalid=1, arburst=0) == (
        "axi, channel AR, cycle 2: a burst of several beats must be INCR at address 0x10000"
    )
    assert fault(awvalid=1, awaddr=0x10008, awsize=2) == (
        "axi, channel AW, cycle 2: beats must have the full width of the bus at address 0x10008"
    )


def test_last_must_mark_the_last_beat() -> None:
    text = "axi, channel W, cycle 2: last does not mark the last beat of the burst at address 0x10000"
    assert fault(awvalid=1, awaddr=0x10000, awsize=3, awburst=1, awlen=1, wvalid=1, wlast=1) == text
    assert fault(awvalid=1, awaddr=0x10000, awsize=3, awburst=1, awlen=0, wvalid=1, wlast=0) == text


@pytest.mark.parametrize(
    ("channel", "change"), [("ar", "addr"), ("ar", "len"), ("aw", "valid"), ("w", "data"), ("w", "strb")]
)
def test_what_waits_for_ready_must_not_change(channel: str, change: str) -> None:
    bus = Bus()
    bus.axi.configure(stalls={channel.upper(): 0.99}, seed=1)
    bus.design.step(3)
    bus.address("ar", 64, 4)
    bus.address("aw", 64, 4)
    bus.set(arvalid=0, awvalid=0, wdata=1, wstrb=3)
    bus.set(**{channel + "valid": 1})
    bus.design.step(2)
    bus.set(**{channel + change: 0})
    with pytest.raises(AxiError) as caught:
        bus.design.step(2)
    where = "" if channel == "w" else f" at address {0 if change == 'addr' else 64:#x}"
    assert str(caught.value) == (
        f"axi, channel {channel.upper()}, cycle 5: valid was taken back or its payload changed before ready{where}"
    )


# ---- what the memory refuses


def message(call: Any, *arguments: Any, **more: Any) -> str:
    with pytest.raises(SimulatorError) as caught:
        call(*arguments, **more)
    return str(caught.value)


def test_settings_out_of_range_are_refused() -> None:
    head = "the memory behind 'axi'"
    axi = Bus().axi
    assert message(axi.configure, latency=0) == f"{head} needs a latency of 1 or more, not 0"
    assert message(AxiMemory, "axi", latency=-1) == f"{head} needs a latency of 1 or more, not -1"
    for limit in (0, 65):
        assert message(axi.configure, outstanding=limit) == f"{head} queues 1 to 64 bursts, not {limit}"
    for chance in (-0.1, 1.0):
        assert message(axi.configure, stalls=chance) == f"the chance of a stall is at least 0 and below 1, not {chance}"
    assert message(axi.attach, np.zeros((8, 8), np.uint8)[:, ::2]) == f"{head} must be a contiguous, writable array"
    assert message(axi.attach, np.zeros(100, np.uint8)) == f"{head} has size 100, not a multiple of 64"
    assert message(axi.attach_pointer, 0, 64, address=-64) == f"{head} has address -64, not a multiple of 64"


def test_a_memory_has_one_port_of_one_simulation() -> None:
    lone = AxiMemory("axi")
    assert message(getattr, lone, "counts") == "the AXI memory at 'axi' is not part of a simulation yet"
    bus = Bus()
    ports = {"host": In(AXI4(addr_width=32, data_width=64)), "axi": Out(AXI4(addr_width=32, data_width=64))}
    assert message(compile_design, Small(wires, ports), hooks=[bus.axi], cache=False) == (
        "the AXI memory at 'axi' is already part of another simulation"
    )
    assert message(compile_design, Small(wires, ports), hooks=[AxiMemory("axy")], cache=False) == (
        "the design has no signal 'axy__arid'; did you mean 'axi__arid'?"
    )
    outputs = {name: member for name, member in AXI4(addr_width=32, data_width=64).members.items() if member.is_port}
    deaf = {"axi": Out(wiring.Signature({name: member for name, member in outputs.items() if member.flow == Out}))}
    assert message(compile_design, Small(nothing, deaf), hooks=[AxiMemory("axi")], cache=False) == (
        "'axi' is no AXI4 master port: the design has no axi__arready"
    )
    odd = {"host": In(AXI4(addr_width=32, data_width=1024)), "axi": Out(AXI4(addr_width=32, data_width=1024))}
    assert message(compile_design, Small(wires, odd), hooks=[AxiMemory("axi")], cache=False) == (
        "'axi': data of 8 to 512 bits, a power of two, not 1024"
    )

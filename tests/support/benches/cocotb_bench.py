"""What the bench modules share: clock and reset, the two moments of a cycle, streams, and memory behind a client.

Runs in the simulator's process. A cycle has two moments. At the first, ``drive``, benches set inputs: it is the falling
edge of the clock, far from the edge at which the design samples them. At the second, ``settle``, all signals have taken
the values that the coming rising edge will see, and benches look at them. Nothing is ever checked between a write and
``settle``, so the outcome does not depend on the simulator. With the parameter ``drive_on`` set to ``rising``, inputs
change right after the rising edge instead, which must make no difference.
"""

import json
import os
import random
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

__all__ = ["Bench", "Pause", "ReadMemory", "parameters", "put", "steady", "take", "value"]

Pause = Callable[[], int]
"""How many cycles to wait before the next transfer."""

PERIOD_NS = 10


def parameters() -> dict[str, Any]:
    """Return what the pytest side passed to ``cocotb_run.run``."""
    given: dict[str, Any] = json.loads(os.environ["VTA_BENCH"])
    return given


def steady() -> int:
    """Never wait."""
    return 0


def value(handle: Any) -> int:
    """Return the value of a signal; an X or Z in it is an error that names the signal."""
    current = handle.value
    assert current.is_resolvable, f"{handle._path} is {current}"
    return int(current)


class Bench:
    """A design under test with its clock, its parameters and a generator of random numbers."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.given = parameters()
        self.random = random.Random(self.given["seed"])
        self.drive_edge = RisingEdge if self.given.get("drive_on") == "rising" else FallingEdge
        self.cycle = 0

    async def start(self) -> None:
        """Start the clock with all inputs zero, reset for two cycles, and return at a ``drive``."""
        for name in self.given["inputs"]:
            getattr(self.dut, name).value = 0
        self.dut.rst.value = 1
        Clock(self.dut.clk, PERIOD_NS, unit="ns").start(start_high=False)
        cocotb.start_soon(self._count())
        for _ in range(3):
            await self.drive()
        self.dut.rst.value = 0
        await self.drive()

    async def _count(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.cycle += 1

    async def drive(self) -> None:
        """Wait for the moment at which inputs may be set."""
        await self.drive_edge(self.dut.clk)

    async def settle(self) -> None:
        """Wait for the moment at which the values of this cycle can be looked at."""
        await ReadOnly()

    def port(self, name: str) -> Any:
        """Return the signal called ``name``."""
        return getattr(self.dut, name)

    def set(self, **values: int) -> None:
        """Set inputs by name."""
        for name, number in values.items():
            getattr(self.dut, name).value = number

    def get(self, name: str) -> int:
        """Return the value of a port."""
        return value(getattr(self.dut, name))

    def chance(self, probability: float) -> Pause:
        """Return a pause that lasts another cycle with ``probability``."""

        def pause() -> int:
            cycles = 0
            while self.random.random() < probability:
                cycles += 1
            return cycles

        return pause

    def gaps(self, longest: int) -> Pause:
        """Return a pause of 0 to ``longest`` cycles."""
        return lambda: self.random.randint(0, longest)


async def put(bench: Bench, name: str, payloads: Iterable[int], *, pause: Pause = steady) -> None:
    """Offer each payload on an input stream until it is taken. Begins and ends at a ``drive``."""
    for payload in payloads:
        for _ in range(pause()):
            await bench.drive()
        bench.set(**{f"{name}_valid": 1, f"{name}_payload": payload})
        taken = False
        while not taken:
            await bench.settle()
            taken = bool(bench.get(f"{name}_ready"))
            await bench.drive()
        bench.set(**{f"{name}_valid": 0})


async def take(bench: Bench, name: str, count: int, *, pause: Pause = steady) -> list[int]:
    """Take ``count`` payloads of an output stream. Begins and ends at a ``drive``.

    A payload that is offered must stay until it is taken.
    """
    payloads: list[int] = []
    held: int | None = None
    while len(payloads) < count:
        wait = pause()
        while True:
            bench.set(**{f"{name}_ready": int(wait <= 0)})
            await bench.settle()
            offered = bool(bench.get(f"{name}_valid"))
            assert offered or held is None, f"{name}_valid dropped before {name}_ready"
            if offered:
                payload = bench.get(f"{name}_payload")
                assert held in (None, payload), f"{name}_payload changed before {name}_ready"
                held = payload
            taken = offered and wait <= 0
            await bench.drive()
            wait -= 1
            if taken:
                break
        payloads.append(payload)
        held = None
    bench.set(**{f"{name}_ready": 0})
    return payloads


class ReadMemory:
    """DRAM behind a ReadClient called ``name``: bursts in order, stalls between, and checks of every command.

    ``bursts`` lists the (address, beats) that were asked for.
    """

    def __init__(self, bench: Bench, name: str, memory: bytearray, *, pause: Pause = steady, latency: int = 1) -> None:
        self.bench = bench
        self.name = name
        self.memory = memory
        self.pause = pause
        self.latency = latency
        self.addr_width = int(bench.given["addr_width"])
        self.beat_bytes = int(bench.given["data_width"]) // 8
        self.bursts: list[tuple[int, int]] = []
        self._beats: deque[tuple[int, int]] = deque()

    async def serve(self) -> None:
        """Answer for ever."""
        bench, name = self.bench, self.name
        wait_cmd, wait_data = 0, 0
        while True:
            due = bool(self._beats) and self._beats[0][0] <= bench.cycle and wait_data <= 0
            bench.set(**{f"{name}_cmd_ready": int(wait_cmd <= 0), f"{name}_data_valid": int(due)})
            if due:
                bench.set(**{f"{name}_data_payload": self._beats[0][1]})
            await bench.settle()
            if bench.get(f"{name}_cmd_valid") and wait_cmd <= 0:
                self._accept(bench.get(f"{name}_cmd_payload"))
                wait_cmd = self.pause() + 1
            if due and bench.get(f"{name}_data_ready"):
                self._beats.popleft()
                wait_data = self.pause() + 1
            await bench.drive()
            wait_cmd -= 1
            wait_data -= 1

    def _accept(self, command: int) -> None:
        address, beats = command & ((1 << self.addr_width) - 1), command >> self.addr_width
        size = self.beat_bytes
        assert 1 <= beats <= 256, f"{self.name}: a burst of {beats} beats"
        assert address % size == 0, f"{self.name}: a burst at {address:#x}"
        assert address // 4096 == (address + beats * size - 1) // 4096, f"{self.name}: {address:#x} crosses 4 KiB"
        self.bursts.append((address, beats))
        for index in range(beats):
            start = address + index * size
            data = int.from_bytes(self.memory[start : start + size], "little")
            self._beats.append((self.bench.cycle + self.latency, data | int(index == beats - 1) << (8 * size)))

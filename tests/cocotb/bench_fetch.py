"""Instruction fetch: random words from a memory with gaps into three queues that are often full."""

from typing import Any

import cocotb
import numpy as np

from isa.config import VTAConfig
from isa.encoding import decode, encode
from isa.instructions import Finish, Module
from isa.machine.error_codes import ErrorCode
from tests.support.benches.cocotb_bench import Bench, ReadMemory, take
from tests.support.isa.random_words import random_words

QUEUES = {Module.LOAD: "load", Module.COMPUTE: "compute", Module.STORE: "store"}


class FetchBench(Bench):
    """Fetch, its memory, and what each queue has received."""

    def __init__(self, dut: Any, *, longest_gap: int) -> None:
        super().__init__(dut)
        self.vta = VTAConfig.from_dict(self.given["vta"])
        self.memory = bytearray(1 << 16)
        self.dram = ReadMemory(self, "mem", self.memory, pause=self._rarely(longest_gap))
        self.received: dict[str, list[int]] = {name: [] for name in QUEUES.values()}
        self.queue_gap = longest_gap

    def _rarely(self, longest: int) -> Any:
        """Return a pause that is mostly 0 and sometimes up to ``longest``."""
        return lambda: self.random.randint(0, longest) if self.random.random() < 0.1 else 0

    async def begin(self) -> None:
        """Reset and start the agents."""
        await self.start()
        cocotb.start_soon(self.dram.serve())
        for name in self.received:
            cocotb.start_soon(self._receive(name))
        await self.drive()

    async def _receive(self, name: str) -> None:
        pause = self._rarely(self.queue_gap)
        while True:
            self.received[name] += await take(self, name, 1, pause=pause)

    async def fetch(self, words: list[int], *, address: int) -> None:
        """Begin a launch with ``words`` at ``address``."""
        image = b"".join(word.to_bytes(16, "little") for word in words)
        self.memory[address : address + len(image)] = image
        self.set(start=1, address=address, count=len(words))
        await self.drive()
        self.set(start=0)

    def expected(self, words: list[int]) -> dict[str, list[int]]:
        """Return what each queue should receive."""
        queues: dict[str, list[int]] = {name: [] for name in QUEUES.values()}
        for word in words:
            instruction = decode(word, self.vta)
            queues[QUEUES[instruction.module]].append(word)
        return queues


def legal_words(bench: FetchBench, count: int) -> list[int]:
    """Return ``count`` random legal words without FINISH."""
    rng = np.random.default_rng(bench.given["seed"])
    pairs = random_words(rng, bench.vta, 2 * count)
    words = [int(low) | int(high) << 64 for low, high in pairs]
    return [word for word in words if not isinstance(decode(word, bench.vta), Finish)][:count]


@cocotb.test()
async def br_047_gaps_lose_no_instruction(dut: Any) -> None:
    bench = FetchBench(dut, longest_gap=50)
    await bench.begin()
    words = [*legal_words(bench, 150), encode(Finish(), bench.vta)]
    await bench.fetch(words + words[:20], address=0x1FF0)
    for _ in range(20_000):
        if sum(map(len, bench.received.values())) == len(words):
            break
        await bench.drive()
    for _ in range(100):
        await bench.drive()
    assert bench.received == bench.expected(words), "and nothing behind FINISH"
    await bench.settle()
    assert bench.get("dispatched") == len(words)
    assert bench.get("error") == ErrorCode.NONE


@cocotb.test()
async def an_unknown_opcode_stops_at_its_place(dut: Any) -> None:
    bench = FetchBench(dut, longest_gap=3)
    await bench.begin()
    words = legal_words(bench, 30)
    bad = [*words[:17], 5, *words[17:]]
    await bench.fetch(bad, address=0x1000)
    await _until_error(bench)
    assert bench.get("error") == ErrorCode.OPCODE
    assert bench.get("dispatched") == 17
    assert bench.received == bench.expected(words[:17])


@cocotb.test()
async def instructions_that_end_without_finish_are_an_error(dut: Any) -> None:
    bench = FetchBench(dut, longest_gap=3)
    await bench.begin()
    words = legal_words(bench, 9)
    await bench.fetch(words, address=0x1010)
    await _until_error(bench)
    assert bench.get("error") == ErrorCode.NO_FINISH
    assert bench.get("dispatched") == 9


async def _until_error(bench: FetchBench) -> None:
    for _ in range(2000):
        await bench.settle()
        if bench.get("error"):
            return
        await bench.drive()
    raise AssertionError("no error")

"""A load or a store module with DRAM, tokens at random, and a watch over what it reports: for their tests."""

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from isa.encoding import decode
from isa.machine.causes import Cause
from isa.machine.hardware_config import HardwareConfig
from tests.support.hw.axi_dram import AxiDram
from tests.support.hw.hw_streams import put, run_benches
from tests.support.hw.module_rig import WithMemory

__all__ = ["LOAD", "STORE", "Ports", "Seen", "StageRig"]

Bench = Callable[[Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Ports:
    """What the ports are called by which a module gets and gives tokens and base addresses."""

    available: str
    pop: str
    push: str
    bases: tuple[str, ...]
    pops: str
    """Which of an instruction's flags takes a token."""

    pushes: str
    """Which of them gives one."""


LOAD = Ports("g2l_available", "g2l_pop", "l2g_push", ("inp_base", "wgt_base"), "pop_next", "push_next")
STORE = Ports("g2s_available", "g2s_pop", "s2g_push", ("out_base",), "pop_prev", "push_prev")


@dataclass(slots=True)
class Seen:
    """Cycles in which instructions started and tokens were popped and pushed, and the cause of every cycle."""

    starts: list[int] = field(default_factory=list)
    pops: list[int] = field(default_factory=list)
    pushes: list[int] = field(default_factory=list)
    causes: list[Cause] = field(default_factory=list)
    idle: set[int] = field(default_factory=set)


class StageRig:
    """``stage`` behind a memory engine and a DRAM of ``memory``, which ``dram`` settings slow down."""

    def __init__(
        self, stage: Any, ports: Ports, hardware: HardwareConfig, memory: bytearray, *, base: int = 0, **dram: Any
    ) -> None:
        self.stage = stage
        self.ports = ports
        self.base = base
        self.dram = AxiDram(memory, **dram)
        self.rig = WithMemory(stage, hardware)

    def run(
        self,
        words: Sequence[int],
        *,
        pushes: int,
        stall: float = 0.0,
        tokens: float = 1.0,
        background: Sequence[Bench] = (),
        then: Bench | None = None,
    ) -> Seen:
        """Feed instructions; a token is at hand with probability ``tokens`` in each cycle.

        Ends when so many tokens were pushed and the module is idle, after ``then``. Each instruction that asks for a
        token took one as it started, and no other; and the module was at work from a start to its push.
        """
        stage = self.stage

        async def feed(ctx: Any) -> None:
            for name in self.ports.bases:
                ctx.set(getattr(stage, name), self.base)
            await put(ctx, stage.insn, words, seed=4, stall=stall)

        async def give(ctx: Any) -> None:
            source = random.Random(5)
            while True:
                ctx.set(getattr(stage, self.ports.available), source.random() < tokens)
                await ctx.tick()

        seen = Seen()

        async def watch(ctx: Any) -> None:
            await self._note(ctx, seen)
            while len(seen.pushes) < pushes or not ctx.get(stage.idle):
                await self._note(ctx, seen)
            if then is not None:
                await then(ctx)

        run_benches(self.rig, feed, watch, background=(self.dram.bench(self.rig.axi), give, *background))
        flags = [decode(word, stage.vta).deps for word in words]  # type: ignore[union-attr]
        assert len(seen.starts) == len(words)
        assert seen.pops == [
            cycle for cycle, own in zip(seen.starts, flags, strict=True) if getattr(own, self.ports.pops)
        ]
        giving = [cycle for cycle, own in zip(seen.starts, flags, strict=True) if getattr(own, self.ports.pushes)]
        for start, push in zip(giving, seen.pushes, strict=True):
            assert not seen.idle & set(range(start, push))
        return seen

    def causes(self, word: int, *, background: Sequence[Bench] = ()) -> list[Cause]:
        """Offer one instruction in the third cycle and its token four cycles later; return the causes of 25 cycles."""
        stage = self.stage
        seen = Seen()

        async def feed(ctx: Any) -> None:
            await ctx.tick().repeat(3)
            ctx.set(stage.insn.payload, word)
            ctx.set(stage.insn.valid, 1)
            await ctx.tick().repeat(4)
            ctx.set(getattr(stage, self.ports.available), 1)
            await ctx.tick()
            ctx.set(stage.insn.valid, 0)
            await ctx.tick().repeat(20)

        async def watch(ctx: Any) -> None:
            for _ in range(25):
                await self._note(ctx, seen)

        run_benches(self.rig, feed, watch, background=(self.dram.bench(self.rig.axi), *background))
        return seen.causes

    async def _note(self, ctx: Any, seen: Seen) -> None:
        """Let a cycle pass and note what happened in it."""
        stage = self.stage
        pop, push = getattr(stage, self.ports.pop), getattr(stage, self.ports.push)
        start, pop, push, cause, idle = (await ctx.tick().sample(stage.start, pop, push, stage.cause, stage.idle))[2:]
        cycle = len(seen.causes)
        if pop:
            seen.pops.append(cycle)
        if idle:
            seen.idle.add(cycle)
        seen.causes.append(Cause(cause))
        if start:
            seen.starts.append(cycle)
        if push:
            seen.pushes.append(cycle)

"""A host on an AXI4-Lite port, for Amaranth's simulator."""

import random
from typing import Any

__all__ = ["AxilHost"]


class AxilHost:
    """Writes and reads words, one at a time; with ``stall`` above zero, every channel is held back at random."""

    def __init__(self, bus: Any, *, seed: int = 0, stall: float = 0.0) -> None:
        self.bus = bus
        self.random = random.Random(seed)
        self.stall = stall

    async def write(self, ctx: Any, address: int, value: int, *, strobe: int = 15) -> None:
        """Write a word and wait for its response."""
        bus = self.bus
        ctx.set(bus.awaddr, address)
        ctx.set(bus.wdata, value)
        ctx.set(bus.wstrb, strobe)
        waiting = {"aw", "w"}
        offered: set[str] = set()
        while waiting:
            offered |= {channel for channel in sorted(waiting) if self.random.random() >= self.stall}
            for channel in ("aw", "w"):
                ctx.set(getattr(bus, channel + "valid"), channel in offered)
            aw, w = (await ctx.tick().sample(bus.awready, bus.wready))[2:]
            taken = {channel for channel, ready in (("aw", aw), ("w", w)) if ready and channel in offered}
            waiting -= taken
            offered -= taken
        ctx.set(bus.awvalid, 0)
        ctx.set(bus.wvalid, 0)
        await self._response(ctx, bus.bready, bus.bvalid, bus.bresp)

    async def read(self, ctx: Any, address: int) -> int:
        """Read a word."""
        bus = self.bus
        while self.random.random() < self.stall:
            await ctx.tick()
        ctx.set(bus.araddr, address)
        ctx.set(bus.arvalid, 1)
        ready = 0
        while not ready:
            (ready,) = (await ctx.tick().sample(bus.arready))[2:]
        ctx.set(bus.arvalid, 0)
        value: int = await self._response(ctx, bus.rready, bus.rvalid, bus.rdata)
        return value

    async def _response(self, ctx: Any, ready: Any, valid: Any, payload: Any) -> int:
        while self.random.random() < self.stall:
            await ctx.tick()
        ctx.set(ready, 1)
        found, value = 0, 0
        while not found:
            found, value = (await ctx.tick().sample(valid, payload))[2:]
        ctx.set(ready, 0)
        return value

"""A DRAM behind AXI4 for Amaranth's simulator: latency, random stalls, and checks of the protocol."""

import random
from collections import deque
from typing import Any

__all__ = ["AxiDram"]

_ADDRESS = ("addr", "len", "size", "burst")


class AxiDram:
    """Bytes in ``memory``; reads come ``latency`` cycles after their address, write responses after the last beat.

    With ``stall`` above zero, every handshake is delayed at random (``seed``). A read or write that touches a byte of
    ``errors`` gets SLVERR. Raises ``AssertionError`` where the master breaks a rule: a burst that crosses 4 KiB, a
    payload that changes or a VALID that drops before its READY, a WLAST in the wrong place.
    """

    def __init__(
        self, memory: bytearray, *, latency: int = 1, stall: float = 0.0, seed: int = 0, errors: range = range(0)
    ) -> None:
        self.memory = memory
        self.latency = latency
        self.stall = stall
        self.errors = errors
        self.random = random.Random(seed)
        self.reads: deque[tuple[int, int, bool, int]] = deque()  # address, due, last, beat bytes
        self.write_bursts: deque[tuple[int, int]] = deque()  # address, beats
        self.responses: deque[tuple[int, int]] = deque()  # due, response
        self.held: dict[str, tuple[Any, ...]] = {}
        self.cycle = 0
        self.read_addresses: list[tuple[int, int, int]] = []  # cycle, address, beats
        self.beats_written = 0
        self._failed = False

    def bench(self, axi: Any) -> Any:
        """Return the background test bench that serves ``axi``."""

        async def serve(ctx: Any) -> None:
            while True:
                await self._cycle(ctx, axi)

        return serve

    def _go(self) -> bool:
        return self.random.random() >= self.stall

    async def _cycle(self, ctx: Any, axi: Any) -> None:
        """Drive one cycle, then look at what was transferred in it."""
        self._drive(ctx, axi)
        names = ["arvalid", "arready", "awvalid", "awready", "wvalid", "wready", "wdata", "wstrb", "wlast"]
        names += ["rvalid", "rready", "bvalid", "bready"]
        names += [channel + name for channel in ("ar", "aw") for name in _ADDRESS]
        values = (await ctx.tick().sample(*(getattr(axi, name) for name in names)))[2:]
        seen = dict(zip(names, values, strict=True))
        self.cycle += 1
        for channel in ("ar", "aw", "w"):
            self._check_held(channel, seen)
        if seen["rvalid"] and seen["rready"]:
            self.reads.popleft()
        if seen["bvalid"] and seen["bready"]:
            self.responses.popleft()
        if seen["arvalid"] and seen["arready"]:
            self._take_read(seen)
        if seen["awvalid"] and seen["awready"]:
            self._check_burst("aw", seen)
            self.write_bursts.append((seen["awaddr"], seen["awlen"] + 1))
        if seen["wvalid"] and seen["wready"]:
            self._take_beat(seen, 1 << seen["awsize"])

    def _drive(self, ctx: Any, axi: Any) -> None:
        ctx.set(axi.arready, self._go())
        ctx.set(axi.awready, self._go())
        ctx.set(axi.wready, bool(self.write_bursts) and self._go())
        holding_read = ctx.get(axi.rvalid) and not ctx.get(axi.rready)
        ready = bool(self.reads) and self.reads[0][1] <= self.cycle and (holding_read or self._go())
        ctx.set(axi.rvalid, ready)
        if ready:
            address, _, last, size = self.reads[0]
            ctx.set(axi.rdata, int.from_bytes(self.memory[address : address + size], "little"))
            ctx.set(axi.rlast, last)
            ctx.set(axi.rresp, 2 if address in self.errors else 0)
        ready = bool(self.responses) and self.responses[0][0] <= self.cycle
        ctx.set(axi.bvalid, ready)
        if ready:
            ctx.set(axi.bresp, self.responses[0][1])

    def _check_held(self, channel: str, seen: dict[str, Any]) -> None:
        fields = ("data", "strb", "last") if channel == "w" else _ADDRESS
        payload = tuple(seen[channel + name] for name in fields)
        if channel in self.held:
            assert seen[channel + "valid"], f"{channel}valid dropped before {channel}ready"
            assert payload == self.held[channel], f"the payload of {channel} changed before {channel}ready"
        self.held.pop(channel, None)
        if seen[channel + "valid"] and not seen[channel + "ready"]:
            self.held[channel] = payload

    def _check_burst(self, channel: str, seen: dict[str, Any]) -> None:
        size = 1 << seen[channel + "size"]
        address = seen[channel + "addr"]
        assert seen[channel + "burst"] == 1
        assert address % size == 0
        assert address // 4096 == (address + (seen[channel + "len"] + 1) * size - 1) // 4096, "a burst crosses 4 KiB"

    def _take_read(self, seen: dict[str, Any]) -> None:
        self._check_burst("ar", seen)
        size = 1 << seen["arsize"]
        beats = seen["arlen"] + 1
        self.read_addresses.append((self.cycle - 1, seen["araddr"], beats))
        due = self.cycle - 1 + self.latency
        for beat in range(beats):
            self.reads.append((seen["araddr"] + beat * size, due, beat == beats - 1, size))

    def _take_beat(self, seen: dict[str, Any], size: int) -> None:
        address, beats = self.write_bursts.popleft()
        data = seen["wdata"].to_bytes(size, "little")
        for byte in range(size):
            if seen["wstrb"] >> byte & 1:
                self.memory[address + byte] = data[byte]
                self.beats_written += byte == 0
        self._failed |= address in self.errors
        assert bool(seen["wlast"]) == (beats == 1), "wlast does not mark the last beat"
        if beats > 1:
            self.write_bursts.appendleft((address + size, beats - 1))
            return
        self.responses.append((self.cycle - 1 + self.latency, 2 if self._failed else 0))
        self._failed = False

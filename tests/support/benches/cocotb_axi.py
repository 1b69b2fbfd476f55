"""A memory behind the write channels of AXI4 that stalls as it is told and checks the protocol."""

from collections import deque
from collections.abc import Callable

from tests.support.benches.cocotb_bench import Bench, Pause, steady

__all__ = ["ReadyPattern", "WriteMemory", "always", "every_other", "late_on_odd_beats", "random_ready"]

ReadyPattern = Callable[[bool, int], bool]
"""Says whether ``wready`` is high, given whether a beat was offered in the last cycle and is still offered, and the
number of beats that were taken. It is asked once a cycle."""


def always(_waiting: bool, _beat: int) -> bool:
    """Be ready in every cycle."""
    return True


def every_other() -> ReadyPattern:
    """Be ready every other cycle."""
    state = [False]

    def ready(_waiting: bool, _beat: int) -> bool:
        state[0] = not state[0]
        return state[0]

    return ready


def late_on_odd_beats(cycles: int) -> ReadyPattern:
    """Hold READY low for ``cycles`` cycles when an odd beat (the second half of a tile of two) is offered."""
    state = {"beat": -1, "left": 0}

    def ready(waiting: bool, beat: int) -> bool:
        if beat != state["beat"]:
            state.update(beat=beat, left=cycles if beat % 2 else 0)
        elif waiting:
            state["left"] -= 1
        return state["left"] <= 0

    return ready


def random_ready(bench: Bench, probability: float) -> ReadyPattern:
    """Be ready with ``probability``."""
    return lambda _waiting, _beat: bench.random.random() < probability


class WriteMemory:
    """Bytes in ``memory`` behind ``axi``; ``awready`` and responses are late by what the pauses say.

    A beat may be taken before its address. While VALID is high and READY low, nothing of the channel may change; LAST
    is set exactly on the last beat; no burst crosses 4 KiB. Addresses are listed in ``bursts``; ``beats`` and
    ``responses`` count what was taken and answered.
    """

    def __init__(self, bench: Bench, memory: bytearray) -> None:
        self.bench = bench
        self.memory = memory
        self.ready: ReadyPattern = always
        self.address_pause: Pause = steady
        self.response_pause: Pause = steady
        self.bursts: list[tuple[int, int]] = []
        self.beats = 0
        self.responses = 0
        self._data: deque[tuple[int, int, int]] = deque()
        self._due: deque[int] = deque()
        self._written = 0
        self._held: dict[str, tuple[int, ...]] = {}

    async def serve(self) -> None:
        """Answer for ever."""
        bench = self.bench
        address_wait = 0
        waiting = False
        while True:
            wready = self.ready(waiting, self.beats)
            responds = bool(self._due) and self._due[0] <= bench.cycle
            bench.set(axi_awready=address_wait <= 0, axi_wready=wready, axi_bvalid=responds)
            await bench.settle()
            aw = self._channel("aw", ("addr", "len", "size", "burst"), address_wait <= 0)
            w = self._channel("w", ("data", "strb", "last"), wready)
            waiting = "w" in self._held
            if aw is not None:
                self._take_address(*aw)
                address_wait = self.address_pause() + 1
            if w is not None:
                self.beats += 1
                self._data.append((w[0], w[1], w[2]))
            self._write()
            if responds and bench.get("axi_bready"):
                self._due.popleft()
                self.responses += 1
            await bench.drive()
            address_wait -= 1

    def _channel(self, channel: str, fields: tuple[str, ...], ready: bool) -> tuple[int, ...] | None:
        """Return what is transferred in this cycle, if anything."""
        get = self.bench.get
        held = self._held.pop(channel, None)
        if not get(f"axi_{channel}valid"):
            assert held is None, f"{channel}valid dropped before {channel}ready"
            return None
        payload = tuple(get(f"axi_{channel}{field}") for field in fields)
        assert held in (None, payload), f"{channel} changed before {channel}ready: {held} became {payload}"
        if ready:
            return payload
        self._held[channel] = payload
        return None

    def _take_address(self, address: int, length: int, size: int, burst: int) -> None:
        beat = int(self.bench.given["data_width"]) // 8
        beats = length + 1
        assert (1 << size, burst) == (beat, 1), "not an INCR burst of full beats"
        assert address % beat == 0
        assert address // 4096 == (address + beats * beat - 1) // 4096, f"{beats} beats at {address:#x} cross 4 KiB"
        self.bursts.append((address, beats))

    def _write(self) -> None:
        """Write beats whose address is known."""
        beat = int(self.bench.given["data_width"]) // 8
        while self._data and self._written < sum(beats for _, beats in self.bursts):
            data, strobe, last = self._data.popleft()
            address, place, beats = self._place(self._written)
            assert last == (place == beats - 1), "wlast is not on the last beat"
            for byte in range(beat):
                if strobe >> byte & 1:
                    self.memory[address + place * beat + byte] = data >> (8 * byte) & 255
            self._written += 1
            if last:
                self._due.append(self.bench.cycle + 1 + self.response_pause())

    def _place(self, beat: int) -> tuple[int, int, int]:
        """Return address and length of the burst that has the beat number ``beat``, and the beat's number in it."""
        for address, beats in self.bursts:
            if beat < beats:
                return address, beat, beats
            beat -= beats
        raise AssertionError("a beat without a burst")

    def clear(self) -> None:
        """Forget what was counted."""
        self.bursts.clear()
        self.beats = self.responses = self._written = 0

    def quiet(self) -> bool:
        """Return whether everything that was offered has been written and answered."""
        return not self._data and not self._due and self.responses == len(self.bursts)

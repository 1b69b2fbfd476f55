"""A DRAM behind a component's AXI4 master port, compiled into the simulation.

Timing, in cycles of the design: the address channels take one burst a cycle while fewer than ``outstanding`` are under
way. Bursts are served in order. The first beat of a read is shown ``latency`` cycles after its address was taken (1:
the next cycle), later bursts follow one beat a cycle. Write beats are always taken, even before their address; the
answer comes ``latency`` cycles after the last beat. Reads and writes do not share bandwidth. With ``stalls``, every
READY and every new VALID is held back at random. Tests: ``tests/hw/sim/axi/test_memory.py``.
"""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from hw.sim.axi.native import write_axi_model
from hw.sim.axi.state import BURSTS, STATE_BYTES, THRESHOLDS, AxiFault, Channel, StateField
from hw.sim.errors import AxiError, SimulatorError
from hw.sim.translate.layout import Slot
from hw.sim.translate.text import Function

if TYPE_CHECKING:
    from hw.sim.run.design import CompiledDesign

__all__ = ["AxiCounts", "AxiMemory"]

_FROM_MASTER = (
    *(f"{c}{f}" for c in ("ar", "aw") for f in ("id", "addr", "len", "size", "burst", "valid")),
    *("wdata", "wstrb", "wlast", "wvalid", "bready", "rready"),
)
_TO_MASTER = ("arready", "awready", "wready", "rid", "rdata", "rlast", "rvalid", "bid", "bvalid")
_OPTIONAL = tuple(f"{c}{f}" for c in ("ar", "aw") for f in ("lock", "cache", "prot", "qos"))
_CHANCES = 4096
_TEXTS = {
    AxiFault.UNSTABLE: "valid was taken back or its payload changed before ready",
    AxiFault.CROSSES_PAGE: "the burst crosses a 4 KiB boundary",
    AxiFault.OUT_OF_MEMORY: "the burst leaves the memory",
    AxiFault.NOT_INCR: "a burst of several beats must be INCR",
    AxiFault.NARROW: "beats must have the full width of the bus",
    AxiFault.WRONG_LAST: "last does not mark the last beat of the burst",
}


@dataclass(frozen=True, slots=True)
class AxiCounts:
    """Transfers since power-on: addresses taken, and beats."""

    read_bursts: int
    read_beats: int
    write_bursts: int
    write_beats: int


class AxiMemory:
    """The memory behind the port ``prefix`` of one simulated design: a hook for ``compile_design``.

    ``attach`` gives it its bytes, ``configure`` its timing; both may change while the port is idle. A master that
    breaks the protocol or leaves the memory makes the run raise AxiError.
    """

    def __init__(self, prefix: str, *, latency: int = 1, outstanding: int = BURSTS) -> None:
        self.prefix = prefix
        self._design: CompiledDesign | None = None
        self._place = 0
        self._region = (0, 0, 0)
        self._owner: object = None
        self._latency = latency
        self._outstanding = outstanding
        self._stalls: dict[Channel, int] = {}
        self._seed = 1
        self.configure(latency=latency, outstanding=outstanding)

    # ---- hook

    @property
    def signals(self) -> tuple[str, ...]:
        """The ports that the master drives."""
        return tuple(f"{self.prefix}__{name}" for name in _FROM_MASTER)

    @property
    def noted(self) -> tuple[str, ...]:
        """The signals that it reads while notes are taken: none."""
        return ()

    @property
    def drives(self) -> tuple[str, ...]:
        """The ports that the memory drives; the others keep what was poked."""
        return tuple(f"{self.prefix}__{name}" for name in _TO_MASTER)

    @property
    def size(self) -> int:
        """Bytes of state."""
        return STATE_BYTES

    @property
    def key(self) -> str:
        """What tells this model from other hooks."""
        return f"axi {self.prefix}"

    def write(self, fn: Function, place: int, slots: Mapping[str, Slot]) -> None:
        """Write the model's function."""
        missing = [name for name in _TO_MASTER if f"{self.prefix}__{name}" not in slots]
        if missing:
            raise SimulatorError(
                f"{self.prefix!r} is no AXI4 master port: the design has no {self.prefix}__{missing[0]}"
            )
        width = slots[f"{self.prefix}__wdata"].width
        if width not in (8, 16, 32, 64, 128, 256, 512):
            raise SimulatorError(f"{self.prefix!r}: data of 8 to 512 bits, a power of two, not {width}")
        write_axi_model(fn, place, slots, self.prefix)

    def start(self, design: "CompiledDesign", place: int) -> None:
        """Begin at power-on in ``design``, whose state of this model is at byte ``place`` of its buffer."""
        if self._design not in (None, design):
            raise SimulatorError(f"the AXI memory at {self.prefix!r} is already part of another simulation")
        self._design, self._place = design, place
        for name in ("arready", "awready", "wready"):
            design.poke(f"{self.prefix}__{name}", 1)
        self._write_settings()

    def check(self, design: "CompiledDesign", place: int) -> None:
        """Raise AxiError if the master did something wrong."""
        fault = self._get(StateField.FAULT)
        if fault:
            channel = Channel(self._get(StateField.FAULT_CHANNEL))
            address = self._get(StateField.FAULT_ADDRESS)
            where = "" if channel is Channel.W and fault == AxiFault.UNSTABLE else f" at address {address:#x}"
            span = ""
            if fault == AxiFault.OUT_OF_MEMORY:
                span = f", which is {self._region[2]:#x} to {self._region[2] + self._region[1] - 1:#x}"
            head = f"{self.prefix}, channel {channel.name}, cycle {design.cycles - 1}"
            raise AxiError(f"{head}: {_TEXTS[AxiFault(fault)]}{span}{where}")

    # ---- settings

    def attach(self, memory: npt.NDArray[Any], *, address: int = 0) -> None:
        """Use the bytes of a contiguous, writable array as the DRAM from device address ``address`` on."""
        if not memory.flags.c_contiguous or not memory.flags.writeable:
            raise SimulatorError(f"the memory behind {self.prefix!r} must be a contiguous, writable array")
        self.attach_pointer(int(memory.ctypes.data), memory.nbytes, address=address)
        self._owner = memory

    def attach_pointer(self, pointer: int, size: int, *, address: int = 0) -> None:
        """Use ``size`` bytes at ``pointer``, which the caller keeps alive, as the DRAM from ``address`` on."""
        for what, number in (("size", size), ("address", address)):
            if number < 0 or number % 64:
                raise SimulatorError(f"the memory behind {self.prefix!r} has {what} {number}, not a multiple of 64")
        self._region, self._owner = (pointer, size, address), None
        self._write_settings()

    def configure(
        self,
        *,
        latency: int | None = None,
        outstanding: int | None = None,
        stalls: float | Mapping[str, float] | None = None,
        seed: int | None = None,
    ) -> None:
        """Change what is given: the timing, and the chance of a stall in a cycle, for all channels or by name.

        The random numbers begin anew from ``seed``.
        """
        if latency is not None:
            if latency < 1:
                raise SimulatorError(f"the memory behind {self.prefix!r} needs a latency of 1 or more, not {latency}")
            self._latency = latency
        if outstanding is not None:
            if not 1 <= outstanding <= BURSTS:
                raise SimulatorError(
                    f"the memory behind {self.prefix!r} queues 1 to {BURSTS} bursts, not {outstanding}"
                )
            self._outstanding = outstanding
        if stalls is not None:
            self._stalls = {channel: round(_CHANCES * self._chance(stalls, channel)) for channel in Channel}
        if seed is not None:
            self._seed = seed
        self._write_settings(seed=seed)

    def _chance(self, stalls: float | Mapping[str, float], channel: Channel) -> float:
        chance = stalls.get(channel.name, 0.0) if isinstance(stalls, Mapping) else stalls
        if not 0 <= chance < 1:
            raise SimulatorError(f"the chance of a stall is at least 0 and below 1, not {chance}")
        return chance

    def _write_settings(self, *, seed: int | None = None) -> None:
        if self._design is None:
            return
        pointer, size, address = self._region
        for field, value in (
            (StateField.POINTER, pointer),
            (StateField.SIZE, size),
            (StateField.ORIGIN, address),
            (StateField.LATENCY, self._latency),
            (StateField.LIMIT, self._outstanding),
            (StateField.STALLS, int(any(self._stalls.values()))),
        ):
            self._set(field, value)
        if seed is not None or not self._get(StateField.RANDOM):
            self._set(StateField.RANDOM, (self._seed * 0x9E3779B97F4A7C15 | 1) & (1 << 64) - 1)
        for channel in Channel:
            self._set(THRESHOLDS + 8 * channel, self._stalls.get(channel, 0))

    # ---- what happened

    @property
    def counts(self) -> AxiCounts:
        """Transfers since power-on."""
        fields = (StateField.READ_BURSTS, StateField.READ_BEATS, StateField.WRITE_BURSTS, StateField.WRITE_BEATS)
        return AxiCounts(*(self._get(field) for field in fields))

    @property
    def idle(self) -> bool:
        """Whether no burst is under way."""
        pairs = ((StateField.READ_HEAD, StateField.READ_TAIL), (StateField.ANSWER_HEAD, StateField.WRITE_TAIL))
        return all(self._get(head) == self._get(tail) for head, tail in pairs)

    def _number(self, offset: int) -> ctypes.c_uint64:
        if self._design is None:
            raise SimulatorError(f"the AXI memory at {self.prefix!r} is not part of a simulation yet")
        return ctypes.c_uint64.from_address(self._design.address + self._place + offset)

    def _get(self, offset: int) -> int:
        return self._number(offset).value

    def _set(self, offset: int, value: int) -> None:
        self._number(offset).value = value

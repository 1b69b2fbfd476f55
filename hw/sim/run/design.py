"""A running simulation: poke, step, peek, memories, snapshots.

Tests: ``tests/hw/sim/run``, ``tests/hw/sim/translate``.
"""

import ctypes
import difflib
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hw.sim.errors import PropertyError, SimulatorError
from hw.sim.run.driver import CYCLES, WATCH
from hw.sim.run.entry_points import load_object
from hw.sim.run.image import Image, SignalPlace
from hw.sim.translate.effects import EVENT_BYTES, STOP, message_text, record_bytes
from hw.sim.translate.hooks import Hook
from hw.sim.translate.text import container

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["CompiledDesign"]

_ALIGN = 64
_DTYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


class CompiledDesign:
    """A design in native code with its state.

    Time stands between two clock edges: inputs that are poked act at once on what is peeked, and on registers at the
    next edge. ``step`` passes edges. Values are ints, signed where the signal is.
    """

    def __init__(self, image: Image, hooks: Sequence[Hook] = (), *, output: "TextIO | None" = None) -> None:
        self.image = image
        self.output = output
        self._native = load_object(image.code)
        self._raw = np.zeros(image.regions.size + _ALIGN, np.uint8)
        start = -self._raw.ctypes.data % _ALIGN
        self.buffer: npt.NDArray[np.uint8] = self._raw[start : start + image.regions.size]
        self.address = int(self.buffer.ctypes.data)
        self._aux = self.address + image.regions.aux
        self._record_sizes = [record_bytes(effect) for effect in image.effects]
        self._settled = False
        self._hooks = tuple(hooks)
        self.reset()

    # ---- names

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the input ports."""
        return self.image.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the output ports."""
        return self.image.outputs

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of all signals that can be peeked."""
        return tuple(name for name, place in self.image.signals.items() if place.places is not None)

    @property
    def memories(self) -> tuple[str, ...]:
        """Names of the memories."""
        return tuple(self.image.memories)

    # ---- state

    def reset(self) -> None:
        """Return to power-on: initial registers and memories, inputs zero, no cycles."""
        self.buffer[:] = np.frombuffer(self.image.initial, np.uint8)
        self._settled = False
        for hook, place in zip(self._hooks, self.image.hooks, strict=True):
            hook.start(self, self.image.regions.aux + place)

    def snapshot(self) -> bytes:
        """Return the whole state, memories and bus models included (not the DRAM behind those)."""
        return self.buffer.tobytes()

    def restore(self, snapshot: bytes) -> None:
        """Return to the state of a snapshot of this design."""
        if len(snapshot) != self.buffer.size:
            raise SimulatorError(
                f"a snapshot of this design has {self.buffer.size} bytes, not {len(snapshot)}; it is of another design"
            )
        self.buffer[:] = np.frombuffer(snapshot, np.uint8)
        self._settled = False

    def header(self, offset: int) -> ctypes.c_uint64:
        """Return a word at the start of ``aux``, live; for hooks."""
        return ctypes.c_uint64.from_address(self._aux + offset)

    # ---- time

    @property
    def cycles(self) -> int:
        """Edges since power-on."""
        return self.header(CYCLES).value

    def step(self, cycles: int = 1) -> None:
        """Pass ``cycles`` clock edges; raise PropertyError after the edge at which an assertion did not hold."""
        self._run(cycles, 0)

    def run_until(self, signal: str, max_cycles: int) -> int:
        """Pass edges until the 1-bit ``signal`` (a port or probe) is high, at most ``max_cycles``; return how many.

        The signal is looked at before each edge and counts with the inputs as they are; so the number of edges that
        passed may be 0, and if it is ``max_cycles``, ``peek`` tells whether the signal is high in the end.
        """
        place = self._signal(signal)
        if signal not in self.image.observed or place.width != 1:
            raise SimulatorError(f"run_until needs a 1-bit port or probe, and {signal!r} is not one; add it to probes")
        return self._run(max_cycles, self.image.observed[signal])

    def _run(self, cycles: int, watch: int) -> int:
        stop = self.header(STOP)
        self.header(WATCH).value = watch
        self._settled = False
        done = 0
        while done < cycles:
            done += self._native.run(self.address, cycles - done)
            if not stop.value:
                break
            stop.value = 0
            self._report()
        return done

    def _report(self) -> None:
        """Show what was recorded at the last edge."""
        used = self.header(EVENT_BYTES)
        start = self._aux + self.image.records
        records = ctypes.string_at(start, used.value)
        used.value = 0
        place, broken = 0, None
        while place < len(records):
            number = int.from_bytes(records[place : place + 8], "little")
            effect = self.image.effects[number]
            end = place + self._record_sizes[number]
            text = message_text(effect, records[place + 8 : end])
            place = end
            if effect.kind in ("assert", "assume"):
                broken = broken or text
            else:
                (self.output or sys.stdout).write(text if effect.kind == "print" else text + "\n")
        for hook, where in zip(self._hooks, self.image.hooks, strict=True):
            hook.check(self, self.image.regions.aux + where)
        if broken is not None:
            raise PropertyError(f"{broken} (at the edge of cycle {self.cycles - 1})")

    def settle(self) -> None:
        """Let combinational values follow registers and inputs; peek does so by itself."""
        if not self._settled:
            self._native.settle(self.address)
            self._settled = True

    # ---- signals

    def peek(self, name: str) -> int:
        """Return the value of a port, a register or a probe, by port name or dotted path below the top."""
        place = self._signal(name)
        if place.places is None:
            raise SimulatorError(f"signal {name!r} is combinational and was not kept; name it in probes=")
        if place.settled:
            self.settle()
        number = 0
        for part in place.places:
            bits = self._bits(part.bit, part.width) if part.constant is None else part.constant
            number |= bits << part.position
        if place.signed and place.width and number >> (place.width - 1):
            number -= 1 << place.width
        return number

    def poke(self, name: str, value: int) -> None:
        """Set an input port, or a register; ``value`` may be negative, as two's complement."""
        place = self._signal(name)
        parts = place.places
        if parts is None or place.settled or any(part.constant is not None for part in parts):
            raise SimulatorError(f"signal {name!r} is neither an input nor a register, so it cannot be set")
        if not -(1 << place.width) // 2 <= value < 1 << place.width:
            raise SimulatorError(f"signal {name!r} has {place.width} bits, which cannot hold {value}")
        for part in parts:
            self._set_bits(part.bit, part.width, value >> part.position)
        self._settled = False

    def _signal(self, name: str) -> SignalPlace:
        place = self.image.signals.get(name)
        if place is None:
            near = difflib.get_close_matches(name, self.image.signals, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise SimulatorError(f"the design has no signal {name!r}{hint}")
        return place

    def _bits(self, bit: int, width: int) -> int:
        first, shift = divmod(bit, 8)
        data = ctypes.string_at(self.address + first, (shift + width + 7) // 8)
        return int.from_bytes(data, "little") >> shift & ((1 << width) - 1)

    def _set_bits(self, bit: int, width: int, value: int) -> None:
        first, shift = divmod(bit, 8)
        size = (shift + width + 7) // 8
        ones = (1 << width) - 1
        old = int.from_bytes(ctypes.string_at(self.address + first, size), "little")
        new = old & ~(ones << shift) | (value & ones) << shift
        ctypes.memmove(self.address + first, new.to_bytes(size, "little"), size)

    # ---- memories

    def memory(self, name: str) -> npt.NDArray[Any]:
        """Return a live view of a memory's rows.

        Rows of up to 64 bits are one unsigned integer of 8, 16, 32 or 64 bits each (shape ``(depth,)``), wider ones
        64-bit words, lowest first (shape ``(depth, words)``). Bits above the width must stay zero. Writing takes
        effect at once.
        """
        place = self.image.memories.get(name)
        if place is None:
            raise SimulatorError(f"the design has no memory {name!r}; it has {_listed(self.image.memories)}")
        self._settled = False
        start = self.image.regions.memory + place.offset
        rows = self.buffer[start : start + place.stride * place.depth]
        if place.width <= 64:
            return rows.view(_DTYPES[max(container(place.width), 8)])
        return rows.view(np.uint64).reshape(place.depth, -1)


def _listed(names: Iterable[str]) -> str:
    """Return names for a message."""
    return ", ".join(map(repr, names)) or "none"

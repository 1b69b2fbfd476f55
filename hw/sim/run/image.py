"""A compiled design without its state: object code, the map of its memory and what its records mean.

``to_bytes`` and ``from_bytes`` are the cache's format: a line of JSON, then the object code, then the initial contents.
Tests: ``tests/hw/sim/run``, ``tests/hw/sim/logs``, ``tests/hw/sim/translate``.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from hw.sim.netlist import cells as n
from hw.sim.run.driver import Regions
from hw.sim.translate.effects import Argument, Effect
from hw.sim.translate.layout import MemoryPlace
from hw.sim.translate.module import Translation

__all__ = ["BitPlace", "Image", "SignalPlace", "make_image"]


@dataclass(frozen=True, slots=True)
class BitPlace:
    """Bits of a signal: ``width`` of them, at its bit ``position``, from bit ``bit`` of the buffer; or a constant.

    ``constant`` is None unless the bits are constants.
    """

    position: int
    width: int
    bit: int
    constant: int | None = None


@dataclass(frozen=True, slots=True)
class SignalPlace:
    """Where a signal is read. ``settled`` says that the design must have settled for it to be right.

    ``places`` is None for a signal that is neither a register, nor an input, nor observed.
    """

    width: int
    signed: bool
    settled: bool
    places: tuple[BitPlace, ...] | None


@dataclass(frozen=True, slots=True)
class Image:
    """Everything that a simulation is started from.

    ``inputs`` and ``outputs`` are port names; ``observed`` has the offset in ``io`` of each signal that is stored in
    every cycle; ``initial`` is the buffer at power-on.
    """

    code: bytes
    initial: bytes
    regions: Regions
    signals: dict[str, SignalPlace]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    observed: dict[str, int]
    memories: dict[str, MemoryPlace]
    effects: tuple[Effect, ...]
    records: int
    hooks: tuple[int, ...]

    def to_bytes(self) -> bytes:
        """Return the image as bytes."""
        head = {
            "code": len(self.code),
            "regions": asdict(self.regions),
            "signals": {name: _packed(place) for name, place in self.signals.items()},
            "inputs": self.inputs,
            "outputs": self.outputs,
            "observed": self.observed,
            "memories": {name: asdict(place) for name, place in self.memories.items()},
            "effects": [[e.kind, e.where, _packed_message(e)] for e in self.effects],
            "records": self.records,
            "hooks": self.hooks,
        }
        return json.dumps(head).encode() + b"\n" + self.code + zlib.compress(self.initial, 1)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Image":
        """Return the image that ``to_bytes`` packed."""
        line = data.index(b"\n")
        head = json.loads(data[:line])
        end = line + 1 + head["code"]
        return cls(
            code=data[line + 1 : end],
            initial=zlib.decompress(data[end:]),
            regions=Regions(**head["regions"]),
            signals={name: _unpacked(place) for name, place in head["signals"].items()},
            inputs=tuple(head["inputs"]),
            outputs=tuple(head["outputs"]),
            observed=head["observed"],
            memories={name: MemoryPlace(**place) for name, place in head["memories"].items()},
            effects=tuple(Effect(kind, where, _unpacked_message(m)) for kind, where, m in head["effects"]),
            records=head["records"],
            hooks=tuple(head["hooks"]),
        )


def _packed(place: SignalPlace) -> list[object]:
    """Return a signal's place as JSON lists, which are quicker than objects."""
    places = None if place.places is None else [[p.position, p.width, p.bit, p.constant] for p in place.places]
    return [place.width, place.signed, place.settled, places]


def _unpacked(packed: list[object]) -> SignalPlace:
    width, signed, settled, places = packed
    assert isinstance(width, int)
    unpacked = tuple(BitPlace(*place) for place in places) if isinstance(places, list) else None
    return SignalPlace(width, bool(signed), bool(settled), unpacked)


def _packed_message(effect: Effect) -> list[object] | None:
    if effect.message is None:
        return None
    return [item if isinstance(item, str) else [item.width, item.signed, item.spec] for item in effect.message]


def _unpacked_message(message: list[object] | None) -> tuple[str | Argument, ...] | None:
    if message is None:
        return None
    return tuple(item if isinstance(item, str) else Argument(*item) for item in message)  # type: ignore[misc]


def make_image(netlist: n.Netlist, translation: Translation, code: bytes, memory_names: Sequence[str]) -> Image:
    """Return the image of a translated netlist; ``memory_names`` go with its memories in cell order."""
    places = translation.layout.memories
    return Image(
        code=code,
        initial=_initial(netlist, translation),
        regions=translation.regions,
        signals={name: _signal_place(translation, name, item) for name, item in netlist.signals.items()},
        inputs=tuple(netlist.top.inputs),
        outputs=tuple(netlist.top.outputs),
        observed={name: slot.offset for name, slot in translation.observed.items() if name in translation.sure},
        memories=dict(zip(memory_names, places.values(), strict=True)),
        effects=tuple(translation.effects),
        records=translation.records,
        hooks=tuple(translation.hooks),
    )


def _initial(netlist: n.Netlist, translation: Translation) -> bytes:
    """Return the buffer at power-on."""
    buffer = bytearray(translation.regions.size)

    def put(at: int, width: int, number: int) -> None:
        size = (width + 7) // 8
        buffer[at : at + size] = number.to_bytes(size, "little")

    layout, regions = translation.layout, translation.regions
    for index, slot in layout.registers.items():
        cell = netlist.cells[index]
        if isinstance(cell, n.FlipFlop):
            put(regions.state + slot.offset, slot.width, cell.init)
    for index, place in layout.memories.items():
        cell = netlist.cells[index]
        assert isinstance(cell, n.MemoryCell)
        for row, number in enumerate(cell.init):
            if number:
                put(regions.memory + place.offset + row * place.stride, place.width, number)
    return bytes(buffer)


def _signal_place(translation: Translation, name: str, item: n.NamedValue) -> SignalPlace:
    """Return where a signal is read."""
    width = len(item.value)
    layout, regions = translation.layout, translation.regions
    if name in translation.observed:
        place = BitPlace(0, width, 8 * (regions.io + translation.observed[name].offset))
        return SignalPlace(width, item.signed, True, (place,))
    starts = sorted((start, port) for port, (start, _) in translation.inputs.items())
    places: list[BitPlace] = []
    for run in n.runs(item.value):
        if run.cell is None:
            places.append(BitPlace(run.position, run.width, 0, run.start))
        elif run.cell in layout.registers:
            at = 8 * (regions.state + layout.registers[run.cell].offset) + run.start
            places.append(BitPlace(run.position, run.width, at))
        elif run.cell == 0:
            for start, port in starts:
                slot = layout.inputs[port]
                low, high = max(start, run.start), min(start + slot.width, run.start + run.width)
                if low < high:
                    at = 8 * (regions.io + slot.offset) + low - start
                    places.append(BitPlace(run.position + low - run.start, high - low, at))
        else:
            return SignalPlace(width, item.signed, True, None)
    return SignalPlace(width, item.signed, False, tuple(places))

"""A finished launch: instruction words, micro-ops, where each instruction came from, and which words hold addresses.

The words of loads and stores that touch a buffer have a relocation, so that a launch can be moved to other buffers
(``Launch.moved``) without collecting it again.

Tests: ``tests/runtime/queue/test_launch.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from isa.bulk import array_to_words, decode_all, encode_all
from isa.config import VTAConfig
from isa.errors import VTAError
from isa.instructions import Instruction
from isa.layout import instruction_layouts
from isa.origin import Origin
from isa.program import MemoryImage, MemorySegment, Program
from runtime.memory.device_memory import Allocation, DeviceMemory
from runtime.observe.graph_node import nodes_of, with_node
from runtime.queue.instruction_queue import Entry
from runtime.queue.uop_cache import Placement

__all__ = ["Launch", "LaunchAddresses", "RelocationError", "Relocations", "build_launch", "dram_base"]


class RelocationError(VTAError, ValueError):
    """A buffer that a launch cannot use in place of the one it was recorded with."""


@dataclass(frozen=True, slots=True)
class LaunchAddresses:
    """Physical addresses of the instruction area and the micro-op area."""

    instructions: int
    uops: int


Column = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Relocations:
    """Which instructions hold addresses, as columns of one length.

    Instruction ``index`` touches buffer number ``buffer`` of ``buffers`` from element ``offset`` up to (not including)
    element ``end``; an element has ``unit`` bytes.
    """

    buffers: tuple[Allocation, ...]
    index: Column
    buffer: Column
    offset: Column
    end: Column
    unit: Column

    def bases(self, buffers: Sequence[Allocation]) -> Column:
        """Return the ``dram_base`` of each instruction with ``buffers`` in place of the recorded ones.

        Raises ``RelocationError`` for a buffer that is too short or lies where elements do not start.
        """
        if not self.index.size:
            return self.index
        sizes = np.array([buffer.nbytes for buffer in buffers])
        short = np.flatnonzero(self.end * self.unit > sizes[self.buffer])
        if short.size:
            at = short[0]
            buffer = buffers[self.buffer[at]]
            raise RelocationError(
                f"buffer at {buffer.address:#x}: it has {buffer.nbytes} bytes, and instruction {self.index[at]} of the "
                f"recorded launch reaches to byte {self.end[at] * self.unit[at]}"
            )
        addresses = np.array([buffer.address for buffer in buffers])[self.buffer]
        crooked = np.flatnonzero(addresses % self.unit)
        if crooked.size:
            raise RelocationError(_misaligned(int(addresses[crooked[0]]), int(self.unit[crooked[0]])))
        bases: Column = addresses // self.unit + self.offset
        return bases


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Launch:
    """What one launch consists of; ``array`` (n, 2) and ``uops`` are read-only words as they lie in DRAM.

    ``resident`` are the micro-op blocks that are on chip at the end.
    """

    config: VTAConfig
    array: npt.NDArray[np.uint64]
    uops: npt.NDArray[np.uint32]
    addresses: LaunchAddresses
    origins: tuple[Origin | None, ...]
    relocations: Relocations
    resident: tuple[Placement, ...]
    nodes: tuple[str, ...] = ("",)
    """The nodes of a graph that its instructions are for, in order of appearance; an empty text is none."""

    def __len__(self) -> int:
        return len(self.array)

    @property
    def words(self) -> list[int]:
        """The 128-bit instruction words."""
        return array_to_words(self.array)

    @property
    def instructions(self) -> list[Instruction]:
        """The instructions, decoded."""
        return decode_all(self.array, self.config)

    @property
    def buffers(self) -> tuple[Allocation, ...]:
        """The buffers that it touches, each once, in order of first use."""
        return self.relocations.buffers

    def moved(self, buffers: Mapping[Allocation, Allocation]) -> "Launch":
        """Return the same launch on other buffers: each one that is a key is replaced by its value.

        Raises ``RelocationError`` for a buffer that is too short or lies at an address that elements do not start at.
        """
        moved = tuple(buffers.get(buffer, buffer) for buffer in self.buffers)
        if moved == self.buffers:
            return self
        array, table = self.array.copy(), self.relocations
        shift, mask = _dram_base_bits(self.config)
        cleared = array[table.index, 0] & ~(mask << shift)
        array[table.index, 0] = cleared | (table.bases(moved).astype(np.uint64) << shift)
        array.flags.writeable = False
        return replace(self, array=array, relocations=replace(table, buffers=moved))

    def run_for(self, node: str) -> "Launch":
        """Return the same launch for ``node``, the node of a graph (empty: for none), which every origin then names."""
        if self.nodes == (node,):
            return self
        return replace(self, origins=with_node(self.origins, node), nodes=(node,))

    def image(self, memory: DeviceMemory) -> MemoryImage:
        """Return what the launch's buffers in ``memory`` hold now."""
        segments = (
            MemorySegment(address=b.address, data=memory.read(b, 0, b.nbytes), name=f"buffer{i}")
            for i, b in enumerate(self.buffers)
        )
        return MemoryImage(segments=tuple(segments))

    def program(self, memory: DeviceMemory) -> Program:
        """Return a program that stands alone, with what the launch's buffers in ``memory`` hold now."""
        return self.program_with(self.image(memory))

    def program_with(self, image: MemoryImage) -> Program:
        """Return a program that stands alone, with what ``image`` returned before."""
        return Program(
            config=self.config,
            instructions=tuple(self.instructions),
            uops=tuple(self.uops.tolist()),
            uop_base=self.addresses.uops,
            memory=image,
            origins=self.origins,
        )


def build_launch(
    entries: Sequence[Entry],
    *,
    uops: Sequence[int],
    resident: tuple[Placement, ...],
    addresses: LaunchAddresses,
    config: VTAConfig,
) -> Launch:
    """Encode collected instructions. ``EncodingError`` names a value that a field does not hold."""
    array = encode_all([entry.instruction for entry in entries], config)
    layout = instruction_layouts(config)["LOAD"]  # every layout has its flags in the same place
    shift = layout.offsets[layout.fields.index(layout.field("pop_prev"))]
    array[:, 0] |= np.array([entry.tokens for entry in entries], np.uint64) << np.uint64(shift)
    words = np.array(uops, np.uint32)
    array.flags.writeable = words.flags.writeable = False
    return Launch(
        config=config,
        array=array,
        uops=words,
        addresses=addresses,
        origins=tuple(entry.origin for entry in entries),
        nodes=nodes_of(entry.origin for entry in entries),
        relocations=_relocations(entries),
        resident=resident,
    )


def dram_base(buffer: Allocation, offset: int, element_bytes: int) -> int:
    """Return the ``dram_base`` of element ``offset`` of ``buffer``."""
    base, rest = divmod(buffer.address, element_bytes)
    if rest:
        raise RelocationError(_misaligned(buffer.address, element_bytes))
    return base + offset


def _misaligned(address: int, unit: int) -> str:
    return f"buffer at {address:#x}: elements of {unit} bytes start at multiples of their size"


def _relocations(entries: Sequence[Entry]) -> Relocations:
    numbers: dict[Allocation, int] = {}
    rows = [
        (index, numbers.setdefault(t.buffer, len(numbers)), t.offset, t.offset + t.reach, t.element_bytes)
        for index, entry in enumerate(entries)
        if (t := entry.target) is not None
    ]
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    return Relocations(tuple(numbers), *columns)


def _dram_base_bits(config: VTAConfig) -> tuple[np.uint64, np.uint64]:
    layout = instruction_layouts(config)["LOAD"]  # LOAD and STORE share it
    field = layout.field("dram_base")
    return np.uint64(layout.offsets[layout.fields.index(field)]), np.uint64(field.high)

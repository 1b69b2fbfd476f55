"""A launch without addresses: its words, its micro-ops, and which words get the address of which tensor.

``StoredLaunch.of`` takes the addresses out of a launch that the command queue has collected; ``placed`` puts in those
of the memory at hand. Nothing else in a word depends on where data lie.
Tests: tests/runtime/executor/test_stored_launch.py, tests/runtime/executor/test_network.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.bulk import decode_fields
from isa.config import VTAConfig
from isa.encoding import DecodingError
from isa.errors import VTAError
from isa.instructions import MemoryId
from isa.layout import instruction_layouts
from isa.origin import Origin
from runtime.memory.device_memory import Allocation
from runtime.queue.launch import Launch, LaunchAddresses, Relocations

__all__ = ["AddressColumns", "StoredLaunch", "StoredLaunchError", "TensorPlace", "zero_bytes"]

UOP_BYTES = 4

Column = npt.NDArray[np.int64]


class StoredLaunchError(VTAError, ValueError):
    """A launch that cannot be kept without its addresses, or words that are not a launch."""


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """Where a tensor lies: ``offset`` bytes into ``block``."""

    block: Allocation
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class AddressColumns:
    """Which instructions get an address, as columns of one length.

    Instruction ``index`` touches tensor number ``tensor`` from element ``offset`` up to (not including) ``end``; an
    element has ``unit`` bytes. Tensor number -1 is the launcher's element of zeros.
    """

    index: Column
    tensor: Column
    offset: Column
    end: Column
    unit: Column


@dataclass(frozen=True, slots=True, eq=False)
class StoredLaunch:
    """The words of a launch (n, 2): DRAM addresses in them are zero, those of micro-ops count from the first one."""

    array: npt.NDArray[np.uint64]
    uops: npt.NDArray[np.uint32]
    addresses: AddressColumns
    origins: tuple[Origin | None, ...]

    def __len__(self) -> int:
        return len(self.array)

    @staticmethod
    def of(launch: Launch, tensors: Mapping[Allocation, int], zeros: Allocation | None = None) -> "StoredLaunch":
        """Return ``launch`` without addresses; ``tensors`` numbers the buffers it touches, ``zeros`` gets -1.

        Raises ``StoredLaunchError`` for a buffer that has no number.
        """
        table = launch.relocations
        numbers = {**tensors, **({zeros: -1} if zeros is not None else {})}
        unknown = [buffer for buffer in table.buffers if buffer not in numbers]
        if unknown:
            raise StoredLaunchError(f"the launch touches a buffer at {unknown[0].address:#x} that is no tensor's")
        array = launch.array.copy()
        _set_bases(array, table.index, np.zeros(len(table.index), np.int64), launch.config)
        loads = _uop_loads(array, launch.config)
        first = launch.addresses.uops // UOP_BYTES
        _set_bases(array, loads, _bases(array, loads, launch.config) - first, launch.config)
        tensor = np.array([numbers[buffer] for buffer in table.buffers], np.int64)[table.buffer]
        columns = AddressColumns(table.index, tensor, table.offset, table.end, table.unit)
        return StoredLaunch(array, launch.uops, columns, launch.origins)

    def check(self, where: str, nbytes: Sequence[int], config: VTAConfig) -> None:
        """Raise ``StoredLaunchError`` beginning with ``where`` unless transfers stay within tensors of ``nbytes``.

        What each word moves is read from the word itself, so that a damaged table of addresses cannot hide it.
        """
        try:
            moves = _moves(self.array, config)
        except DecodingError as error:
            raise StoredLaunchError(f"{where}: {error}") from None
        table = self.addresses
        if len({len(column) for column in (table.index, table.tensor, table.offset, table.end, table.unit)}) != 1:
            raise StoredLaunchError(f"{where}: its columns of addresses have different lengths")
        if len(self.origins) != len(self.array):
            raise StoredLaunchError(f"{where}: {len(self.array)} instructions have {len(self.origins)} origins")
        of_uops = moves.memory == MemoryId.UOP
        bases = _bases(self.array, moves.index[of_uops], config)
        if np.any(bases + moves.reach[of_uops] > len(self.uops)):
            raise StoredLaunchError(f"{where}: it loads micro-ops beyond its {len(self.uops)}")
        order = np.argsort(table.index, kind="stable")
        if not np.array_equal(table.index[order], moves.index[~of_uops]):
            raise StoredLaunchError(f"{where}: not every load and store has an address, or something else has one")
        unit, reach = moves.unit[~of_uops], moves.reach[~of_uops]
        if not np.array_equal(table.unit[order], unit) or np.any((table.end - table.offset)[order] < reach):
            raise StoredLaunchError(f"{where}: a transfer is larger than its entry in the table of addresses")
        if np.any((table.tensor < -1) | (table.tensor >= len(nbytes))):
            raise StoredLaunchError(f"{where}: an address refers to a tensor that the step does not have")
        sizes = np.array([*nbytes, zero_bytes(config)], np.int64)[table.tensor]
        if np.any((table.offset < 0) | (table.end < table.offset) | (table.end > sizes // table.unit)):
            raise StoredLaunchError(f"{where}: a transfer reaches beyond its tensor")

    def placed(
        self, config: VTAConfig, places: Sequence[TensorPlace], zeros: Allocation, addresses: LaunchAddresses
    ) -> Launch:
        """Return the launch for tensors at ``places`` and a queue whose areas are at ``addresses``."""
        table = self.addresses
        blocks = tuple(dict.fromkeys([*(place.block for place in places), zeros]))
        number = {block: position for position, block in enumerate(blocks)}
        where = [*places, TensorPlace(zeros, 0)]  # number -1 is the last one
        block = np.array([number[place.block] for place in where], np.int64)[table.tensor]
        start = np.array([place.offset for place in where], np.int64)[table.tensor]
        if np.any(start % table.unit):
            raise StoredLaunchError("a tensor lies where elements do not start")
        start = start // table.unit
        relocations = Relocations(blocks, table.index, block, start + table.offset, start + table.end, table.unit)
        array = self.array.copy()
        _set_bases(array, table.index, relocations.bases(blocks), config)
        loads = _uop_loads(array, config)
        _set_bases(array, loads, _bases(array, loads, config) + addresses.uops // UOP_BYTES, config)
        array.flags.writeable = False
        return Launch(
            config=config, array=array, uops=self.uops, addresses=addresses, origins=self.origins,
            relocations=relocations, resident=(),
        )  # fmt: skip


def zero_bytes(config: VTAConfig) -> int:
    """Return the bytes of the launcher's element of zeros."""
    return max(config.elem_bytes(memory) for memory in MemoryId)


@dataclass(frozen=True, slots=True, eq=False)
class _Moves:
    """The transfers of a stream that move something: place, memory, elements from first to last, bytes of one."""

    index: Column
    memory: Column
    reach: Column
    unit: Column


def _moves(array: npt.NDArray[np.uint64], config: VTAConfig) -> _Moves:
    """Return all transfers in ``array``; ``DecodingError`` for an illegal word."""
    found = []
    tables = decode_fields(array, config)
    for name in ("LOAD", "STORE"):
        if name not in tables:
            continue
        columns = tables[name].columns
        rows, row = columns["y_size"], columns["x_size"]
        moving = (rows > 0) & (row > 0)
        memory = columns["memory"]
        reach = np.where(memory == MemoryId.UOP, row, (rows - 1) * columns["x_stride"] + row)
        unit = np.array([config.elem_bytes(MemoryId(value)) for value in memory.tolist()], np.int64)
        found.append(np.stack([tables[name].index, memory, reach, unit])[:, moving])
    index, memory, reach, unit = np.concatenate([np.zeros((4, 0), np.int64), *found], axis=1)
    order = np.argsort(index)
    return _Moves(index[order], memory[order], reach[order], unit[order])


def _uop_loads(array: npt.NDArray[np.uint64], config: VTAConfig) -> Column:
    """Return the places of the loads of micro-ops that move something."""
    moves = _moves(array, config)
    loads: Column = moves.index[moves.memory == MemoryId.UOP]
    return loads


def _bases(array: npt.NDArray[np.uint64], index: Column, config: VTAConfig) -> Column:
    shift, mask = _base_bits(config)
    bases: Column = ((array[index, 0] >> shift) & mask).astype(np.int64)
    return bases


def _set_bases(array: npt.NDArray[np.uint64], index: Column, bases: Column, config: VTAConfig) -> None:
    shift, mask = _base_bits(config)
    array[index, 0] = (array[index, 0] & ~(mask << shift)) | (bases.astype(np.uint64) << shift)


def _base_bits(config: VTAConfig) -> tuple[np.uint64, np.uint64]:
    layout = instruction_layouts(config)["LOAD"]  # LOAD and STORE share it
    field = layout.field("dram_base")
    return np.uint64(layout.offsets[layout.fields.index(field)]), np.uint64(field.high)

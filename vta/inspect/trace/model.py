"""What a trace holds: a header, and for each launch its timeline with the micro-ops that it loaded.

Tests: tests/vta/inspect/trace/test_trace_file.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from isa.bulk import FieldTable, decode_all, decode_legal, modules_of
from isa.config import VTAConfig
from isa.instructions import Instruction, MemoryId, Module
from runtime.observe.graph_node import nodes_of
from runtime.observe.timeline import Timeline

__all__ = ["Recorded", "TraceHeader", "UopReader", "loaded_uops"]


@dataclass(frozen=True, slots=True)
class TraceHeader:
    """Where a trace comes from: the device, its configuration, what else it was made with, and the program's name."""

    device: str
    config: VTAConfig
    hardware: Mapping[str, object]
    program: str
    versions: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Recorded:
    """Launch ``number`` of a trace; ``uops`` has the micro-op words that each load of micro-ops brought, by index."""

    number: int
    timeline: Timeline
    uops: Mapping[int, npt.NDArray[np.uint32]] = field(default_factory=dict)

    @property
    def config(self) -> VTAConfig:
        """The configuration of the launch."""
        return self.timeline.config

    def __len__(self) -> int:
        return len(self.timeline.array)

    @property
    def node(self) -> str:
        """The node of a graph that the launch is for, empty if there is none; several with commas between them."""
        return ", ".join(filter(None, nodes_of(self.timeline.origins)))

    @property
    def legal(self) -> int:
        """How many instructions come before the first illegal one."""
        return self._decoded[0]

    @property
    def tables(self) -> Mapping[str, FieldTable]:
        """The fields of the legal instructions."""
        return self._decoded[1]

    @cached_property
    def _decoded(self) -> tuple[int, Mapping[str, FieldTable]]:
        return decode_legal(self.timeline.array, self.config)

    @cached_property
    def instructions(self) -> list[Instruction]:
        """The legal instructions."""
        return decode_all(self.timeline.array[: self.legal], self.config)

    @cached_property
    def modules(self) -> list[Module]:
        """The module of each legal instruction."""
        return [Module(number) for number in modules_of(self.tables, self.legal).tolist()]


class UopReader:
    """Reads the micro-ops that launches loaded; what was launched last is kept decoded, since launches come again."""

    def __init__(self) -> None:
        self._array: npt.NDArray[np.uint64] | None = None
        self._table: FieldTable | None = None

    def read(self, timeline: Timeline, memory: npt.NDArray[np.uint8]) -> dict[int, npt.NDArray[np.uint32]]:
        """Return the words that each executed load of micro-ops read from ``memory``, all of DRAM, by instruction."""
        if self._array is None or not np.array_equal(self._array, timeline.array):
            self._array, self._table = timeline.array, Recorded(0, timeline).tables.get("LOAD")
        table = self._table
        if table is None:
            return {}
        columns, size = table.columns, timeline.config.uop_elem_bytes
        words = memory[: memory.size // size * size].view("<u4")
        loads: dict[int, npt.NDArray[np.uint32]] = {}
        for at in np.flatnonzero((columns["memory"] == MemoryId.UOP) & (timeline.begun[table.index] >= 0)).tolist():
            begin = int(columns["dram_base"][at])
            end = begin + int(columns["x_size"][at])
            if begin < end <= words.size:
                loads[int(table.index[at])] = words[begin:end].copy()
        return loads


def loaded_uops(timeline: Timeline, memory: npt.NDArray[np.uint8]) -> dict[int, npt.NDArray[np.uint32]]:
    """Return what ``UopReader`` reads, of one launch."""
    return UopReader().read(timeline, memory)

"""What ranges of the micro-op buffer say: where its contents are known, or as far as they can be without running.

Tests: ``tests/isa/check/test_checker.py``.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from isa.bulk import decode_uop_fields
from isa.check.findings import FindingKind
from isa.config import VTAConfig
from isa.encoding import DecodingError, decode_uop
from isa.instructions import Load
from isa.layout import uop_layout
from isa.program import Program

__all__ = ["KnownUops", "UopBuffer", "UopRange"]

Column = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class UopRange:
    """What a range of micro-ops says: ``problem`` (and its kind) if one cannot be used, or else their fields.

    ``complete`` tells whether all of them are known; ranges with the same contents have the same ``key``.
    """

    problem: str | None
    kind: FindingKind
    complete: bool
    key: bytes
    dst: tuple[int, ...] = ()
    src: tuple[int, ...] = ()
    wgt: tuple[int, ...] = ()

    @classmethod
    def of(cls, words: npt.NDArray[np.uint32], config: VTAConfig) -> Self:
        """Return what ``words``, all known, say; ``problem`` is what an engine says of the first illegal one."""
        bad = np.flatnonzero(words & np.uint32(uop_layout(config).unused_mask))
        if bad.size:
            return cls(_refusal(int(words[bad[0]]), config), FindingKind.WORD, False, words.tobytes())
        return cls(None, FindingKind.WORD, True, words.tobytes(), **_columns(words, config))


class UopBuffer:
    """The micro-ops on chip where all are known: zeros at first, then what was put there."""

    def __init__(self, config: VTAConfig) -> None:
        self._config = config
        self._words = np.zeros(config.uop_depth, np.uint32)
        self._ranges: dict[tuple[int, int], UopRange] = {}

    def put(self, place: int, words: npt.NDArray[np.uint32]) -> None:
        """Take in ``words`` from element ``place`` on."""
        self._words[place : place + len(words)] = words
        self._ranges.clear()

    def read(self, begin: int, end: int) -> UopRange:
        """Return what the micro-ops ``begin`` to ``end - 1`` say."""
        found = self._ranges.get((begin, end))
        if found is None:
            found = self._ranges[begin, end] = UopRange.of(self._words[begin:end], self._config)
        return found


class KnownUops:
    """The micro-ops on chip: loaded from the program's image or a memory segment, unknown, or not loaded at all."""

    _UNKNOWN, _NOT_LOADED = -1, -2

    def __init__(self, program: Program) -> None:
        self._config = program.config
        regions = [(program.uop_base, np.array(program.uops, np.int64))]
        for segment in program.memory.segments:
            skip = -segment.address % 4
            words = np.frombuffer(segment.data[skip : skip + (segment.nbytes - skip) // 4 * 4], "<u4")
            regions.append((segment.address + skip, words))
        self._regions = [(base // 4, words) for base, words in regions if len(words)]
        self._words = np.full(program.config.uop_depth, self._NOT_LOADED, np.int64)
        self._ranges: dict[tuple[int, int], UopRange] = {}
        self._unused = uop_layout(self._config).unused_mask

    def store(self, begin: int, end: int) -> None:
        """Follow a store to DRAM bytes ``begin`` to ``end - 1``: micro-ops there are unknown from now on."""
        for place, (base, words) in enumerate(self._regions):
            first, last = max(0, begin // 4 - base), max(0, -(-end // 4) - base)
            if first < min(last, len(words)):
                if words.dtype != np.int64 or not words.flags.writeable:
                    words = words.astype(np.int64)
                    self._regions[place] = (base, words)
                words[first:last] = self._UNKNOWN

    def load(self, load: Load) -> None:
        """Follow a load of micro-ops."""
        target = self._words[load.sram_base : load.sram_base + load.x_size]
        target[:] = self._UNKNOWN
        for base, words in self._regions:
            first, last = max(load.dram_base, base), min(load.dram_base + load.x_size, base + len(words))
            if first < last:
                target[first - load.dram_base : last - load.dram_base] = words[first - base : last - base]
        self._ranges.clear()

    def learn(self, place: int, words: npt.NDArray[np.uint32]) -> None:
        """Take in what a load really put into the buffer from ``place`` on."""
        self._words[place : place + len(words)] = words
        self._ranges.clear()

    def inherit(self, other: Self) -> None:
        """Start with the buffer as ``other`` left it."""
        self._words[:] = other._words

    def read(self, begin: int, end: int) -> UopRange:
        """Return what is known about the micro-ops ``begin`` to ``end - 1``, which are within the buffer."""
        found = self._ranges.get((begin, end))
        if found is None:
            found = self._ranges[begin, end] = self._read(begin, end)
        return found

    def _read(self, begin: int, end: int) -> UopRange:
        words = self._words[begin:end]
        key = words.tobytes()
        wrong = np.flatnonzero((words == self._NOT_LOADED) | ((words >= 0) & (words & self._unused != 0)))
        if wrong.size:
            place = int(wrong[0])
            kind = FindingKind.UNWRITTEN if words[place] == self._NOT_LOADED else FindingKind.WORD
            return UopRange(self._problem(begin + place), kind, False, key)
        known = words[words >= 0]
        return UopRange(
            None, FindingKind.WORD, len(known) == len(words), key, **_columns(known.astype(np.uint32), self._config)
        )

    def _problem(self, place: int) -> str:
        """Say what is wrong with using the micro-op at ``place``."""
        word = int(self._words[place])
        if word == self._NOT_LOADED:
            return f"micro-op {place} is used but no instruction before loads it"
        return f"micro-op {place}: {_refusal(word, self._config)}"


def _columns(words: npt.NDArray[np.uint32], config: VTAConfig) -> dict[str, tuple[int, ...]]:
    return {name: tuple(column.tolist()) for name, column in decode_uop_fields(words, config).items()}


def _refusal(word: int, config: VTAConfig) -> str:
    """Return why a micro-op is illegal."""
    try:
        decode_uop(word, config)
    except DecodingError as error:
        return str(error)
    raise AssertionError("bulk and scalar decoder judge every micro-op alike")

"""Recorded launches put into device memory as they are: buffers, micro-ops and words at their physical addresses."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.bulk import words_to_array
from runtime.memory.device_memory import PAGE_BYTES, DeviceMemory
from tests.support.golden.golden import Case, recorded_uops
from tests.support.runtime.launching import Placed

__all__ = ["GOLDEN_MEMORY_LIMIT", "golden_words", "place_case", "written_bytes"]

GOLDEN_MEMORY_LIMIT = 1 << 29
"""Enough for every recording: they have two areas of 32 MiB after their buffers."""


@dataclass(frozen=True, slots=True)
class _Region:
    address: int
    contents: npt.NDArray[np.uint8]


def golden_words(case: Case) -> npt.NDArray[np.uint64]:
    """Return the words of the case's one launch, shape (n, 2)."""
    assert len(case.record["launches"]) == 1
    return words_to_array(case.words)


def place_case(memory: DeviceMemory, case: Case, words: npt.NDArray[np.uint64] | None = None) -> Placed:
    """Put the case into a fresh ``memory``, with ``words`` in place of its own if given.

    Buffers hold the recorded inputs, or random bytes (seeded by the case's name) where none were recorded.
    """
    chosen = golden_words(case) if words is None else words
    [launch] = case.record["launches"]
    code = _Region(launch["insn_phy"], chosen.astype("<u8").reshape(-1).view(np.uint8))
    for region in (*_regions(case), code):
        if region.contents.size:
            memory.claim(region.address, -(-region.contents.size // PAGE_BYTES) * PAGE_BYTES)
            memory.view(region.address, region.contents.size)[:] = region.contents
    return Placed(code.address, len(chosen))


def written_bytes(memory: DeviceMemory, case: Case) -> dict[str, bytes]:
    """Return what the case's buffers hold, by name."""
    return {entry["name"]: memory.view(entry["phy"], entry["bytes"]).tobytes() for entry in case.record["buffers"]}


def _regions(case: Case) -> Iterator[_Region]:
    arrays = case.arrays
    for entry in case.record["buffers"]:
        recorded = arrays.get(f"in_{entry['name']}")
        if recorded is not None:
            yield _Region(entry["phy"], np.frombuffer(recorded.tobytes(), np.uint8))
            continue
        rng = np.random.default_rng(zlib.crc32(f"{case.name} {entry['name']}".encode()))
        yield _Region(entry["phy"], rng.integers(0, 256, entry["bytes"], np.uint8))
    [launch] = case.record["launches"]
    micro_ops = np.array(recorded_uops(case), "<u4")
    yield _Region(launch["uop_phy"], micro_ops.view(np.uint8))

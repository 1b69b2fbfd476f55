"""A recorded launch as a program that stands alone: its buffers hold the recorded inputs, or random bytes."""

import zlib

import numpy as np
import numpy.typing as npt

from isa.bulk import decode_all, words_to_array
from isa.program import MemoryImage, MemorySegment, Program
from tests.support.golden.golden import Case, recorded_uops

__all__ = ["golden_program"]


def golden_program(case: Case) -> Program:
    """Return the one launch of ``case``."""
    [launch] = case.record["launches"]
    segments = tuple(
        MemorySegment(address=entry["phy"], data=_contents(case, entry["name"], entry["bytes"]).tobytes(), name=name)
        for entry, name in zip(case.record["buffers"], _names(case), strict=True)
    )
    return Program(
        config=case.config,
        instructions=tuple(decode_all(words_to_array(case.words), case.config)),
        uops=tuple(recorded_uops(case)),
        uop_base=launch["uop_phy"],
        memory=MemoryImage(segments=segments),
    )


def _names(case: Case) -> list[str]:
    return [entry["name"] for entry in case.record["buffers"]]


def _contents(case: Case, name: str, nbytes: int) -> npt.NDArray[np.uint8]:
    recorded = case.arrays.get(f"in_{name}")
    if recorded is not None:
        return np.frombuffer(recorded.tobytes(), np.uint8)
    rng = np.random.default_rng(zlib.crc32(f"{case.name} {name}".encode()))
    return rng.integers(0, 256, nbytes, np.uint8)

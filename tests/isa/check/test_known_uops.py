"""Micro-ops that are known: those of the image and of segments, until something is stored over them."""

import numpy as np
import pytest

from isa.check.findings import FindingKind
from isa.config import VTAConfig
from isa.encoding import encode_uop
from isa.instructions import Finish, Load, MemoryId, MicroOp
from isa.known_uops import KnownUops
from isa.program import MemoryImage, MemorySegment, Program

CONFIG = VTAConfig()
COUNT = 6
BASE = 0x100


def known(*, in_segment: bool) -> KnownUops:
    words = [encode_uop(MicroOp(dst=n, src=n), CONFIG) for n in range(COUNT)]
    segment = MemorySegment(address=4 * BASE, data=np.array(words, "<u4").tobytes(), name="s")
    memory = MemoryImage(segments=(segment,) if in_segment else ())
    image = () if in_segment else tuple(words)
    return KnownUops(Program(config=CONFIG, instructions=(Finish(),), memory=memory, uops=image, uop_base=4 * BASE))


def complete(uops: KnownUops) -> list[bool]:
    """Load them all; return which are known."""
    uops.load(Load(memory=MemoryId.UOP, sram_base=0, dram_base=BASE, y_size=1, x_size=COUNT, x_stride=COUNT))
    return [uops.read(n, n + 1).complete for n in range(COUNT)]


@pytest.mark.parametrize("in_segment", [False, True])
@pytest.mark.parametrize(
    ("begin", "end", "lost"),
    [(0, 0, ()), (0, 1, (0,)), (3, 4, (0,)), (3, 5, (0, 1)), (4, 8, (1,)), (7, 13, (1, 2, 3)), (8, 24, (2, 3, 4, 5)),
     (23, 99, (5,)), (24, 99, ()), (-8, 0, ()), (-8, 1, (0,)), (20, 24, (5,))],
)  # fmt: skip
def test_a_store_makes_the_words_that_it_touches_unknown(
    begin: int, end: int, lost: tuple[int, ...], in_segment: bool
) -> None:
    uops = known(in_segment=in_segment)
    assert complete(uops) == [True] * COUNT
    uops.store(4 * BASE + begin, 4 * BASE + end)
    uops.store(4 * BASE + begin, 4 * BASE + end)  # a second time: what was copied is changed in place
    assert complete(uops) == [n not in lost for n in range(COUNT)]


def test_micro_ops_that_nothing_loads_are_found() -> None:
    uops = known(in_segment=False)
    complete(uops)
    assert uops.read(0, COUNT).dst == tuple(range(COUNT))
    beyond = uops.read(0, COUNT + 1)
    assert (beyond.kind, beyond.complete) == (FindingKind.UNWRITTEN, False)
    assert beyond.problem == f"micro-op {COUNT} is used but no instruction before loads it"

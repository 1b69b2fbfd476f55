# amaranth: UnusedElaboratable=no
"""The ports of every component, with their widths: what its neighbours, drivers and benches are built against.

And which sizes it may have: those at a bound are taken, those beyond are refused in a sentence.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.accumulator import Accumulator
from hw.banked_scratchpad import BankedScratchpad
from hw.compute.alu_lane import AluLane
from hw.compute.gemm import GemmCore
from hw.compute.loop_nest import LoopNest
from hw.compute.mac_row import MacRow
from hw.compute.packed_product import PackedProduct
from hw.compute.uop_memory import UopMemory
from hw.dma.packer import Packer
from hw.dma.reader import Reader
from hw.errors import ComponentError
from hw.memory_engine import MemoryEngine
from hw.registered_fifo import RegisteredFIFO
from hw.scratchpad import Scratchpad
from hw.token_counter import TokenCounter
from isa.config import VTAConfig
from tests.support.golden.golden_text import check_golden_text
from tests.support.hw.every_component import components
from tests.support.odd_configs import ODD_CONFIGS

GOLDEN = Path(__file__).parent / "golden"


def described(component: wiring.Component) -> str:
    """Return a component's name, and a line for each port."""
    lines = [type(component).__name__]
    for path, member in component.signature.members.flatten():
        if member.is_port:
            shape = Shape.cast(member.shape)
            kind = f"{'signed ' if shape.signed else ''}{shape.width}"
            lines.append(f"  {'in ' if member.flow == In else 'out'} {'.'.join(map(str, path))}: {kind}")
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["default", "depthwise_int4"])
def test_every_component_has_the_ports_that_it_is_known_by(name: str, update_golden: bool) -> None:
    config = {"default": VTAConfig(), **ODD_CONFIGS}[name]
    text = "\n\n".join(described(component) for component in components(config))
    check_golden_text(text + "\n", GOLDEN / f"ports_{name}.txt", update=update_golden)


def test_no_component_is_left_out() -> None:
    root = Path(__file__).resolve().parents[2] / "hw"
    classes = {
        line.removeprefix("class ").partition("(")[0]
        for path in root.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("class ") and "(wiring.Component)" in line
    }
    assert classes - {type(each).__name__ for each in components(VTAConfig())} == {
        "Harness"
    }  # of timing, no part of it


CONFIG = VTAConfig(log_block=2, log_uop_buff_size=9, log_inp_buff_size=9, log_wgt_buff_size=10, log_acc_buff_size=11)
ENGINE = partial(MemoryEngine, addr_width=32, data_width=64, read_bursts=1, read_beats=1, write_bursts=1)
BANKS = partial(BankedScratchpad, width=8, write_granularity=8)
TILES = partial(Accumulator, address_width=3, lanes=2, lane_width=32)
ROW = partial(MacRow, inp_width=5, wgt_width=3)
TAPS = partial(GemmCore, ahead=0, share_multipliers=True)
MOST = "GemmCore with shared multipliers has lanes for 2 depthwise taps, not 3; set DEPTHWISE_TAPS or "


@pytest.mark.parametrize(
    ("make", "taken", "refused", "text"),
    [
        (AluLane, {"multipliers": [0, 3]}, [-1, 4], "AluLane has use for 0 to 3 multipliers, not {}"),
        (ROW, {"lanes": [1, 2, 64]}, [0, -1, 3, 6, 63], "MacRow needs a power of two of lanes, not {}"),
        (partial(ROW, lanes=2), {"rows": [1, 2]}, [0, 3], "MacRow has one row or two, not {}"),
        (partial(PackedProduct, other_width=1), {"factor_width": [1]}, [0, -1],
         "PackedProduct needs factors of a bit or more, not {} and 1"),
        (partial(PackedProduct, factor_width=2), {"other_width": [1]}, [0, -1],
         "PackedProduct needs factors of a bit or more, not 2 and {}"),
        (partial(GemmCore, CONFIG), {"ahead": [0, 4]}, [-1, 5],
         "GemmCore knows a destination up to 4 cycles ahead, not {}"),
        (TAPS, {"config": [replace(CONFIG, depthwise_taps=2)]}, [replace(CONFIG, depthwise_taps=3)],
         MOST + "share_multipliers to less"),
        (partial(LoopNest, uop_width=1, meta_width=1), {"operands": [{"dst": 1}]}, [{}],
         "LoopNest needs at least one operand"),
        (partial(UopMemory, readers=1), {"address_width": [1, 2]}, [0, -1],
         "UopMemory needs addresses of at least one bit, not {}"),
        (partial(UopMemory, address_width=1), {"readers": [1, 2]}, [0, -1],
         "UopMemory needs at least one reader, not {}"),
        (TILES, {"out_width": [1, 32]}, [0, 33], "Accumulator keeps 1 to 32 bits of a lane, not {}"),
        (partial(BANKS, reads=1), {"depth": [1, 2, 8]}, [0, -2, 3, 6],
         "BankedScratchpad has a power of two of elements and reads one of them to all, not 1 of {}"),
        (partial(BANKS, depth=4), {"reads": [1, 3, 4]}, [0, 5],
         "BankedScratchpad has a power of two of elements and reads one of them to all, not {} of 4"),
        (partial(ENGINE, readers=2), {"urgent": [0, 2]}, [-1, 3],
         "MemoryEngine needs a reader and 0 to 2 urgent ones, not {}"),
        (partial(ENGINE, urgent=0), {"readers": [1, 2]}, [0],
         "MemoryEngine needs a reader and 0 to {} urgent ones, not 0"),
        (partial(RegisteredFIFO, width=3), {"depth": [1, 2]}, [0, -1],
         "RegisteredFIFO needs a depth of at least 1, not {}"),
        (partial(Scratchpad, width=8), {"depth": [1, 3]}, [0, -1],
         "Scratchpad needs a depth and a width of at least 1, not {} and 8"),
        (partial(Scratchpad, depth=2), {"width": [1, 3]}, [0, -1],
         "Scratchpad needs a depth and a width of at least 1, not 2 and {}"),
        (partial(Scratchpad, depth=2, width=12), {"write_granularity": [1, 4, 12]}, [0, -4, 5, 24],
         "Scratchpad has elements of 12 bits, which parts of {} do not divide"),
        (TokenCounter, {"width": [1, 2]}, [0, -1], "TokenCounter needs a counter of at least one bit, not {}"),
        (partial(Packer, data_width=64), {"element_bytes": [1, 2, 64]}, [0, -1, 3, 12],
         "Packer needs elements of a power of two of bytes, not {}"),
        (lambda size: Reader(data_width=64, element_bytes=(4, size)), {"size": [1, 2, 64]}, [0, -1, 3, 12],
         "Reader needs elements of a power of two of bytes, not {}"),
    ],
)  # fmt: skip
def test_sizes_at_a_bound_are_taken_and_those_beyond_are_refused(
    make: Any, taken: dict[str, list[Any]], refused: list[Any], text: str
) -> None:
    [(name, sizes)] = taken.items()
    for size in sizes:
        make(**{name: size})
    for size in refused:
        with pytest.raises(ComponentError) as caught:
            make(**{name: size})
        assert str(caught.value) == text.format(size)

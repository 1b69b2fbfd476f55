# amaranth: UnusedElaboratable=no
"""The ports of every component, with their widths: what its neighbours, drivers and benches are built against."""

from pathlib import Path

import pytest
from amaranth.hdl import Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.accumulator import Accumulator
from hw.banked_scratchpad import BankedScratchpad
from hw.cause_counters import CauseCounters
from hw.compute.acc_loader import AccLoader
from hw.compute.alu import TensorAlu
from hw.compute.alu_lane import AluLane
from hw.compute.binder import Binder
from hw.compute.gemm import GemmCore
from hw.compute.loop_nest import LoopNest
from hw.compute.mac_row import MacRow
from hw.compute.packed_product import PackedProduct
from hw.compute.reset_walk import ResetWalk
from hw.compute.stage import ComputeStage
from hw.compute.uop_loader import UopLoader
from hw.compute.uop_memory import UopMemory
from hw.compute.window import Window
from hw.core import Core
from hw.dma.address import BurstWalker
from hw.dma.packer import Packer
from hw.dma.reader import Reader
from hw.dma.writer import TileWriter
from hw.fetch import InstructionFetch
from hw.instruction_check import InstructionCheck
from hw.launch import LaunchControl
from hw.load import LoadStage
from hw.memory_engine import MemoryEngine
from hw.registered_fifo import RegisteredFIFO
from hw.registers import ControlRegisters
from hw.scratchpad import Scratchpad
from hw.skid import Skid
from hw.store import StoreStage
from hw.stream_register import StreamRegister
from hw.token_counter import TokenCounter
from hw.top import Top
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from tests.support.golden.golden_text import check_golden_text
from tests.support.odd_configs import ODD_CONFIGS

GOLDEN = Path(__file__).parent / "golden"
HARDWARE = HardwareConfig()


def components(config: VTAConfig) -> list[wiring.Component]:
    """Return one component of each kind; no two sizes are alike where they can be chosen."""
    return [
        Top(config, HARDWARE),
        Core(config, HARDWARE),
        ControlRegisters(config, HARDWARE),
        CauseCounters(),
        LaunchControl(HARDWARE),
        InstructionFetch(config, HARDWARE),
        InstructionCheck(config),
        LoadStage(config, HARDWARE),
        StoreStage(config, HARDWARE),
        ComputeStage(config, HARDWARE),
        Window(config),
        Binder(config),
        GemmCore(config, ahead=1),
        TensorAlu(config),
        AccLoader(config, HARDWARE),
        UopLoader(config, HARDWARE),
        ResetWalk(config),
        LoopNest(uop_width=5, operands={"dst": 7, "src": 6}, meta_width=3),
        AluLane(),
        MacRow(lanes=4, inp_width=5, wgt_width=3),
        MacRow(lanes=4, inp_width=5, wgt_width=3, rows=2),
        PackedProduct(factor_width=7, other_width=5),
        UopMemory(address_width=6, readers=3),
        Accumulator(address_width=9, lanes=2, lane_width=32, out_width=8),
        Scratchpad(depth=20, width=24, write_granularity=8),
        BankedScratchpad(depth=16, width=24, write_granularity=8, reads=3),
        MemoryEngine(addr_width=40, data_width=128, readers=5, urgent=2, read_bursts=8, read_beats=64, write_bursts=4),
        BurstWalker(addr_width=40, data_width=128, burst_beats=16, size_width=18, rows_width=7),
        Packer(data_width=128, element_bytes=64),
        Reader(data_width=128, element_bytes=(8, 32), x_width=9, y_width=7),
        TileWriter(data_width=128, element_bytes=(8, 32), address_width=10, tag_width=3),
        Skid(11),
        StreamRegister(11),
        RegisteredFIFO(width=11, depth=5),
        TokenCounter(6),
    ]


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

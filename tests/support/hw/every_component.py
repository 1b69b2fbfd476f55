# amaranth: UnusedElaboratable=no
"""One component of each kind, for what is asked of all of them."""

from amaranth.lib import wiring

from hw.accumulator import Accumulator
from hw.banked_scratchpad import BankedScratchpad
from hw.cause_counters import CauseCounters
from hw.compute.acc_loader import AccLoader
from hw.compute.alu import TensorAlu
from hw.compute.alu_lane import AluLane
from hw.compute.binder import Binder
from hw.compute.gemm import GemmCore
from hw.compute.instruction_queue import InstructionQueue
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
from hw.read_link import ReadLink
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

__all__ = ["components"]

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
        InstructionQueue(config, depth=3),
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
        ReadLink(addr_width=40, data_width=128, registered=True),
        Skid(11),
        StreamRegister(11),
        RegisteredFIFO(width=11, depth=5),
        TokenCounter(6),
    ]

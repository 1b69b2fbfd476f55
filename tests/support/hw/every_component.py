# amaranth: UnusedElaboratable=no
"""One component of each kind, for what is asked of all of them."""

from dataclasses import replace
from functools import partial

from amaranth.lib import data, wiring

from hw.accumulator import Accumulator
from hw.banked_scratchpad import BankedScratchpad
from hw.cause_counters import CauseCounters
from hw.compute.acc_loader import AccLoader
from hw.compute.alu import TensorAlu
from hw.compute.alu_lane import AluLane
from hw.compute.binder import Binder
from hw.compute.fused_lane import FusedLane
from hw.compute.gemm import GemmCore
from hw.compute.instruction_queue import InstructionQueue
from hw.compute.loop_nest import LoopNest
from hw.compute.mac_row import MacRow
from hw.compute.packed_product import PackedProduct
from hw.compute.pair_steps import PairSteps
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

__all__ = ["components", "variants"]

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
        FusedLane(),
        PairSteps(address_width=7, meta=data.StructLayout({"fused": 1})),
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
        ReadLink(addr_width=40, data_width=128),
        Skid(11),
        StreamRegister(11),
        RegisteredFIFO(width=11, depth=5),
        TokenCounter(6),
    ]


def variants(config: VTAConfig) -> dict[str, wiring.Component]:
    """Return components with settings that ``components`` does not have, by what these are."""
    wide = HardwareConfig(data_width=512, load_jobs=2, store_jobs=3, fetch_buffer_depth=16, write_bursts=3)
    narrow = HardwareConfig(data_width=64, max_burst_beats=1, load_jobs=7, store_jobs=2, fetch_buffer_depth=2)
    taps = replace(config, depthwise_taps=2)
    walker = partial(BurstWalker, addr_width=33, burst_beats=8, size_width=12)
    rows = {"inp_width": 5, "wgt_width": 3}
    return {
        "fetch, wide bus": InstructionFetch(config, wide),
        "fetch, bursts of one beat": InstructionFetch(config, narrow),
        "load, wide bus": LoadStage(config, wide),
        "load, taps": LoadStage(taps, narrow),
        "store, wide bus": StoreStage(config, wide),
        "store, bursts of one beat": StoreStage(config, narrow),
        "micro-ops, wide bus": UopLoader(config, wide),
        "accumulators, wide bus": AccLoader(config, wide),
        "registers without causes": ControlRegisters(config, HardwareConfig(addr_width=40, cause_counters=0)),
        "one row of a queue": InstructionQueue(config, depth=1),
        "two rows, shared": GemmCore(config, ahead=2, share_multipliers=True),
        "two rows, shared, five multipliers": GemmCore(config, ahead=0, share_multipliers=True, multipliers=5),
        "depthwise": GemmCore(taps, ahead=3),
        "depthwise, shared": GemmCore(taps, ahead=3, share_multipliers=True),
        "lane, one multiplier": AluLane(multipliers=1),
        "lane, two wide multipliers": AluLane(multipliers=2, wide=True),
        "alu, some multipliers": TensorAlu(config, multipliers=(3, 2, 1, 0), wide_multipliers=True),
        "fused lane, one wide multiplier": FusedLane(multipliers=1, wide=True),
        "fused alu": TensorAlu(replace(config, fused_alu=1)),
        "gemm beside a fused alu": GemmCore(config, ahead=6, lead=2),
        "one lane": MacRow(lanes=1, **rows),
        "two lanes of logic": MacRow(lanes=2, **rows, multipliers=0),
        "eight lanes": MacRow(lanes=8, **rows),
        "sixteen lanes, two rows, seven multipliers": MacRow(lanes=16, **rows, rows=2, multipliers=7),
        "one reader": UopMemory(address_width=1, readers=1),
        "accumulator of one tile": Accumulator(address_width=0, lanes=3, lane_width=32, out_width=1),
        "accumulator of two tiles": Accumulator(address_width=1, lanes=1, lane_width=32, out_width=32),
        "scratchpad of one element": Scratchpad(depth=1, width=24),
        "scratchpad with collisions": Scratchpad(depth=6, width=24, collisions=False),
        "two banks": BankedScratchpad(depth=8, width=12, write_granularity=12, reads=2),
        "engine, one reader": MemoryEngine(
            addr_width=32, data_width=64, readers=1, urgent=0, read_bursts=1, read_beats=1, write_bursts=1, axi3=True
        ),
        "engine, all urgent": MemoryEngine(
            addr_width=32, data_width=64, readers=3, urgent=3, read_bursts=3, read_beats=100, write_bursts=7
        ),
        "walker, aligned": walker(data_width=64, aligned=True),
        "walker, ahead": walker(data_width=256, ahead=True, rows_width=1),
        "walker, rows of less than a beat": BurstWalker(data_width=512, addr_width=32, burst_beats=1, size_width=3),
        "packer, whole beats": Packer(data_width=64, element_bytes=8),
        "packer, bytes": Packer(data_width=64, element_bytes=1),
        "packer, fours": Packer(data_width=256, element_bytes=4),
        "reader, bytes and beats": Reader(data_width=64, element_bytes=(1, 8, 64)),
        "reader, one kind": Reader(data_width=64, element_bytes=(16,), x_width=5, y_width=1),
        "writer, one kind": TileWriter(data_width=64, element_bytes=(16,), address_width=1),
        "link to a client that never waits": ReadLink(addr_width=32, data_width=64, waits=False),
        "queue of one": RegisteredFIFO(width=3, depth=1),
        "queue of two": RegisteredFIFO(width=3, depth=2),
        "queue with late bits": RegisteredFIFO(width=11, depth=5, early=3),
        "one token": TokenCounter(1),
    }

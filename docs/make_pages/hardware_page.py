"""The page of the documentation that says what every component does and when: the beginnings of the docstrings.

Tests: ``tests/docs/test_hardware_pages.py``.
"""

import inspect

from amaranth.lib import wiring

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
from hw.registers import ControlRegisters
from hw.scratchpad import Scratchpad
from hw.store import StoreStage
from hw.token_counter import TokenCounter
from hw.top import Top

__all__ = ["COMPONENTS", "component_page", "component_text"]

COMPONENTS: tuple[type[wiring.Component], ...] = (
    Top, ControlRegisters, CauseCounters, Core, LaunchControl, InstructionFetch, InstructionCheck, TokenCounter,
    MemoryEngine, ReadLink,
    LoadStage, StoreStage, BurstWalker, Reader, TileWriter, Packer, Scratchpad, BankedScratchpad, ComputeStage,
    InstructionQueue, Window, Binder, UopLoader, UopMemory, AccLoader, ResetWalk, GemmCore, LoopNest, MacRow,
    PackedProduct, TensorAlu, PairSteps, AluLane, FusedLane,
    Accumulator,
)  # fmt: skip
"""From the outside in."""


def component_text(component: type[wiring.Component]) -> str:
    """Return the docstring of a component up to its parameters and ports: what it does, and when."""
    text = inspect.cleandoc(component.__doc__ or "")
    for heading in ("Parameters\n-----", "Members\n-----"):
        text = text.split(heading, 1)[0]
    return text.rstrip()


def component_page() -> str:
    """Return the page, in Markdown."""
    lines = [
        "# What each component does, and when",
        "",
        "Generated from the docstrings, which also list parameters and ports. A cycle is one of the one clock;",
        '"in the next cycle" is one cycle of latency.',
        "",
    ]
    for component in COMPONENTS:
        lines += [f"## {component.__name__} (`{component.__module__}`)", "", component_text(component), ""]
    return "\n".join(lines).rstrip() + "\n"

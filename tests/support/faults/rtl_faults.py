"""The hardware with a fault in the function that describes one of its parts, compiled apart from the right one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import hw.sim
from hw.compute.acc_loader import AccLoader
from hw.compute.alu import TensorAlu
from hw.compute.alu_conflicts import AluConflicts
from hw.compute.alu_lane import AluLane
from hw.compute.gemm import GemmCore
from hw.compute.lane_parts import sum_or_limit
from hw.compute.loop_nest import LoopNest
from hw.compute.mac_row import MacRow
from hw.compute.uop_loader import UopLoader
from hw.compute.window import Window
from hw.dma.writer import TileWriter
from hw.load import LoadStage
from hw.store import StoreStage
from isa.program import Program
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from tests.support.faults.source_faults import SourceFault, method_fault
from vta.inspect.diff.stepping import Engine

__all__ = ["RTL_FAULTS", "faulty_hardware", "hardware_engine"]

MEMORY_LIMIT = 1 << 29


RTL_FAULTS: tuple[SourceFault, ...] = (
    method_fault("MAX and MIN change places", AluLane, "_plain", "AluOpcode.MAX", "AluOpcode.MIN"),
    SourceFault("comparisons extend without the sign", sum_or_limit, "y[-1] ^ carry)", "carry)"),
    method_fault(
        "MUL forgets a partial product", AluLane, "_product", "sum(terms[1:], terms[0])", "terms[0] + terms[1]"
    ),
    method_fault("left shifts wrap at 32", AluLane, "_moved", "is_far(self.y))", "is_far(self.y) & ~self.y[-1])"),
    method_fault("right shifts wrap at 32", AluLane, "_moved", "is_far(self.y))", "is_far(self.y) & self.y[-1])"),
    method_fault("right shifts fill with zeros", AluLane, "_moved", "plain[-1] & ~left", "plain[-1] & ~left & 0"),
    method_fault("counts have four bits", AluLane, "_moved", "by_16 = amount[4]", "by_16 = amount[4] & 0"),
    method_fault(
        "weights have no sign",
        MacRow,
        "_product",
        "self.wgt[row][lane]",
        "self.wgt[row][lane].as_unsigned()[: self.wgt_width - 1]",
    ),
    method_fault(
        "neighbouring weights change places", MacRow, "_product", "self.wgt[row][lane]", "self.wgt[row][lane ^ 1]"
    ),
    method_fault("every second product is left out", MacRow, "_sums", "sum(terms[1:], terms[0])", "terms[-1]"),
    method_fault(
        "no room for zeros to the right", TileWriter, "_walk_data", "+ padding.beside + 1", "+ job.x_pad_0 + 1"
    ),
    method_fault(
        "data begins at the left edge", TileWriter, "elaborate", "new.sram_base + new.x_pad_0", "new.sram_base"
    ),
    method_fault(
        "rows of inputs and weights are dense", LoadStage, "_ask", "insn.x_stride << log", "insn.x_size << log"
    ),
    method_fault(
        "rows of results are dense", StoreStage, "_elaborate_jobs", "insn.x_stride << log", "insn.x_size << log"
    ),
    method_fault(
        "stores begin at odd tiles",
        StoreStage,
        "_elaborate_tiles",
        "address.eq(insn.sram_base)",
        "address.eq(insn.sram_base | 1)",
    ),
    method_fault("rows of accumulators are dense", AccLoader, "_front", "scaled(insn.x_stride)", "scaled(insn.x_size)"),
    method_fault(
        "8-bit loads forget the sign", AccLoader, "_part", "number[-1].replicate", "(number[-1] & 0).replicate"
    ),
    method_fault(
        "the sum just before is not forwarded",
        GemmCore,
        "_accumulate",
        "Mux(near, *both)",
        "both[1]",
    ),
    method_fault(
        "the sum two steps before is not forwarded",
        GemmCore,
        "_accumulate",
        "Mux(middle, one_before, Mux(far, two_before, read))",
        "Mux(far, two_before, read)",
    ),
    method_fault(
        "the sum three steps before is not forwarded",
        GemmCore,
        "_accumulate",
        "Mux(far, two_before, read)",
        "read",
    ),
    method_fault("inputs have even offsets", GemmCore, "_front", "src + inp_offset", "src + (inp_offset & ~1)"),
    method_fault("weights have no offsets", GemmCore, "_front", "row + wgt_offset", "row"),
    method_fault(
        "inner factors are odd",
        LoopNest,
        "_offset",
        'inner + held[f"{name}_factor_in"]',
        'inner + (held[f"{name}_factor_in"] | 1)',
    ),
    method_fault(
        "the ALU takes its source without an offset",
        TensorAlu,
        "_addressed",
        "uop[name] + fetched.offsets[name]",
        'uop[name] + (fetched.offsets[name] if name == "dst" else 0)',
    ),
    method_fault(
        "a source that was overwritten is taken as it was",
        AluConflicts,
        "_new_known",
        " & ~overwrites",
        "",
    ),
    method_fault(
        "the ALU does not wait for its own results",
        AluConflicts,
        "update",
        "~(new_dst_waits | blocked(following.dst))",
        "~blocked(following.dst)",
    ),
    method_fault(
        "one micro-op too many is loaded", UopLoader, "_front", "skip_last.eq(odd ^ insn.x_size[0])", "skip_last.eq(0)"
    ),
    method_fault(
        "instructions do not wait for the same tiles",
        Window,
        "_compare",
        "(bound.low <= entry.high)",
        "(bound.low < entry.low)",
    ),
)


@contextmanager
def faulty_hardware(fault: SourceFault, number: int, cache: Path) -> Iterator[None]:
    """Have every hardware simulator that is made inside built with the fault, and kept in ``cache`` under ``number``.

    Nothing of it gets into the user's cache.
    """
    right = hw.sim.cached_design

    def design(key: str, *arguments: Any, **options: Any) -> Any:
        return right(f"{key} fault {number}", *arguments, **options)

    environment = {"XDG_CACHE_HOME": str(cache)}
    with fault.planted(), mock.patch.dict(os.environ, environment), mock.patch.object(hw.sim, "cached_design", design):
        yield


def hardware_engine(program: Program) -> Engine:
    """Return an engine for ``program``, to be called with the fault planted."""
    return Engine(program, RtlSimulator(program.config, DeviceMemory(MEMORY_LIMIT)))

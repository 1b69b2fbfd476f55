"""The compute module's queue of instructions, in which they wait with what the window wants to know of them.

Tests: ``tests/hw/compute/test_instruction_queue.py``; ports and costs: ``tests/hw/test_ports.py``,
``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.compute.jobs import Unit
from hw.layouts import INSTRUCTION_WIDTH, bits_up_to, instruction_struct
from hw.registered_fifo import RegisteredFIFO
from isa.config import VTAConfig
from isa.instructions import MemoryId, Opcode

__all__ = ["InstructionQueue", "classified_layout"]


def classified_layout(config: VTAConfig) -> data.StructLayout:
    """Return the layout of an instruction, its unit (NONE where there is nothing to do) and its range of micro-ops."""
    depth = config.log_uop_depth
    return data.StructLayout({"word": INSTRUCTION_WIDTH, "unit": Unit, "uop_bgn": depth, "uop_end": depth + 1})


class InstructionQueue(wiring.Component):
    """Keeps instructions in order; they can leave in the cycle after they came. Their tokens come from a register.

    Parameters
    ----------
    config : VTAConfig
        Sizes.
    depth : int
        Instructions that fit.

    Members
    -------
    source : In(stream of 128 bits)
        Legal instructions of the compute module.
    sink : Out(stream of classified_layout)
        The same, with what they are.
    """

    def __init__(self, config: VTAConfig, *, depth: int) -> None:
        self.config = config
        self.depth = depth
        super().__init__(
            {
                "source": In(stream.Signature(INSTRUCTION_WIDTH)),
                "sink": Out(stream.Signature(classified_layout(config))),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the queue behind the classification."""
        m = Module()
        layout = classified_layout(self.config)
        early = bits_up_to(instruction_struct(self.config, "GEMM"), "pop_next")
        m.submodules.queue = queue = RegisteredFIFO(width=layout.size, depth=self.depth, early=early)
        found = Signal(layout)
        self._classify(m, self.source.p, found)
        m.d.comb += [
            queue.w_data.eq(found),
            queue.w_en.eq(self.source.valid),
            self.source.ready.eq(queue.w_rdy),
            self.sink.p.eq(queue.r_data),
            self.sink.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.sink.ready),
        ]
        return m

    def _classify(self, m: Module, word: Value, found: Any) -> None:
        """Find unit, first micro-op, and the one after the last."""
        load = data.View(instruction_struct(self.config, "LOAD"), word)
        gemm = data.View(instruction_struct(self.config, "GEMM"), word)
        loops = (gemm.iter_out != 0) & (gemm.iter_in != 0) & (gemm.uop_end > gemm.uop_bgn)
        # The unit is NONE, which is 0, unless something below says otherwise.
        m.d.comb += [found.word.eq(word), found.uop_bgn.eq(gemm.uop_bgn), found.uop_end.eq(gemm.uop_end)]
        with m.Switch(load.opcode):
            with m.Case(Opcode.LOAD):
                with m.If(load.memory == MemoryId.UOP):
                    bgn = load.sram_base[: len(found.uop_bgn)]
                    m.d.comb += [found.uop_bgn.eq(bgn), found.uop_end.eq(bgn + load.x_size)]
                    with m.If(load.x_size != 0):
                        m.d.comb += found.unit.eq(Unit.UOP)
                with m.Elif((load.x_size != 0) & (load.y_size != 0)):
                    m.d.comb += found.unit.eq(Unit.ACC)
            with m.Case(Opcode.GEMM), m.If(loops):
                m.d.comb += found.unit.eq(Unit.GEMM)
            with m.Case(Opcode.ALU), m.If(loops):
                m.d.comb += found.unit.eq(Unit.ALU)

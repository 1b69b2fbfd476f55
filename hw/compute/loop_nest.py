"""The loops of GEMM and ALU: outer, inner and micro-op, with the offsets that the factors add to the indices.

Tests: ``tests/hw/compute/test_loop_nest.py``, ``tests/hw/compute/test_stage_gemm.py``,
``tests/hw/compute/test_stage_alu.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.errors import ComponentError

__all__ = ["ITER_WIDTH", "LoopNest", "loop_job_layout", "loop_step_layout"]

ITER_WIDTH = 14
"""Bits of an iteration count."""


def loop_job_layout(*, uop_width: int, operands: Mapping[str, int], meta_width: int) -> data.StructLayout:
    """Return the layout of a nest: the loop fields of an instruction, and ``meta`` that goes along with every step.

    ``operands`` has the index width of each operand. Neither extent is zero, and ``uop_end`` is above ``uop_bgn``.
    """
    factors = {f"{name}_factor_{loop}": width for name, width in operands.items() for loop in ("out", "in")}
    return data.StructLayout(
        {
            "uop_bgn": uop_width,
            "uop_end": uop_width + 1,
            "iter_out": ITER_WIDTH,
            "iter_in": ITER_WIDTH,
            **factors,
            "meta": meta_width,
        }
    )


def loop_step_layout(*, uop_width: int, operands: Mapping[str, int], meta_width: int) -> data.StructLayout:
    """Return the layout of a step: the micro-op's address, the offset of each operand, ``last`` of the nest, meta."""
    return data.StructLayout(
        {
            "uop": uop_width,
            "offsets": data.StructLayout(operands),
            "last": 1,
            "meta": meta_width,
        }
    )


class LoopNest(wiring.Component):
    """Walks the loops of one instruction after the other, a step a cycle.

    The first step of a job is offered in the cycle after it was taken; the next job is taken in the cycle of the last
    step, so steps follow each other without a gap.

    Parameters
    ----------
    uop_width : int
        Bits of a micro-op address.
    operands : mapping of str to int
        Bits of the index of each operand; offsets wrap at them.
    meta_width : int
        Bits that accompany a job.

    Members
    -------
    job : In(stream of loop_job_layout)
        Nests to walk.
    steps : Out(stream of loop_step_layout)
        Their steps: micro-op fastest, then the inner loop, then the outer one.
    """

    def __init__(self, *, uop_width: int, operands: Mapping[str, int], meta_width: int) -> None:
        if not operands:
            raise ComponentError("LoopNest needs at least one operand")
        self.uop_width = uop_width
        self.operands = dict(operands)
        self.meta_width = meta_width
        job = loop_job_layout(uop_width=uop_width, operands=operands, meta_width=meta_width)
        step = loop_step_layout(uop_width=uop_width, operands=operands, meta_width=meta_width)
        super().__init__({"job": In(stream.Signature(job)), "steps": Out(stream.Signature(step))})

    def elaborate(self, platform: Any) -> Module:
        """Build three counters, and two running sums per operand."""
        m = Module()
        step = self.steps.p
        active = Signal()
        held = Signal(loop_job_layout(uop_width=self.uop_width, operands=self.operands, meta_width=0), reset_less=True)
        meta = Signal(self.meta_width, reset_less=True)
        uop = Signal(self.uop_width + 1, reset_less=True)
        outer_left = Signal(ITER_WIDTH, reset_less=True)
        inner_left = Signal(ITER_WIDTH, reset_less=True)
        # Whether a counter is at its end stands in a register, so that nothing waits for the comparison.
        uop_last = Signal(reset_less=True)
        inner_last = Signal(reset_less=True)
        outer_last = Signal(reset_less=True)
        one_uop = Signal(reset_less=True)
        one_inner = Signal(reset_less=True)
        taken = Signal()
        reloads = Signal()
        m.d.comb += [
            self.steps.valid.eq(active),
            step.uop.eq(uop),
            step.meta.eq(meta),
            step.last.eq(uop_last & inner_last & outer_last),
            taken.eq(self.steps.valid & self.steps.ready),
            self.job.ready.eq(~active | (taken & step.last)),
            # What the last step does not need may be that of the next job while the step waits.
            reloads.eq(~active | step.last),
        ]
        job = self.job.p
        one = _follows(job.uop_bgn, job.uop_end)
        with m.If(self.job.ready):
            m.d.sync += [
                active.eq(self.job.valid),
                meta.eq(job.meta),
                uop.eq(job.uop_bgn),
                uop_last.eq(one),
                inner_last.eq(job.iter_in == 1),
                outer_last.eq(job.iter_out == 1),
            ]
        with m.Elif(taken):
            m.d.sync += [uop.eq(uop + 1), uop_last.eq(_is_next_but_one(uop, held.uop_end))]
            with m.If(uop_last):
                m.d.sync += [uop.eq(held.uop_bgn), uop_last.eq(one_uop), inner_last.eq(inner_left == 2)]
                with m.If(inner_last):
                    m.d.sync += [inner_last.eq(one_inner), outer_last.eq(outer_left == 2)]
        with m.If(reloads):
            m.d.sync += [
                held.eq(job.as_value()[: len(held.as_value())]),  # meta comes last
                outer_left.eq(job.iter_out),
                inner_left.eq(job.iter_in),
                one_uop.eq(one),
                one_inner.eq(job.iter_in == 1),
            ]
        with m.Elif(taken & uop_last):
            m.d.sync += inner_left.eq(inner_left - 1)
            with m.If(inner_last):
                m.d.sync += [inner_left.eq(held.iter_in), outer_left.eq(outer_left - 1)]
        for name, width in self.operands.items():
            self._offset(m, name, width, held=held, taken=taken, uop_last=uop_last, inner_last=inner_last)
        return m

    def _offset(
        self, m: Module, name: str, width: int, *, held: Any, taken: Any, uop_last: Any, inner_last: Any
    ) -> None:
        """Add the sums of one operand: where the outer loop stands, and where the inner one does."""
        outer = Signal(width, name=f"{name}_outer", reset_less=True)
        inner = Signal(width, name=f"{name}_inner", reset_less=True)
        next_outer = Signal(width, name=f"{name}_next_outer")
        m.d.comb += [
            self.steps.p.offsets[name].eq(inner),
            next_outer.eq(outer + held[f"{name}_factor_out"]),
        ]
        with m.If(self.job.ready):
            m.d.sync += [outer.eq(0), inner.eq(0)]
        with m.Elif(taken & uop_last):
            m.d.sync += inner.eq(inner + held[f"{name}_factor_in"])
            with m.If(inner_last):
                m.d.sync += [outer.eq(next_outer), inner.eq(next_outer)]


def _follows(one: Value, other: Value) -> Value:
    """Return whether ``other`` is ``one + 1``, without a sum: each bit changes if the one below fell from 1 to 0."""
    width = max(len(one), len(other))
    old, new = Cat(one, Const(0, width - len(one))), Cat(other, Const(0, width - len(other)))
    changes = old ^ new
    carries = Cat(Const(1, 1), changes & old)
    return Cat(changes, Const(0, 1)) == carries


def _is_next_but_one(one: Value, other: Value) -> Value:
    """Return whether ``other`` is ``one + 2``."""
    return (one[0] == other[0]) & _follows(one[1:], other[1:])

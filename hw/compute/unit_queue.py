"""The instructions of a unit that are in the window and not begun.

Tests: ``tests/hw/compute/test_window.py``; costs: ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.memory import Memory

from hw.compute.jobs import TAG_WIDTH, WINDOW, Unit
from hw.registered_fifo import RegisteredFIFO

__all__ = ["UnitQueue"]


class UnitQueue:
    """A queue of places, and in front of it a register with the next one that need not wait.

    The register is filled when it is empty, so that nothing of the queue depends on whether the unit is ready.
    ``idle`` says that both are empty, ``waiting`` that the first of the queue waits for another unit.
    """

    def __init__(self, unit: Unit) -> None:
        self.name = unit.name.lower()
        self.places = RegisteredFIFO(width=TAG_WIDTH, depth=WINDOW)  # as deep as the window: a push always finds room
        self.valid = Signal(name=f"{self.name}_valid")
        self.place = Signal(TAG_WIDTH, name=f"{self.name}_place", reset_less=True)
        self.idle = Signal(name=f"{self.name}_idle")
        self.waiting = Signal(name=f"{self.name}_waiting")

    def fill(self, m: Module, free: Value, *, push: tuple[Value, Value], at_once: tuple[Value, Value]) -> None:
        """Take a place into the queue, or ``at_once`` into the register, only where it is idle.

        ``free`` has a bit for each place of the window that need not wait.
        """
        m.submodules[f"queue_{self.name}"] = places = self.places
        head_free = Signal(name=f"{self.name}_head_free")
        m.d.comb += [
            places.w_en.eq(push[0]),
            places.w_data.eq(push[1]),
            head_free.eq(free.bit_select(places.r_data, 1)),
            places.r_en.eq(head_free & ~self.valid),
            self.idle.eq(~self.valid & ~places.r_rdy),
            self.waiting.eq(places.r_rdy & ~head_free),
        ]
        with m.If(~self.valid):
            m.d.sync += [
                self.valid.eq(Mux(places.r_rdy, head_free, at_once[0])),
                self.place.eq(Mux(places.r_rdy, places.r_data, at_once[1])),
            ]

    def offer(self, m: Module, words: Memory, job: Any) -> None:
        """Offer what is in the register at ``job``, a stream of ``job_layout``."""
        read = words.read_port(domain="comb")
        m.d.comb += [
            job.valid.eq(self.valid),
            read.addr.eq(self.place),
            job.p.insn.eq(read.data),
            job.p.tag.eq(self.place),
        ]
        with m.If(self.valid & job.ready):
            m.d.sync += self.valid.eq(0)

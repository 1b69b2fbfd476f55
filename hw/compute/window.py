"""The order of the compute module's instructions: issue, hazards between units, completion and tokens.

Tests: ``tests/hw/compute/test_window.py``, ``tests/hw/compute/test_stage_order.py``;
ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.compute.binder import binding_layout
from hw.compute.instruction_queue import classified_layout
from hw.compute.jobs import TAG_WIDTH, WINDOW, Unit, done_layout, job_layout
from hw.compute.unit_queue import UnitQueue
from hw.compute.window_entry import Bound, Entry, Issued, Slot
from hw.layouts import INSTRUCTION_WIDTH, instruction_struct
from isa.config import VTAConfig
from isa.instructions import Opcode

__all__ = ["UNITS", "Window"]

UNITS = (Unit.UOP, Unit.ACC, Unit.GEMM, Unit.ALU, Unit.RESET)
"""The units, in the order of the window's completion inputs."""

_EARLY = (Unit.GEMM, Unit.ALU)
"""Units that may begin an instruction whose range is not known yet."""


class Window(wiring.Component):
    """Issues instructions in order and lets units work on them out of order, where nobody can tell.

    Issue: an instruction takes its tokens and a place in the window; one a cycle. Loads of micro-ops go to their unit
    at once, all other instructions when they are bound (``hw.compute.binder``), in order. A unit begins its
    instructions in order, each when all conflicting ones of other units before it are complete: those whose range of
    accumulators meets its own, and for a load of micro-ops those that use the places it writes. GEMM and ALU begin an
    instruction before it is bound where no other unit has anything to do before it.
    Retirement: in order, one a cycle, from the cycle in which the last write is done; it sends the tokens to the store
    module. Those to the load module are sent in order, too, and do not wait for resets: these are posted. They need
    nothing of another module, and whatever touches their accumulators waits for them, the store module included.

    Parameters
    ----------
    config : VTAConfig
        Sizes.

    Members
    -------
    insn : In(stream of classified_layout)
        Legal instructions of the compute module.
    l2g_available, l2g_pop, s2g_available, s2g_pop, g2l_push, g2s_push : In, Out, In, Out, Out, Out
        Token queues.
    finish : Out(1)
        FINISH retires: it and everything before it is complete.
    bind_valid, bind_unit, bind_insn, bind_uops_pending : Out
        The next instruction to be bound.
    bind_complete : Out(1)
        It is complete already, so that its range does not matter.
    bind_take, binding : In
        It is bound in this cycle.
    jobs_uop, jobs_acc, jobs_gemm, jobs_alu, jobs_reset : Out(stream of job_layout)
        Instructions for the units.
    reset_first, reset_step : Out
        Of ``jobs_reset``: destinations of the micro-ops, as the binder found them.
    done : In(done_layout), one for each of ``UNITS``
        Completions.
    empty : Out(1)
        No instruction is in the window.
    blocked_prev, blocked_next : Out(1)
        The next instruction waits for a token of the module to the left, or to the right.
    waiting : Out(1)
        A unit's next instruction waits for another unit, or it is being found out whether it does.
    """

    def __init__(self, config: VTAConfig) -> None:
        self.config = config
        acc = config.log_acc_depth
        jobs = {f"jobs_{unit.name.lower()}": Out(stream.Signature(job_layout())) for unit in UNITS}
        super().__init__(
            {
                "insn": In(stream.Signature(classified_layout(config))),
                "l2g_available": In(1),
                "l2g_pop": Out(1),
                "s2g_available": In(1),
                "s2g_pop": Out(1),
                "g2l_push": Out(1),
                "g2s_push": Out(1),
                "finish": Out(1),
                "bind_valid": Out(1),
                "bind_unit": Out(Unit),
                "bind_insn": Out(INSTRUCTION_WIDTH),
                "bind_uops_pending": Out(1),
                "bind_complete": Out(1),
                "bind_take": In(1),
                "binding": In(binding_layout(config)),
                **jobs,
                "reset_first": Out(acc),
                "reset_step": Out(acc),
                "done": In(data.ArrayLayout(done_layout(), len(UNITS))),
                "empty": Out(1),
                "blocked_prev": Out(1),
                "blocked_next": Out(1),
                "waiting": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build issue, binding, the units' queues and retirement around the entries."""
        m = Module()
        entries = [Entry(self.config, index) for index in range(WINDOW)]
        slot = Slot(self.config)
        m.submodules.bind_queue = slot.queue
        done = self._completions(m, entries)
        live = Signal(WINDOW)
        # What is done in this cycle is out of the way already: nobody who looks now has to wait for it, and a bit of
        # ``waits_for`` that was set now for it would never be taken away.
        m.d.comb += live.eq(Cat(entry.live for entry in entries))
        for entry in entries:
            m.d.sync += entry.wait_for(entry.waits_for & ~done)
        m.submodules.words = words = Memory(shape=INSTRUCTION_WIDTH, depth=WINDOW, init=[])
        retires = Signal()
        issued = self._issue(m, entries, words, slot, retires)
        self._find_loads(m, entries, live, issued)
        bound = Bound(self.config)
        queues = {unit: UnitQueue(unit) for unit in UNITS}
        early = self._bind(m, entries, live, done, slot, bound, queues)
        pushes = {unit: (bound.late & (bound.unit == unit), bound.at) for unit in UNITS}
        pushes[Unit.UOP] = (issued.valid & issued.is_load, issued.at)  # it needs no range of accumulators
        free = ~Cat(entry.waits for entry in entries)
        for unit, queue in queues.items():
            job = getattr(self, f"jobs_{unit.name.lower()}")
            queue.fill(m, free, push=pushes[unit], at_once=(early.get(unit, Const(0)), slot.at))
            queue.offer(m, words, job)
        m.d.comb += self.waiting.eq(Cat(queue.waiting for queue in queues.values()).any())
        self._resets(m, slot.at)
        self._settle(m, entries)
        self._retire(m, entries, retires)
        m.d.comb += self.empty.eq(~Cat(entry.valid for entry in entries).any())
        return m

    def _completions(self, m: Module, entries: list[Entry]) -> Signal:
        """Mark what is complete; return the places that become so in this cycle, one after the units said it."""
        said = Signal(WINDOW)
        done = Signal(WINDOW)
        m.d.comb += said.eq(
            Cat(
                reduce(or_, [self.done[unit].valid & (self.done[unit].tag == index) for unit in range(len(UNITS))])
                for index in range(WINDOW)
            )
        )
        m.d.sync += done.eq(said)
        for index, entry in enumerate(entries):
            with m.If(said[index]):
                m.d.sync += entry.live.eq(0)
        return done

    def _issue(self, m: Module, entries: list[Entry], words: Memory, slot: Slot, retires: Signal) -> Issued:
        """Take tokens and a place; return what is known of it in the next cycle."""
        insn = data.View(instruction_struct(self.config, "GEMM"), self.insn.p.word)
        tail = Signal(TAG_WIDTH)
        taken = Signal(TAG_WIDTH + 1)  # places: a power of two of them, so that the top bit says that none is left
        issues = Signal()
        has_place = ~taken[-1]
        has_prev = ~insn.pop_prev | self.l2g_available
        has_next = ~insn.pop_next | self.s2g_available
        write = words.write_port()
        m.d.comb += [
            issues.eq(self.insn.valid & has_place & has_prev & has_next),
            self.insn.ready.eq(issues),
            self.l2g_pop.eq(issues & insn.pop_prev),
            self.s2g_pop.eq(issues & insn.pop_next),
            self.blocked_prev.eq(self.insn.valid & has_place & ~has_prev),
            self.blocked_next.eq(self.insn.valid & has_place & has_prev & ~has_next),
            write.addr.eq(tail),
            write.data.eq(self.insn.p.word),
            write.en.eq(issues),
            slot.queue.w_en.eq(issues),
            slot.queue.w_data.eq(Cat(self.insn.p.unit, self.insn.p.word)),
        ]
        m.d.sync += [tail.eq(tail + issues), taken.eq(taken + issues - retires)]
        self._enter(m, entries, at=issues, tail=tail)
        issued = Issued(self.config)
        m.d.sync += [
            issued.valid.eq(issues),
            issued.is_load.eq(self.insn.p.unit == Unit.UOP),
            issued.at.eq(tail),
            issued.uop_bgn.eq(self.insn.p.uop_bgn),
            issued.uop_end.eq(self.insn.p.uop_end),
        ]
        return issued

    def _enter(self, m: Module, entries: list[Entry], *, at: Signal, tail: Signal) -> None:
        """Fill the place at ``tail`` in a cycle with ``at``."""
        unit = self.insn.p.unit
        insn = data.View(instruction_struct(self.config, "GEMM"), self.insn.p.word)
        for index, entry in enumerate(entries):
            with m.If(at & (tail == index)):
                m.d.sync += [
                    entry.valid.eq(1),
                    entry.live.eq(unit != Unit.NONE),
                    entry.bound.eq(0),
                    entry.settled.eq(0),
                    # A reset reads nothing that a load module brings, so the load module need not wait for it.
                    entry.posted.eq((unit == Unit.GEMM) & insn.reset),
                    entry.unit.eq(unit),
                    entry.push_prev.eq(insn.push_prev),
                    entry.push_next.eq(insn.push_next),
                    entry.finish.eq(insn.opcode == Opcode.FINISH),
                    entry.uop_bgn.eq(self.insn.p.uop_bgn),
                    entry.uop_end.eq(self.insn.p.uop_end),
                ]

    def _find_loads(self, m: Module, entries: list[Entry], live: Signal, issued: Issued) -> None:
        """Let a load of micro-ops wait for users of its places, and others for loads of theirs.

        Only for what is older and not complete. A GEMM or ALU instruction that is not bound yet is a user too, which is
        why the range of micro-ops is kept from issue on.
        """
        meets = Cat((entry.uop_bgn < issued.uop_end) & (issued.uop_bgn < entry.uop_end) for entry in entries)
        is_user = Cat((entry.unit == Unit.GEMM) | (entry.unit == Unit.ALU) for entry in entries)
        is_load = Cat(entry.unit == Unit.UOP for entry in entries)
        found = Signal(WINDOW)
        m.d.comb += found.eq(live & meets & Mux(issued.is_load, is_user, is_load))
        for index, entry in enumerate(entries):
            with m.If(issued.valid & (issued.at == index)):
                m.d.sync += entry.wait_for(found)

    def _bind(
        self,
        m: Module,
        entries: list[Entry],
        live: Signal,
        done: Signal,
        slot: Slot,
        bound: Bound,
        queues: dict[Unit, UnitQueue],
    ) -> dict[Unit, Signal]:
        """Offer the next instruction to the binder; keep its range, and whom it has to wait for.

        Return what ``_begin`` says of it.
        """
        at = slot.at
        # Binding is in program order, so what is bound is older than what is being bound.
        older = Signal(WINDOW)
        # Which loads are its own is known in the third cycle after issue: before, any may be.
        is_new = Signal()
        was_new = Signal()
        waits = Signal()
        loads = Signal()
        m.d.sync += [
            is_new.eq(~slot.queue.r_rdy | self.bind_take),
            was_new.eq(is_new),
            waits.eq(Array(entry.waits for entry in entries)[at]),
            loads.eq((live & Cat(entry.unit == Unit.UOP for entry in entries)).any()),
        ]
        m.d.comb += [
            older.eq(Cat(entry.bound for entry in entries) & live),
            self.bind_insn.eq(slot.insn.word),
            self.bind_valid.eq(slot.queue.r_rdy),
            self.bind_unit.eq(slot.insn.unit),
            self.bind_uops_pending.eq(Mux(is_new | was_new, loads, waits)),
            self.bind_complete.eq(slot.complete),
            slot.queue.r_en.eq(self.bind_take),
        ]
        m.d.sync += at.eq(at + self.bind_take)
        with m.If(self.bind_take):
            m.d.sync += slot.complete.eq(0)
        with m.Elif(slot.begun & done.bit_select(at, 1)):  # not begun, it is the place's instruction before this one
            m.d.sync += slot.complete.eq(1)
        for index, entry in enumerate(entries):
            with m.If(self.bind_take & (at == index)):
                m.d.sync += entry.bound.eq(1)
        early = self._begin(m, entries, slot, bound, older, queues)
        # Loads of micro-ops got whom they wait for at issue; what does nothing waits for nobody.
        touches = (slot.insn.unit != Unit.UOP) & (slot.insn.unit != Unit.NONE)
        m.d.sync += [
            bound.valid.eq(self.bind_take & touches),
            bound.older.eq(older),
            bound.at.eq(at),
            bound.unit.eq(self.binding.unit),
            bound.low.eq(self.binding.low),
            bound.high.eq(self.binding.high),
        ]
        self._compare(m, entries, live, bound)
        return early

    def _compare(self, m: Module, entries: list[Entry], live: Signal, bound: Bound) -> None:
        """Keep the range of what was bound in the cycle before, and find out whom it has to wait for."""
        # A unit does its own instructions in order; the others have to be out of the way.
        meets = Cat(
            (entry.unit != bound.unit)
            & (entry.unit != Unit.UOP)
            & (entry.low <= bound.high)
            & (bound.low <= entry.high)
            for entry in entries
        )
        conflicts = Signal(WINDOW)
        m.d.comb += conflicts.eq(bound.older & live & meets)
        for index, entry in enumerate(entries):
            with m.If(bound.valid & (bound.at == index)):
                # The binder may have moved a reset from the GEMM core to the unit that walks over accumulators.
                m.d.sync += [entry.unit.eq(bound.unit), entry.low.eq(bound.low), entry.high.eq(bound.high)]
                m.d.sync += [entry.waits_for.eq(conflicts), entry.waits.eq(1)]  # until they are counted

    def _begin(
        self,
        m: Module,
        entries: list[Entry],
        slot: Slot,
        bound: Bound,
        older: Value,
        queues: dict[Unit, UnitQueue],
    ) -> dict[Unit, Signal]:
        """Return for either unit whether the instruction to be bound goes there now, ahead of its binding.

        It needs no range where no other unit has work before it: its own unit keeps order by itself. A reset is never
        early, because its range decides which unit it goes to. Nor is anything right behind a late instruction, whose
        unit the entries do not know yet, nor what would have to wait for others of its unit.
        """
        posted = (slot.insn.unit == Unit.GEMM) & slot.gemm.reset
        may = self.bind_valid & ~posted & ~slot.begun & ~bound.late & ~self.bind_uops_pending
        early = {unit: Signal(name=f"{unit.name.lower()}_early") for unit in _EARLY}
        for unit, begins in early.items():
            others = older & Cat((entry.unit != unit) & (entry.unit != Unit.UOP) for entry in entries)
            m.d.comb += begins.eq(may & (slot.insn.unit == unit) & queues[unit].idle & ~others.any())
        begins = Cat(early.values()).any()
        with m.If(self.bind_take):
            m.d.sync += slot.begun.eq(0)
        with m.Elif(begins):
            m.d.sync += slot.begun.eq(1)
        # Bound in the very cycle in which it begins early, it would be sent twice.
        m.d.sync += bound.late.eq(self.bind_take & ~slot.begun & ~begins)
        return early

    def _resets(self, m: Module, bind_at: Signal) -> None:
        """Keep what the binder found out about resets."""
        width = self.config.log_acc_depth
        if not width:  # of one accumulator: there is nothing to find out, and yosys fails on a memory without bits
            return
        m.submodules.resets = resets = Memory(shape=2 * width, depth=WINDOW, init=[])
        write = resets.write_port()
        read = resets.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(self.bind_take),
            write.addr.eq(bind_at),
            write.data.eq(Cat(self.binding.first, self.binding.step)),
            read.addr.eq(self.jobs_reset.p.tag),
            Cat(self.reset_first, self.reset_step).eq(read.data),
        ]

    def _settle(self, m: Module, entries: list[Entry]) -> None:
        """Go past the instructions that are complete, or posted, in order; send their tokens to the load module."""
        front = Signal(WINDOW, init=1)  # a one for the place, as in ``_retire``: no logic has to find it
        settles = Signal()
        # A place is free again only when it retires, which is never before it has settled: what is ready to retire is
        # ready here at the latest in the same cycle, and both go in order, one a cycle.
        ready = front & Cat(
            entry.valid & ~entry.settled & (entry.posted | (entry.bound & ~entry.live)) for entry in entries
        )
        m.d.comb += [
            settles.eq(ready.any()),
            self.g2l_push.eq((ready & Cat(entry.push_prev for entry in entries)).any()),
        ]
        with m.If(settles):
            m.d.sync += front.eq(front.rotate_left(1))
        for index, entry in enumerate(entries):
            with m.If(ready[index]):
                m.d.sync += entry.settled.eq(1)

    def _retire(self, m: Module, entries: list[Entry], retires: Signal) -> None:
        """Let the oldest instruction go when its last write is done, and send its token to the store module."""
        head = Signal(WINDOW, init=1)
        ready = head & Cat(entry.valid & entry.bound & ~entry.live for entry in entries)
        m.d.comb += [
            retires.eq(ready.any()),
            self.g2s_push.eq((ready & Cat(entry.push_next for entry in entries)).any()),
            self.finish.eq((ready & Cat(entry.finish for entry in entries)).any()),
        ]
        with m.If(retires):
            m.d.sync += head.eq(head.rotate_left(1))
        for index, entry in enumerate(entries):
            with m.If(ready[index]):
                m.d.sync += entry.valid.eq(0)

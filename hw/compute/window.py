"""The order of the compute module's instructions: issue, hazards between units, completion and tokens.

Tests: ``tests/hw/compute/test_window.py``, ``tests/hw/compute/test_stage_order.py``;
ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.compute.binder import binding_layout
from hw.compute.instruction_queue import classified_layout
from hw.compute.jobs import TAG_WIDTH, WINDOW, Unit, done_layout, job_layout
from hw.layouts import INSTRUCTION_WIDTH, instruction_struct
from hw.registered_fifo import RegisteredFIFO
from isa.config import VTAConfig
from isa.instructions import Opcode

__all__ = ["UNITS", "Window"]

UNITS = (Unit.UOP, Unit.ACC, Unit.GEMM, Unit.ALU, Unit.RESET)
"""The units, in the order of the window's completion inputs."""

_EARLY = (Unit.GEMM, Unit.ALU)
"""Units that may begin an instruction whose range is not known yet."""


class _Entry:
    """The registers of one place in the window, a ring in program order. An entry passes through these states:

    ::

        free --issue--> waiting --bind--> bound ----> complete --retire--> free
        valid=0         valid=1           bound=1     complete=1
                           |                 |
                           `--early--> begun-'     its unit works on it before its range is known

    An instruction that went to its unit early is not sent there again when it is bound (``_Slot.begun``). It may even
    be complete before it is bound; it still retires only after its binding, which would otherwise find the place taken
    by a younger instruction.

    Besides, ``settled`` is set when the module goes past it (its token to the load module is sent), in order: after
    completion, or before it for an entry that is ``posted``, as resets are. ``low`` to ``high`` are its accumulators
    from binding on, ``uop_bgn`` up to ``uop_end`` its micro-ops from issue on. ``waits_for`` has a bit for each older
    place that must complete before its unit may begin it; places that complete take their bit away.

    All but ``valid`` are without reset: issue sets them before anybody looks.
    """

    def __init__(self, config: VTAConfig, index: int) -> None:
        def register(width: Any, name: str, *, reset_less: bool = True) -> Any:
            return Signal(width, name=f"entry_{index}_{name}", reset_less=reset_less)

        self.valid = register(1, "valid", reset_less=False)
        self.complete = register(1, "complete")
        self.bound = register(1, "bound")
        self.posted = register(1, "posted")
        self.settled = register(1, "settled")
        self.unit = register(Unit, "unit")
        self.push_prev = register(1, "push_prev")
        self.push_next = register(1, "push_next")
        self.finish = register(1, "finish")
        self.uop_bgn = register(config.log_uop_depth, "uop_bgn")
        self.uop_end = register(config.log_uop_depth + 1, "uop_end")
        self.low = register(config.log_acc_depth, "low")
        self.high = register(config.log_acc_depth, "high")
        self.waits_for = register(WINDOW, "waits_for")


class _Slot:
    """The next instruction to be bound: what issue said of it, first of a queue, and what happened since.

    ``loads`` are the places of the loads of micro-ops that it uses and that were not complete when it was issued. A
    place that was taken by a younger instruction since is not bound, and does not count.
    """

    def __init__(self, config: VTAConfig) -> None:
        self.layout = data.StructLayout({"unit": Unit, "loads": WINDOW, "word": INSTRUCTION_WIDTH})
        self.queue = RegisteredFIFO(width=self.layout.size, depth=WINDOW)  # an entry for each place: there is room
        self.insn = data.View(self.layout, self.queue.r_data)
        self.gemm = data.View(instruction_struct(config, "GEMM"), self.insn.word)
        self.at = Signal(TAG_WIDTH, name="bind_at")
        self.begun = Signal(name="bind_begun")
        self.complete = Signal(name="bind_is_complete")


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
        A unit's next instruction waits for another unit.
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
        entries = [_Entry(self.config, index) for index in range(WINDOW)]
        slot = _Slot(self.config)
        m.submodules.bind_queue = slot.queue
        done = self._completions(m, entries)
        live = Signal(WINDOW)
        # What completes in this cycle is out of the way already: nobody who looks now has to wait for it, and a bit of
        # ``waits_for`` that was set now for it would never be taken away.
        m.d.comb += live.eq(Cat(entry.valid & ~entry.complete for entry in entries) & ~done)
        for entry in entries:
            m.d.sync += entry.waits_for.eq(entry.waits_for & ~done)
        m.submodules.words = words = Memory(shape=INSTRUCTION_WIDTH, depth=WINDOW, init=[])
        retires = Signal()
        tail, uop_push = self._issue(m, entries, words, live, slot, retires)
        early, late = self._bind(m, entries, live, done, slot)
        pushes = {unit: (late & (self.binding.unit == unit), slot.at) for unit in UNITS}
        for unit in _EARLY:
            pushes[unit] = (pushes[unit][0] | (early & (self.bind_unit == unit)), slot.at)
        pushes[Unit.UOP] = (uop_push, tail)  # from issue: a load of micro-ops needs no range of accumulators
        waits = [self._queue(m, entries, words, unit, *pushes[unit]) for unit in UNITS]
        m.d.comb += self.waiting.eq(Cat(waits).any())
        self._resets(m, slot.at)
        self._settle(m, entries, done)
        self._retire(m, entries, done, retires)
        m.d.comb += self.empty.eq(~Cat(entry.valid for entry in entries).any())
        return m

    def _completions(self, m: Module, entries: list[_Entry]) -> Signal:
        """Mark what is complete; return the places that become so in this cycle, one after the units said it."""
        done = Signal(WINDOW)
        m.d.sync += done.eq(
            Cat(
                reduce(or_, [self.done[unit].valid & (self.done[unit].tag == index) for unit in range(len(UNITS))])
                for index in range(WINDOW)
            )
        )
        for index, entry in enumerate(entries):
            with m.If(done[index]):
                m.d.sync += entry.complete.eq(1)
        return done

    def _issue(
        self, m: Module, entries: list[_Entry], words: Memory, live: Signal, slot: _Slot, retires: Signal
    ) -> tuple[Signal, Value]:
        """Take tokens and a place. Return which, and whether a load of micro-ops takes it."""
        insn = data.View(instruction_struct(self.config, "GEMM"), self.insn.p.word)
        unit = self.insn.p.unit
        tail = Signal(TAG_WIDTH)
        taken = Signal(TAG_WIDTH + 1)  # places: a power of two of them, so that the top bit says that none is left
        issued = Signal()
        has_place = ~taken[-1]
        has_prev = ~insn.pop_prev | self.l2g_available
        has_next = ~insn.pop_next | self.s2g_available
        write = words.write_port()
        m.d.comb += [
            issued.eq(self.insn.valid & has_place & has_prev & has_next),
            self.insn.ready.eq(issued),
            self.l2g_pop.eq(issued & insn.pop_prev),
            self.s2g_pop.eq(issued & insn.pop_next),
            self.blocked_prev.eq(self.insn.valid & has_place & ~has_prev),
            self.blocked_next.eq(self.insn.valid & has_place & has_prev & ~has_next),
            write.addr.eq(tail),
            write.data.eq(self.insn.p.word),
            write.en.eq(issued),
        ]
        m.d.sync += [tail.eq(tail + issued), taken.eq(taken + issued - retires)]
        self._enter(m, entries, live, slot, at=issued, tail=tail)
        return tail, issued & (unit == Unit.UOP)

    def _enter(
        self,
        m: Module,
        entries: list[_Entry],
        live: Signal,
        slot: _Slot,
        *,
        at: Signal,
        tail: Signal,
    ) -> None:
        """Fill the place at ``tail`` in a cycle with ``at``; a load of micro-ops waits for users of its places."""
        classified = self.insn.p
        unit = classified.unit
        insn = data.View(instruction_struct(self.config, "GEMM"), classified.word)
        meets = Cat((entry.uop_bgn < classified.uop_end) & (classified.uop_bgn < entry.uop_end) for entry in entries)
        users = Signal(WINDOW)
        loads = Signal(WINDOW)
        # Only what is older and not complete: younger users wait for the load by ``bind_uops_pending``. A GEMM or ALU
        # instruction that is not bound yet is a user too, which is why the range of micro-ops is kept from issue on.
        m.d.comb += [
            users.eq(live & meets & Cat((entry.unit == Unit.GEMM) | (entry.unit == Unit.ALU) for entry in entries)),
            loads.eq(live & meets & Cat(entry.unit == Unit.UOP for entry in entries)),
            slot.queue.w_en.eq(at),
            slot.queue.w_data.eq(Cat(unit, loads, classified.word)),
        ]
        for index, entry in enumerate(entries):
            with m.If(at & (tail == index)):
                m.d.sync += [
                    entry.valid.eq(1),
                    entry.complete.eq(unit == Unit.NONE),
                    entry.bound.eq(0),
                    entry.settled.eq(0),
                    # A reset reads nothing that a load module brings, so the load module need not wait for it.
                    entry.posted.eq((unit == Unit.GEMM) & insn.reset),
                    entry.unit.eq(unit),
                    entry.push_prev.eq(insn.push_prev),
                    entry.push_next.eq(insn.push_next),
                    entry.finish.eq(insn.opcode == Opcode.FINISH),
                    entry.uop_bgn.eq(classified.uop_bgn),
                    entry.uop_end.eq(classified.uop_end),
                    entry.waits_for.eq(Mux(unit == Unit.UOP, users, 0)),
                ]

    def _bind(self, m: Module, entries: list[_Entry], live: Signal, done: Signal, slot: _Slot) -> tuple[Signal, Value]:
        """Offer the next instruction to the binder; keep its range, and whom it has to wait for.

        Return what ``_begin`` says of it.
        """
        at = slot.at
        # Binding is in program order, so what is bound is older than what is being bound.
        older = Cat(entry.bound for entry in entries) & live
        m.d.comb += [
            self.bind_insn.eq(slot.insn.word),
            self.bind_valid.eq(slot.queue.r_rdy),
            self.bind_unit.eq(slot.insn.unit),
            self.bind_uops_pending.eq((older & slot.insn.loads).any()),
            self.bind_complete.eq(slot.complete),
            slot.queue.r_en.eq(self.bind_take),
        ]
        m.d.sync += at.eq(at + self.bind_take)
        with m.If(self.bind_take):
            m.d.sync += slot.complete.eq(0)
        with m.Elif(slot.begun & done.bit_select(at, 1)):  # not begun, it is the place's instruction before this one
            m.d.sync += slot.complete.eq(1)
        early, late = self._begin(m, entries, slot, older)
        binding = self.binding
        # A unit does its own instructions in order; the others have to be out of the way.
        conflicts = older & Cat(
            (entry.unit != binding.unit)
            & (entry.unit != Unit.UOP)
            & (entry.low <= binding.high)
            & (binding.low <= entry.high)
            for entry in entries
        )
        for index, entry in enumerate(entries):
            with m.If(self.bind_take & (at == index)):
                m.d.sync += [entry.bound.eq(1), entry.low.eq(binding.low), entry.high.eq(binding.high)]
                # Loads of micro-ops got theirs at issue; what does nothing waits for nobody. The binder may have moved
                # a reset from the GEMM core to the unit that walks over accumulators.
                with m.If((entry.unit != Unit.UOP) & (entry.unit != Unit.NONE)):
                    m.d.sync += [entry.unit.eq(binding.unit), entry.waits_for.eq(conflicts)]
        return early, late

    def _begin(self, m: Module, entries: list[_Entry], slot: _Slot, older: Value) -> tuple[Signal, Value]:
        """Return whether the instruction to be bound goes to its unit now: ahead of its binding, and along with it.

        It needs no range where no other unit has work before it: its own unit keeps order by itself. A reset is never
        early, because its range decides which unit it goes to.
        """
        posted = (slot.insn.unit == Unit.GEMM) & slot.gemm.reset
        others = older & Cat((entry.unit != self.bind_unit) & (entry.unit != Unit.UOP) for entry in entries)
        known = reduce(or_, [self.bind_unit == unit for unit in _EARLY])
        early = Signal()
        m.d.comb += early.eq(self.bind_valid & known & ~posted & ~slot.begun & ~self.bind_uops_pending & ~others.any())
        with m.If(self.bind_take):
            m.d.sync += slot.begun.eq(0)
        with m.Elif(early):
            m.d.sync += slot.begun.eq(1)
        # Bound in the very cycle in which it begins early, it would be sent twice.
        return early, self.bind_take & ~slot.begun & ~early

    def _queue(self, m: Module, entries: list[_Entry], words: Memory, unit: Unit, push: Value, tag: Signal) -> Value:
        """Build a unit's queue of places; return whether its head waits for another unit."""
        name = unit.name.lower()
        fifo = RegisteredFIFO(width=TAG_WIDTH, depth=WINDOW)  # as deep as the window: a push always finds room
        m.submodules[f"queue_{name}"] = fifo
        job = getattr(self, f"jobs_{name}")
        read = words.read_port(domain="comb")
        free = Signal(name=f"{name}_free")
        m.d.comb += [
            fifo.w_en.eq(push),
            fifo.w_data.eq(tag),
            read.addr.eq(fifo.r_data),
            free.eq(Array(~entry.waits_for.any() for entry in entries)[fifo.r_data]),
            job.valid.eq(fifo.r_rdy & free),
            job.p.insn.eq(read.data),
            job.p.tag.eq(fifo.r_data),
            fifo.r_en.eq(job.valid & job.ready),
        ]
        return fifo.r_rdy & ~free

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

    def _settle(self, m: Module, entries: list[_Entry], done: Signal) -> None:
        """Go past the instructions that are complete, or posted, in order; send their tokens to the load module."""
        front = Signal(TAG_WIDTH)
        settles = Signal()
        push = Array(entry.push_prev for entry in entries)[front]
        # A place is free again only when it retires, which is never before it has settled: what is ready to retire is
        # ready here at the latest in the same cycle, and both go in order, one a cycle.
        ready = Array(
            entry.valid & ~entry.settled & (entry.posted | (entry.bound & (entry.complete | done[index])))
            for index, entry in enumerate(entries)
        )
        m.d.comb += [settles.eq(ready[front]), self.g2l_push.eq(settles & push)]
        m.d.sync += front.eq(front + settles)
        for index, entry in enumerate(entries):
            with m.If(settles & (front == index)):
                m.d.sync += entry.settled.eq(1)

    def _retire(self, m: Module, entries: list[_Entry], done: Signal, retires: Signal) -> None:
        """Let the oldest instruction go when its last write is done, and send its token to the store module."""
        head = Signal(TAG_WIDTH)
        ready = Array(entry.valid & entry.bound & (entry.complete | done[index]) for index, entry in enumerate(entries))

        def of_head(name: str) -> Value:
            return Array(getattr(entry, name) for entry in entries)[head]

        m.d.comb += [
            retires.eq(ready[head]),
            self.g2s_push.eq(retires & of_head("push_next")),
            self.finish.eq(retires & of_head("finish")),
        ]
        m.d.sync += head.eq(head + retires)
        for index, entry in enumerate(entries):
            with m.If(retires & (head == index)):
                m.d.sync += entry.valid.eq(0)

"""Which accumulators an instruction may touch: from the first to the last, found before it is queued for its unit.

Tests: ``tests/hw/compute/test_binder.py``, ``tests/hw/compute/test_stage_order.py``;
ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.compute.jobs import Unit
from hw.compute.loop_nest import ITER_WIDTH
from hw.layouts import INSTRUCTION_WIDTH, instruction_struct, uop_struct
from isa.config import VTAConfig

__all__ = ["Binder", "binding_layout"]

CACHE_BITS = 5


def binding_layout(config: VTAConfig) -> data.StructLayout:
    """Return the layout of a binding: the unit, the range ``low`` to ``high`` (included) of accumulators.

    For resets by ``Unit.RESET``, ``first`` and ``step`` say which destinations the micro-ops have.
    """
    acc = config.log_acc_depth
    return data.StructLayout({"unit": Unit, "low": acc, "high": acc, "first": acc, "step": acc})


def _bounds_layout(config: VTAConfig) -> data.StructLayout:
    """Return what is known of a range of micro-ops."""
    acc = config.log_acc_depth
    fields = {f"{operand}_{end}": acc for operand in ("dst", "src") for end in ("low", "high")}
    return data.StructLayout({**fields, "first": acc, "step": acc, "affine": 1})


class _State(enum.Enum, shape=1):  # type: ignore[call-arg]  # the shape is Amaranth's addition
    """What is being done for the next instruction::

        LOOK --> WORK, bounds known or none needed: summed up --sums done: taken--> LOOK
                 WORK, bounds not in the cache:     scanned, then summed up

    WORK goes back to LOOK if the instruction turns out to be complete.
    """

    LOOK = 0
    WORK = 1


class Binder(wiring.Component):
    """Finds the range of an instruction's accumulators, and whether a reset is affine.

    The least and greatest indices of a range of micro-ops are read once, one micro-op a cycle, and kept in a small
    cache until micro-ops are loaded. What the loops add is then summed up bit by bit of their counts: an instruction
    takes two cycles and as many as its longer loop count has bits.

    Parameters
    ----------
    config : VTAConfig
        Sizes.

    Members
    -------
    valid, unit, insn : In
        The next instruction in program order; stays until it is taken.
    complete : In(1)
        It has been executed: it is taken without a range.
    uops_pending : In(1)
        Its micro-ops are still being loaded.
    uops_changed : In(1)
        Micro-ops have been loaded; they are pending for whoever uses them in this cycle still.
    uop_enable, uop_address, uop_data : Out, Out, In
        Read port of the micro-op memory.
    take : Out(1)
        The instruction is bound, as ``binding`` says.
    binding : Out(binding_layout)
        Its unit and range.
    """

    def __init__(self, config: VTAConfig) -> None:
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "unit": In(Unit),
                "insn": In(INSTRUCTION_WIDTH),
                "complete": In(1),
                "uops_pending": In(1),
                "uops_changed": In(1),
                "uop_enable": Out(1),
                "uop_address": Out(config.log_uop_depth),
                "uop_data": In(32),
                "take": Out(1),
                "binding": Out(binding_layout(config)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the states."""
        m = Module()
        config = self.config
        alu = data.View(instruction_struct(config, "ALU"), self.insn)
        state = Signal(_State)
        bounds = Signal(_bounds_layout(config), reset_less=True)
        bounded = Signal()  # in WORK: the bounds are known, or none are needed
        following = Signal(_State)
        # A register of its own, without a reset, leads to all that is loaded in LOOK. What it says right after a reset
        # does not matter: there is no instruction yet.
        looks = Signal(init=1, reset_less=True)
        m.d.comb += following.eq(state)
        m.d.sync += [state.eq(following), looks.eq(following == _State.LOOK)]
        scans = (state == _State.WORK) & ~bounded
        hit = Signal()
        scanned = Signal()
        fill = Signal()
        self._cache(m, alu, bounds, looks=looks, hit=hit, fill=fill)
        # The instruction is still there in the cycle after ``scanned``, unless it is complete.
        m.d.sync += fill.eq(scanned & ~(self.valid & self.complete))
        self._scan(m, alu, looks, scans, bounds, scanned)
        spans = self._spans(m, looks, bounded)
        with m.If(looks):
            # Whether they are in the cache is known late, and does not decide here what is done next.
            m.d.sync += bounded.eq(hit | (self.unit == Unit.ACC))
        with m.Elif(scanned):
            m.d.sync += bounded.eq(1)
        with m.If((state == _State.LOOK) & self.valid), m.Switch(self.unit):
            # While its micro-ops are on their way there is nothing to read, and the cache is out of date.
            with m.Case(Unit.GEMM, Unit.ALU), m.If(~self.uops_pending):
                m.d.comb += following.eq(_State.WORK)
            with m.Case(Unit.ACC):
                m.d.comb += following.eq(_State.WORK)
        # What touches no accumulator stays in LOOK, which need not be asked for.
        with m.If(self.valid & ((self.unit == Unit.NONE) | (self.unit == Unit.UOP))):
            m.d.comb += self.take.eq(1)
        with m.If((state == _State.WORK) & bounded & spans.complete):
            m.d.comb += self.take.eq(1)
            m.d.comb += following.eq(_State.LOOK)
        # It began before it was bound and is done: its range no longer matters to anybody.
        with m.If(self.valid & self.complete):
            m.d.comb += self.take.eq(1)
            m.d.comb += following.eq(_State.LOOK)
        self._bind(m, alu, bounds, spans)
        return m

    def _cache(self, m: Module, alu: Any, bounds: Any, *, looks: Value, hit: Signal, fill: Signal) -> None:
        """Keep the bounds of the ranges that were scanned since micro-ops were loaded last.

        In cycles with ``looks``, ``bounds`` become what is kept; with ``hit``, they are those of the instruction.
        """
        depth = self.config.log_uop_depth
        shared = min(CACHE_BITS, depth)  # bits of the beginning that the place and the others of the key say
        key_width = 2 * depth + 1 - shared
        record = data.StructLayout({"key": key_width, "bounds": _bounds_layout(self.config)})
        m.submodules.cache = cache = Memory(shape=record, depth=1 << CACHE_BITS, init=[])
        read = cache.read_port(domain="comb")
        write = cache.write_port()
        known = Signal(1 << CACHE_BITS)
        changed = Signal()
        key = Signal(key_width)
        place = Signal(CACHE_BITS)
        # GEMM and ALU have the range of micro-ops in the same bits, and the bounds do not depend on which it is: source
        # bounds of a GEMM are those of input elements, and not used.
        m.d.comb += [
            key.eq(Cat(alu.uop_bgn[shared:], alu.uop_end)),
            # Kernels lie one after the other, so low bits of the beginning spread them; the next ones are mixed in
            # for kernels whose sizes are powers of two.
            place.eq(alu.uop_bgn[:CACHE_BITS] ^ alu.uop_bgn[CACHE_BITS : 2 * CACHE_BITS]),
            read.addr.eq(place),
            hit.eq(known.bit_select(place, 1) & (read.data.key == key) & ~changed),
            write.addr.eq(place),
            write.data.key.eq(key),
            write.data.bounds.eq(bounds),
            write.en.eq(fill),
        ]
        with m.If(looks):
            m.d.sync += bounds.eq(read.data.bounds)
        # The whole cache, not just what was overwritten: loads are rare among instructions, and comparing ranges is
        # costly.
        m.d.sync += changed.eq(self.uops_changed)
        with m.If(changed):
            m.d.sync += known.eq(0)
        with m.If(fill):
            m.d.sync += known.bit_select(place, 1).eq(1)

    def _scan(self, m: Module, alu: Any, looks: Value, scans: Value, bounds: Any, scanned: Signal) -> None:
        """Read the micro-ops; from the cycle after ``scanned`` on, ``bounds`` covers them all."""
        config = self.config
        acc = config.log_acc_depth
        address = Signal(config.log_uop_depth + 1, reset_less=True)
        arriving = Signal()
        arrived = Signal()
        started = Signal()
        several = Signal()
        dst = Signal(acc, reset_less=True)
        src = Signal(acc, reset_less=True)
        before = Signal(acc, reset_less=True)
        step = Signal(acc)
        uop = data.View(uop_struct(config), self.uop_data)
        m.d.comb += [
            self.uop_enable.eq(scans & (address != alu.uop_end)),
            self.uop_address.eq(address),
            step.eq(dst - before),
            scanned.eq(scans & arrived & ~arriving),
        ]
        # The memory's output is late: it goes through a register.
        m.d.sync += [dst.eq(uop.dst), src.eq(uop.src)]
        # What arrives for an instruction that was taken without a range would begin the next one's.
        ended = self.valid & self.complete
        m.d.sync += [arriving.eq(self.uop_enable & ~ended), arrived.eq(arriving & ~ended)]
        with m.If(looks):
            m.d.sync += [address.eq(alu.uop_bgn), started.eq(0), several.eq(0)]
        with m.If(self.uop_enable):
            m.d.sync += address.eq(address + 1)
        # Affine: each destination is as far from the one before it as the second is from the first. Only then can a
        # reset go over them without reading micro-ops again.
        with m.If(arrived):
            m.d.sync += [started.eq(1), several.eq(started), before.eq(dst)]
            for value, name in ((dst, "dst"), (src, "src")):
                low, high = bounds[f"{name}_low"], bounds[f"{name}_high"]
                with m.If(~started | (value < low)):
                    m.d.sync += low.eq(value)
                with m.If(~started | (value > high)):
                    m.d.sync += high.eq(value)
            with m.If(~started):
                m.d.sync += [bounds.first.eq(dst), bounds.step.eq(0), bounds.affine.eq(1)]
            with m.Elif(~several):
                m.d.sync += bounds.step.eq(step)
            with m.Elif(step != bounds.step):
                m.d.sync += bounds.affine.eq(0)

    def _spans(self, m: Module, looks: Value, adds: Value) -> Any:
        """Sum up what the loops add to the greatest destination and source, or the size of a load."""
        config = self.config
        width = config.log_acc_depth + 1
        alu = data.View(instruction_struct(config, "ALU"), self.insn)
        load = data.View(instruction_struct(config, "LOAD"), self.insn)
        outer = Signal(ITER_WIDTH, reset_less=True)
        inner = Signal(ITER_WIDTH, reset_less=True)
        names = ("dst_out", "dst_in", "src_out", "src_in")
        factors = {name: Signal(width, name=f"{name}_factor", reset_less=True) for name in names}
        spans = Signal(data.StructLayout({"dst": width, "src": width, "complete": 1}))
        sums = {name: Signal(width, name=f"{name}_span", reset_less=True) for name in ("dst", "src")}
        complete = Signal(name="spans_complete", reset_less=True)  # no bit of a count is left
        m.d.comb += [
            spans.dst.eq(sums["dst"]),
            spans.src.eq(sums["src"]),
            spans.complete.eq(complete),
        ]
        # count * factor, by shifting and adding: the bits of the count go out to the right while the factor doubles, so
        # that no multiplier is needed and short loops are quick.
        with m.If(looks):
            m.d.sync += complete.eq((alu.iter_out <= 1) & (alu.iter_in <= 1))
            m.d.sync += [outer.eq(alu.iter_out - 1), inner.eq(alu.iter_in - 1)]
            m.d.sync += [factors[name].eq(alu[f"{name[:3]}_factor{name[3:]}"]) for name in names]
            m.d.sync += [total.eq(0) for total in sums.values()]
            # A load of accumulators is rows times width: one product, in the place of a loop's.
            with m.If(self.unit == Unit.ACC):
                m.d.sync += [
                    complete.eq(0),
                    outer.eq(load.y_size + load.y_pad_0 + load.y_pad_1),
                    inner.eq(0),
                    factors["dst_out"].eq(load.x_size + load.x_pad_0 + load.x_pad_1),
                ]
        with m.Elif(adds):
            m.d.sync += complete.eq((outer <= 1) & (inner <= 1))
            m.d.sync += [outer.eq(outer >> 1), inner.eq(inner >> 1)]
            m.d.sync += [factor.eq(factor << 1) for factor in factors.values()]
            for name, total in sums.items():
                added_out = Mux(outer[0], factors[f"{name}_out"], 0)
                added_in = Mux(inner[0], factors[f"{name}_in"], 0)
                m.d.sync += total.eq(total + added_out + added_in)
        return spans

    def _bind(self, m: Module, alu: Any, bounds: Any, spans: Any) -> None:
        """Join the ranges of destination and source, and choose the unit."""
        acc = self.config.log_acc_depth
        load = data.View(instruction_struct(self.config, "LOAD"), self.insn)
        gemm = data.View(instruction_struct(self.config, "GEMM"), self.insn)
        dst_high = Signal(acc)
        src_high = Signal(acc)
        last_src = bounds.src_high + spans.src
        if self.config.fused_alu:
            last_src = last_src + alu.fused
        m.d.comb += [
            dst_high.eq(bounds.dst_high + spans.dst),
            src_high.eq(last_src),
            self.binding.unit.eq(self.unit),
            self.binding.low.eq(bounds.dst_low),
            self.binding.high.eq(dst_high),
            self.binding.first.eq(bounds.first),
            self.binding.step.eq(bounds.step),
        ]
        # One range for all that it reads and writes: a gap between source and destination causes waits that are not
        # needed, but never leaves out one that is. Factors are not negative, so the bounds of the first step are the
        # lower ones.
        with m.Switch(self.unit):
            with m.Case(Unit.ALU):
                with m.If(~alu.use_imm & (bounds.src_low < bounds.dst_low)):
                    m.d.comb += self.binding.low.eq(bounds.src_low)
                with m.If(~alu.use_imm & (src_high > dst_high)):
                    m.d.comb += self.binding.high.eq(src_high)
            with m.Case(Unit.GEMM), m.If(gemm.reset & bounds.affine):
                m.d.comb += self.binding.unit.eq(Unit.RESET)
            with m.Case(Unit.ACC):
                m.d.comb += [
                    self.binding.low.eq(load.sram_base),
                    self.binding.high.eq(load.sram_base + spans.dst - 1),
                ]

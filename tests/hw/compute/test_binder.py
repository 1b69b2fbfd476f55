"""The binder's range covers exactly what an instruction touches, and is read again when micro-ops change."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hw.compute.binder import Binder, binding_layout
from hw.compute.jobs import Unit
from hw.sim import compile_design
from isa.encoding import encode, encode_uop
from isa.instructions import Alu, AluOpcode, Gemm, Load, MemoryId, MicroOp
from tests.support.hw.compute_rig import COMPUTE_CONFIGS

CONFIG = COMPUTE_CONFIGS["block4"]


class _Bench:
    def __init__(self, uops: Any) -> None:
        self.design = compile_design(Binder(CONFIG))
        self.words = [encode_uop(uop, CONFIG) for uop in uops]

    def bind(self, instruction: Alu | Gemm | Load, unit: Unit) -> tuple[Any, ...]:
        """Return the binding and the cycles it took."""
        design = self.design
        design.poke("valid", 1)
        design.poke("unit", int(unit))
        design.poke("insn", encode(instruction, CONFIG))
        for cycle in range(1, CONFIG.uop_depth + 200):
            if design.peek("take"):
                binding = binding_layout(CONFIG).from_bits(design.peek("binding"))
                result = (Unit(binding.unit), binding.low, binding.high, binding.first, binding.step)
                design.step()
                design.poke("valid", 0)
                return result, cycle
            address = design.peek("uop_address") if design.peek("uop_enable") else None
            design.step()
            if address is not None:
                design.poke("uop_data", self.words[address])
        raise AssertionError("the binder did not finish")


def _uops(rng: np.random.Generator, count: int) -> list[Any]:
    return [MicroOp(dst=int(rng.integers(30)), src=int(rng.integers(30)), wgt=0) for _ in range(count)]


def _touched(instruction: Alu, uops: list[MicroOp], operand: str) -> list[Any]:
    return [
        getattr(uop, operand)
        + i * getattr(instruction, f"{operand}_factor_out")
        + j * getattr(instruction, f"{operand}_factor_in")
        for i in range(instruction.iter_out)
        for j in range(instruction.iter_in)
        for uop in uops[instruction.uop_bgn : instruction.uop_end]
    ]


def _fields(rng: np.random.Generator) -> Any:
    begin = int(rng.integers(12))
    outer, inner = (int(n) for n in rng.integers(1, 5, 2))
    factors = {f"{o}_factor_{loop}": int(rng.integers(4)) for o in ("dst", "src") for loop in ("out", "in")}
    return dict(uop_bgn=begin, uop_end=int(rng.integers(begin + 1, 14)), iter_out=outer, iter_in=inner, **factors)


def test_the_range_of_loops_is_that_of_what_they_touch() -> None:
    rng = np.random.default_rng(4)
    uops = _uops(rng, 14)
    bench = _Bench(uops)
    for _ in range(60):
        fields = _fields(rng)
        gemm = Gemm(**fields)
        alu = Alu(alu_opcode=AluOpcode.ADD, **fields)
        immediate = Alu(alu_opcode=AluOpcode.ADD, use_imm=True, **fields)
        dst, src = _touched(alu, uops, "dst"), _touched(alu, uops, "src")
        assert bench.bind(gemm, Unit.GEMM)[0][:3] == (Unit.GEMM, min(dst), max(dst))
        assert bench.bind(immediate, Unit.ALU)[0][:3] == (Unit.ALU, min(dst), max(dst))
        assert bench.bind(alu, Unit.ALU)[0][:3] == (Unit.ALU, min(dst + src), max(dst + src))


def test_the_range_of_a_load_is_its_padded_tile() -> None:
    bench = _Bench([])
    load = Load(memory=MemoryId.ACC, sram_base=7, y_size=3, x_size=5, y_pad_0=1, y_pad_1=2, x_pad_0=1, x_pad_1=2)
    assert bench.bind(load, Unit.ACC)[0][:3] == (Unit.ACC, 7, 7 + 6 * 8 - 1)
    assert bench.bind(Load(memory=MemoryId.ACC, y_size=1, x_size=1), Unit.ACC)[0][:3] == (Unit.ACC, 0, 0)


@pytest.mark.parametrize(
    ("dsts", "unit", "step"), [((9,), Unit.RESET, 0), ((2, 9, 16), Unit.RESET, 7), ((2, 9, 15), Unit.GEMM, None)]
)
def test_a_reset_with_even_steps_goes_to_its_own_unit(dsts: tuple[int, ...], unit: Unit, step: int | None) -> None:
    bench = _Bench([MicroOp(dst=dst) for dst in dsts])
    (got, low, high, first, got_step), _ = bench.bind(Gemm(reset=True, uop_end=len(dsts)), Unit.GEMM)
    assert (got, low, high) == (unit, min(dsts), max(dsts))
    if step is not None:
        assert (first, got_step) == (dsts[0], step)


def test_micro_ops_are_read_once_until_they_change() -> None:
    bench = _Bench(_uops(np.random.default_rng(5), 10))
    gemm = Gemm(uop_end=10)
    cold, warm = (bench.bind(gemm, Unit.GEMM)[1] for _ in range(2))
    assert cold == warm + 12
    assert warm == 2
    bench.words = [encode_uop(MicroOp(dst=50), CONFIG)] * 10
    bench.design.poke("uops_changed", 1)
    bench.design.step()
    bench.design.poke("uops_changed", 0)
    (_, low, high, *_), cycles = bench.bind(gemm, Unit.GEMM)
    assert (low, high, cycles) == (50, 50, cold)


def test_the_cycle_in_which_micro_ops_change_does_not_trust_the_old_ones() -> None:
    bench = _Bench([MicroOp(dst=3)])
    bench.bind(Gemm(uop_end=1), Unit.GEMM)
    bench.words = [encode_uop(MicroOp(dst=50), CONFIG)]
    design = bench.design
    design.poke("valid", 1)
    design.poke("unit", int(Unit.GEMM))
    design.poke("insn", encode(Gemm(uop_end=1), CONFIG))
    design.poke("uops_changed", 1)
    design.poke("uops_pending", 1)  # to the last cycle, as the window says it
    design.step()
    design.poke("uops_changed", 0)
    design.poke("uops_pending", 0)
    assert bench.bind(Gemm(uop_end=1), Unit.GEMM)[0][1:3] == (50, 50)


def test_an_instruction_waits_until_its_micro_ops_are_there() -> None:
    bench = _Bench([MicroOp(dst=3)])
    bench.design.poke("uops_pending", 1)
    bench.design.poke("valid", 1)
    bench.design.poke("unit", int(Unit.GEMM))
    bench.design.poke("insn", encode(Gemm(uop_end=1), CONFIG))
    bench.design.step(50)
    assert not bench.design.peek("take")
    bench.design.poke("uops_pending", 0)
    assert bench.bind(Gemm(uop_end=1), Unit.GEMM)[1] == 5


@pytest.mark.parametrize("unit", [Unit.NONE, Unit.UOP])
def test_what_touches_no_accumulator_is_bound_at_once(unit: Unit) -> None:
    assert _Bench([]).bind(Load(memory=MemoryId.UOP), unit)[1] == 1


def test_what_is_complete_is_taken_without_a_range_and_nothing_is_kept_of_it() -> None:
    bench = _Bench([MicroOp(dst=3)] * 20)
    design = bench.design
    design.poke("valid", 1)
    design.poke("unit", int(Unit.GEMM))
    design.poke("insn", encode(Gemm(uop_end=20), CONFIG))
    design.step(5)
    assert not design.peek("take")
    design.poke("complete", 1)
    assert design.peek("take")
    design.step()
    design.poke("complete", 0)
    bench.words = [encode_uop(MicroOp(dst=50), CONFIG)] * 20
    assert bench.bind(Gemm(uop_end=20), Unit.GEMM)[0][1:3] == (50, 50)


def test_the_cache_keeps_32_ranges() -> None:
    bench = _Bench(_uops(np.random.default_rng(6), 64))
    assert bench.design.memory("cache").shape[0] == 32
    cold = [bench.bind(Gemm(uop_bgn=begin, uop_end=begin + 1), Unit.GEMM)[1] for begin in range(32)]
    warm = [bench.bind(Gemm(uop_bgn=begin, uop_end=begin + 1), Unit.GEMM)[1] for begin in range(32)]
    assert (set(cold), set(warm)) == ({5}, {2})


def test_kernels_of_powers_of_two_of_micro_ops_do_not_share_a_place() -> None:
    """Those that begin 32 apart, as far as 32 of them go: higher bits of the beginning are mixed in."""
    config = CONFIG
    starts = range(0, min(config.uop_depth, 1 << 10), 32)
    bench = _Bench([MicroOp(dst=3)] * config.uop_depth)
    for expected in (5, 2):
        assert {bench.bind(Gemm(uop_bgn=at, uop_end=at + 1), Unit.GEMM)[1] for at in starts} == {expected}


@pytest.mark.parametrize(
    ("outer", "inner"), [(1, 1), (2, 1), (1, 3), (4, 5), (9, 2), (2, 1025), (16383, 1), (1, 16383)]
)
def test_binding_takes_two_cycles_and_those_of_the_bits_of_the_longer_loop(outer: int, inner: int) -> None:
    """Factors of zero, where nothing is added, and of one, as far as there are accumulators."""
    bench = _Bench([MicroOp(dst=3, src=2)])
    top = CONFIG.acc_depth - 1
    for factor_out, factor_in in ((0, 0), (1, 0), (0, 1)):
        if factor_out * outer + factor_in * inner + 3 > top:
            continue
        loops: Any = {"iter_out": outer, "iter_in": inner, "dst_factor_out": factor_out, "dst_factor_in": factor_in}
        gemm = Gemm(uop_end=1, **loops)
        bench.bind(gemm, Unit.GEMM)  # reads the micro-op
        (_, low, high, *_), cycles = bench.bind(gemm, Unit.GEMM)
        assert (low, high) == (3, 3 + factor_out * (outer - 1) + factor_in * (inner - 1))
        assert cycles == 2 + max((outer - 1).bit_length(), (inner - 1).bit_length())


def test_the_range_of_any_loops_reaches_the_last_accumulator() -> None:
    """Every factor alone, and sums that use all bits of an index."""
    top = CONFIG.acc_depth - 1
    bench = _Bench([MicroOp(dst=0, src=0), MicroOp(dst=1, src=top)])
    for name in ("dst_factor_out", "dst_factor_in", "src_factor_out", "src_factor_in"):
        loop = f"iter_{name.rpartition('_')[2]}"
        for factor, count in ((1, top + 1), (top // 2, 3), (top, 2), (3, top // 3 + 1)):
            fields: Any = {name: factor, loop: count}
            alu = Alu(alu_opcode=AluOpcode.MAX, uop_end=1, **fields)
            assert bench.bind(alu, Unit.ALU)[0][:3] == (Unit.ALU, 0, factor * (count - 1))
    alu = Alu(alu_opcode=AluOpcode.MAX, uop_bgn=1, uop_end=2)
    assert bench.bind(alu, Unit.ALU)[0][:3] == (Unit.ALU, 1, top)
    assert bench.bind(replace(alu, use_imm=True), Unit.ALU)[0][:3] == (Unit.ALU, 1, 1)


@pytest.mark.parametrize("field", ["x_size", "x_pad_0", "x_pad_1", "y_size", "y_pad_0", "y_pad_1"])
def test_every_size_of_a_load_counts_and_takes_a_cycle_for_each_bit_of_its_rows(field: str) -> None:
    for value in (2, 7, 15):
        size: Any = {field: value}
        load = replace(Load(memory=MemoryId.ACC, sram_base=5, y_size=1, x_size=1), **size)
        count = value + (field not in ("x_size", "y_size"))
        (unit, low, high, *_), cycles = _Bench([]).bind(load, Unit.ACC)
        assert (unit, low, high) == (Unit.ACC, 5, 5 + count - 1)
        assert cycles == 2 + (count if field[0] == "y" else 1).bit_length()


@pytest.mark.parametrize(
    "dsts", [(5, 4, 3), (9, 2, 0), (0, 0, 0), (3, 1), (0, 1, 2, 4), (0, 2, 1), (7, 7, 8), (1, 2, 3)]
)
def test_a_reset_is_affine_where_every_destination_is_as_far_from_the_one_before(dsts: tuple[int, ...]) -> None:
    """Downwards as well: steps wrap."""
    steps = {(after - before) % CONFIG.acc_depth for before, after in pairwise(dsts)}
    bench = _Bench([MicroOp(dst=dst) for dst in dsts])
    for _ in range(2):  # scanned, and from the cache
        (unit, low, high, first, step), _ = bench.bind(Gemm(reset=True, uop_end=len(dsts)), Unit.GEMM)
        assert (low, high) == (min(dsts), max(dsts))
        assert unit == (Unit.RESET if len(steps) == 1 else Unit.GEMM)
        if unit == Unit.RESET:
            assert (first, step) == (dsts[0], steps.pop())
            steps.add(step)


def test_ranges_that_share_a_place_of_the_cache_are_told_apart() -> None:
    """By the end as well as by the beginning."""
    bench = _Bench([MicroOp(dst=index) for index in range(CONFIG.uop_depth)])
    ranges = [(1, 2), (1, 4), (1, 1 + CONFIG.uop_depth // 2), (1, CONFIG.uop_depth), (0, CONFIG.uop_depth)]
    for begin, end in (*ranges, *ranges[::-1]):
        (_, low, high, *_), _ = bench.bind(Gemm(uop_bgn=begin, uop_end=end), Unit.GEMM)
        assert (low, high) == (begin, end - 1)

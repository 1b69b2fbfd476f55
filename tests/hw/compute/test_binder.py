"""The binder's range covers exactly what an instruction touches, and is read again when micro-ops change."""

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
        for cycle in range(1, 200):
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
    design.step()
    design.poke("uops_changed", 0)
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

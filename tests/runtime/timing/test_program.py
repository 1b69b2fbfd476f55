"""From instructions to tasks: what each takes by itself, what it touches, and whose tokens it waits for."""

from dataclasses import replace

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.encoding import encode_uop
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Instruction, Load, MemoryId, MicroOp, Store
from isa.machine.hardware_config import HardwareConfig
from runtime.timing import Task, Unit, tasks_of
from runtime.timing.program import TimingError

CONFIG = VTAConfig()


def made(*instructions: Instruction, uops: tuple[MicroOp, ...] = (), bits: int = 64) -> list[Task]:
    """Return the tasks of instructions whose micro-ops lie at address 4096."""
    words = np.array([encode_uop(uop, CONFIG) for uop in uops], np.uint32)
    return tasks_of(instructions, words, 4096, CONFIG, HardwareConfig(data_width=bits))


@pytest.mark.parametrize(
    ("memory", "bits", "cycles"),
    [
        (MemoryId.INP, 64, 2 * 3 * 2),
        (MemoryId.INP, 128, 2 * 3),
        (MemoryId.INP, 256, 2 * 3),
        (MemoryId.WGT, 256, 2 * 3 * 8),
        (MemoryId.ACC, 64, 2 * 3 * 8),
        (MemoryId.ACC_8BIT, 256, 2 * 3),
    ],
)
def test_a_load_takes_its_beats_or_its_elements(memory: MemoryId, bits: int, cycles: int) -> None:
    [task] = made(Load(memory=memory, x_size=3, y_size=2, x_stride=10), bits=bits)
    assert (task.work, task.bursts, task.zeros) == (cycles, 2, 0)


def test_bursts_end_at_multiples_of_their_longest_length() -> None:
    whole, crooked = made(
        Load(memory=MemoryId.INP, x_size=32, y_size=1), Load(memory=MemoryId.INP, dram_base=1, x_size=32, y_size=1)
    )
    assert (whole.bursts, crooked.bursts) == (1, 2)


def test_pads_are_zeros_and_belong_to_the_range_that_is_written() -> None:
    [task] = made(Load(memory=MemoryId.ACC, sram_base=7, x_size=3, y_size=2, x_pad_0=1, y_pad_1=1, x_stride=3))
    assert task.zeros == 4 * 3 - 6
    assert (task.low, task.high) == (7, 7 + 4 * 3 - 1)


def test_a_store_reads_accumulators_and_takes_its_beats() -> None:
    [task] = made(Store(sram_base=5, x_size=4, y_size=2, x_stride=9))
    assert (task.unit, task.work, task.low, task.high) == (Unit.STORE, 16, 5, 12)


def test_loops_touch_what_their_micro_ops_and_factors_say() -> None:
    uops = tuple(MicroOp(dst=n) for n in range(3))
    load = Load(memory=MemoryId.UOP, dram_base=1024, x_size=3, y_size=1)
    gemm = Gemm(uop_end=3, iter_out=4, iter_in=5, dst_factor_out=15, dst_factor_in=3)
    loaded, products, cleared = made(load, gemm, replace(gemm, reset=True), uops=uops)
    assert (loaded.unit, loaded.work, loaded.uop_end) == (Unit.UOP, 2, 3)
    assert (products.unit, products.work, products.low, products.high) == (Unit.GEMM, 60, 0, 59)
    assert (cleared.unit, cleared.work, cleared.bits) == (Unit.RESET, 24, 4)


@pytest.mark.parametrize(
    ("dst", "loops", "cycles"),
    [
        ((0,), (1, 100, 1, 1), 25),
        ((0,), (1, 3, 1, 1), 3),  # no loop has four turns
        ((0, 1, 2, 3), (2, 5, 20, 4), 10),
        ((0,), (4, 2, 2, 1), 8),  # that with four has an even step
        ((0,), (4, 2, 1, 4), 2),
        ((0,), (14, 14, 28, 2), 196),
        ((0, 2, 5, 7), (3, 1, 9, 1), 12),  # at no equal distances
    ],
)
def test_a_reset_clears_four_neighbours_of_one_loop_in_a_cycle(
    dst: tuple[int, ...], loops: tuple[int, int, int, int], cycles: int
) -> None:
    load = Load(memory=MemoryId.UOP, dram_base=1024, x_size=len(dst), y_size=1)
    outer, inner, outer_step, inner_step = loops
    reset = Gemm(
        reset=True, uop_end=len(dst), iter_out=outer, iter_in=inner, dst_factor_out=outer_step, dst_factor_in=inner_step
    )
    assert made(load, reset, uops=tuple(MicroOp(dst=n) for n in dst))[1].work == cycles


@pytest.mark.parametrize(
    ("dst", "factors", "run"),
    [
        ((0, 1, 2), (3, 15), 60),
        ((0, 1, 2), (3, 7), 15),
        ((0, 1, 2), (0, 0), 3),
        ((0, 1, 0), (3, 3), 2),
        ((4,), (1, 5), 20),
        ((4,), (0, 1), 1),
    ],
)
def test_a_run_is_how_many_neighbours_are_added_to_one_after_the_other(
    dst: tuple[int, ...], factors: tuple[int, int], run: int
) -> None:
    load = Load(memory=MemoryId.UOP, dram_base=1024, x_size=len(dst), y_size=1)
    gemm = Gemm(uop_end=len(dst), iter_out=4, iter_in=5, dst_factor_in=factors[0], dst_factor_out=factors[1])
    assert made(load, gemm, uops=tuple(MicroOp(dst=each) for each in dst))[1].run == run


def test_the_second_operand_of_the_alu_is_touched_unless_it_is_a_constant() -> None:
    load = Load(memory=MemoryId.UOP, dram_base=1024, x_size=1, y_size=1)
    alu = Alu(alu_opcode=AluOpcode.ADD, uop_end=1, iter_in=3, dst_factor_in=1)
    _, two, one = made(load, alu, replace(alu, use_imm=True), uops=(MicroOp(dst=10, src=40),))
    assert (two.low, two.high) == (10, 40)
    assert (one.low, one.high) == (10, 12)


def test_each_pop_is_answered_by_the_push_that_came_as_many_before() -> None:
    load = Load(memory=MemoryId.INP, x_size=1, y_size=1, deps=Deps(push_next=True))
    waits = Gemm(deps=Deps(pop_prev=True, push_prev=True, push_next=True))
    again = replace(load, deps=Deps(pop_next=True))
    store = Store(x_size=1, y_size=1, deps=Deps(pop_prev=True, push_prev=True))
    tasks = made(load, load, waits, waits, again, store, Finish(deps=Deps(pop_next=True)))
    assert [(task.after_prev, task.after_next) for task in tasks] == [
        (-1, -1), (-1, -1), (0, -1), (1, -1), (-1, 2), (2, -1), (-1, 5),
    ]  # fmt: skip


def test_a_token_that_nobody_gives_is_named() -> None:
    with pytest.raises(TimingError) as caught:
        made(Finish(deps=Deps(pop_prev=True)))
    assert str(caught.value) == (
        "instruction 0: expected a token of queue l2g, which no instruction gives any more; the program never ends"
    )


@pytest.mark.parametrize("empty", [{"iter_in": 0}, {"iter_out": 0}, {"uop_end": 0}])
def test_loops_without_steps_touch_nothing(empty: dict[str, int]) -> None:
    load = Load(memory=MemoryId.UOP, dram_base=1024, x_size=1, y_size=1)
    gemm = replace(Gemm(uop_end=1, iter_in=5, dst_factor_in=1), **empty)  # type: ignore[arg-type]
    task = made(load, gemm, uops=(MicroOp(dst=7),))[1]
    assert (task.work, task.low, task.high, task.run) == (0, 0, -1, 0)


def test_transfers_of_nothing_take_nothing() -> None:
    for empty in ({"x_size": 0, "y_size": 2}, {"x_size": 2, "y_size": 0}):
        load, store = made(Load(memory=MemoryId.ACC, sram_base=3, **empty), Store(sram_base=3, **empty))  # type: ignore[arg-type]
        assert (load.work, load.bursts, load.zeros, load.high) == (0, 0, 0, 2)
        assert (store.work, store.bursts) == (0, 0)


@pytest.mark.parametrize(
    ("uops", "loops", "pairs"),
    [
        ((5,), {}, 1),
        ((5,), {"src_factor_in": 2}, 12),
        ((5,), {"src_factor_out": 2}, 3),
        ((5,), {"src_factor_in": 1, "src_factor_out": 3}, 10),
        ((5, 5), {}, 1),
        ((5, 7), {}, 24),
        ((5, 7), {"src_factor_in": 2}, 1 + 12 + 2),
        ((5, 7), {"src_factor_in": 2, "src_factor_out": 8}, 1 + 12),
    ],
)
def test_a_new_pair_of_operands_takes_a_cycle(uops: tuple[int, ...], loops: dict[str, int], pairs: int) -> None:
    """In three times four iterations; a range reaches to the second operand."""
    load = Load(memory=MemoryId.UOP, dram_base=1024, x_size=len(uops), y_size=1)
    alu = Alu(alu_opcode=AluOpcode.MAX, fused=True, uop_end=len(uops), iter_out=3, iter_in=4, **loops)  # type: ignore[arg-type]
    _, task = made(load, alu, uops=tuple(MicroOp(src=src) for src in uops))
    assert task.work == 12 * len(uops) + pairs
    reach = 3 * loops.get("src_factor_in", 0) + 2 * loops.get("src_factor_out", 0)
    assert task.high == max(uops) + reach + 1

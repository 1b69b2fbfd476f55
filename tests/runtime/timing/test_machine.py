"""Times of tasks: what overlaps, what waits, and that random programs take what the hardware takes."""

from dataclasses import replace

import pytest

from isa.machine.hardware_config import HardwareConfig
from runtime.timing import Task, Times, Unit, alu_loss, time_tasks

LOAD = Task(Unit.LOAD, 100, 2)
GEMM = Task(Unit.GEMM, 1000, low=0, high=99, bits=5, run=100)
ALU = Task(Unit.ALU, 400, low=0, high=99, bits=5)
STORE = Task(Unit.STORE, 200, 4)
END = Task(Unit.FINISH)


def times(*tasks: Task, latency: int = 16, **sizes: int) -> Times:
    """Return the times of tasks on hardware with these sizes."""
    return time_tasks(tasks, HardwareConfig(**sizes), latency=latency, block_in=16)


def test_nothing_takes_no_time() -> None:
    assert times().cycles == 0


def test_an_instruction_is_fetched_before_it_begins() -> None:
    near, far = times(END, latency=1), times(END, latency=101)
    assert far.cycles - near.cycles == 100
    assert near.begun[0] > 5  # beats of the first burst


def test_a_load_waits_for_the_memory_and_the_next_one_does_not_wait_again() -> None:
    found = times(LOAD, LOAD, LOAD, latency=50)
    assert found.ended[0] - found.begun[0] == 1 + 50 + 100
    assert [b - a for a, b in zip(found.ended, found.ended[1:], strict=False)] == [100, 100]


def test_only_so_many_loads_are_under_way() -> None:
    short = [replace(LOAD, work=1, bursts=1)] * 80
    few, many = times(*short, latency=200), times(*short, latency=200, load_jobs=16)
    assert few.cycles > 20 * 200 > 8 * 200 > many.cycles


def test_gemm_waits_for_the_token_of_a_load_and_the_load_for_that_of_gemm() -> None:
    found = times(LOAD, replace(GEMM, after_prev=0), replace(LOAD, after_next=1))
    assert found.begun[1] == found.ended[0] + 1
    assert found.begun[2] > found.ended[1]


def test_gemm_and_alu_work_at_once_on_different_accumulators_alone() -> None:
    apart = times(GEMM, replace(ALU, low=100, high=199), END)
    meeting = times(GEMM, ALU, END)
    assert apart.cycles < 1000 + 150
    assert meeting.cycles > 1400


def test_the_alu_is_slower_beside_a_gemm_with_short_runs() -> None:
    tasks = [replace(GEMM, run=3), replace(ALU, work=900, low=100, high=199)] * 6
    short = times(*tasks, END).cycles
    long = times(*(replace(task, run=99) for task in tasks), END).cycles
    assert short > long * 1.1
    assert 1 > alu_loss(1) > alu_loss(7) > alu_loss(21) > alu_loss(301)


def test_the_alu_hardly_meets_a_gemm_with_even_runs() -> None:
    assert alu_loss(2) == alu_loss(14) == alu_loss(100) == alu_loss(301)
    assert 0 < alu_loss(14) < alu_loss(0) < alu_loss(7)


def test_instructions_of_the_alu_on_the_same_few_accumulators_wait_for_the_pipeline() -> None:
    few = replace(ALU, work=1, high=0, bits=1)
    tight = times(*[few] * 10, END)
    loose = times(*(replace(few, low=n, high=n) for n in range(10)), END)
    assert tight.cycles > loose.cycles + 20


def test_resets_are_not_waited_for_by_the_load_module() -> None:
    reset = Task(Unit.RESET, 500, low=0, high=1999, bits=5)
    found = times(reset, replace(LOAD, after_next=0))
    assert found.begun[1] < found.ended[0]


def test_a_store_ends_with_the_response_of_the_memory() -> None:
    near, far = times(STORE, latency=1), times(STORE, latency=61)
    assert (far.ended[0] - far.begun[0]) - (near.ended[0] - near.begun[0]) == 60
    assert near.ended[0] - near.begun[0] >= 200


def test_two_readers_take_turns_on_the_bus() -> None:
    acc = Task(Unit.ACC, 500, 8, low=0, high=60)
    found = times(replace(LOAD, work=5000, bursts=80), acc, END)
    assert found.ended[1] - found.begun[1] < 1200


def test_micro_ops_are_loaded_before_they_are_used_and_not_while_they_are() -> None:
    load = Task(Unit.UOP, 50, 1, uop_bgn=0, uop_end=100)
    user = replace(GEMM, uop_bgn=0, uop_end=100)
    found = times(load, user, load, END)
    assert found.begun[1] >= found.begun[0]
    assert found.ended[1] > found.ended[0] + 1000
    assert found.ended[2] > found.ended[1] + 50
    elsewhere = times(load, user, replace(load, uop_bgn=100, uop_end=200), END)
    assert elsewhere.cycles < found.cycles


def test_a_full_queue_keeps_what_comes_behind_from_its_module() -> None:
    stores = [replace(STORE, work=100, bursts=1)] * 30
    assert times(*stores, LOAD).begun[-1] > 1000
    assert times(*stores, LOAD, inst_queue_depth=64).begun[-1] < 300


def test_equal_programs_take_equal_times() -> None:
    tasks = [LOAD, replace(GEMM, after_prev=0), ALU, replace(STORE, after_prev=2), END]
    assert times(*tasks) == times(*tasks)


@pytest.mark.parametrize("bits", [64, 128, 256, 512])
def test_wider_buses_fetch_sooner(bits: int) -> None:
    assert times(*[LOAD] * 40, data_width=bits).cycles >= 4000

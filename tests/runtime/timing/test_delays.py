"""The delays of single tasks and of pairs, to the cycle; those of the hardware itself are in ``test_hardware.py``."""

from dataclasses import replace
from math import ceil

import pytest

from isa.machine.hardware_config import HardwareConfig
from runtime.timing import Task, Times, Unit, time_tasks

LATENCY = 16
FIRST = LATENCY + 6
"""When the first instruction begins: asked for in cycle 1, two beats, two cycles to its dispatch, and one."""
SUMMED = FIRST + 1
"""When a first load or store begins, whose address is added up before."""

IDLE = Task(Unit.LOAD)
LOAD = Task(Unit.LOAD, 100, 2)
GEMM = Task(Unit.GEMM, 1000, low=0, high=99, bits=5, run=100)
ALU = Task(Unit.ALU, 400, low=0, high=99, bits=5)
RESET = Task(Unit.RESET, 500, low=0, high=1999, bits=5)
ACC = Task(Unit.ACC, 64, 2, low=0, high=63)
UOP = Task(Unit.UOP, 50, 1, uop_end=100)
STORE = Task(Unit.STORE, 200, 4)
END = Task(Unit.FINISH)


def times(*tasks: Task, latency: int = LATENCY, block_in: int = 16, **sizes: int) -> Times:
    """Return the times of tasks on hardware with these sizes."""
    return time_tasks(tasks, HardwareConfig(**sizes), latency=latency, block_in=block_in)


def lengths(*tasks: Task, latency: int = LATENCY, block_in: int = 16) -> list[int]:
    """Return how long each task takes from the start of its instruction."""
    found = times(*tasks, latency=latency, block_in=block_in)
    return [end - begin for begin, end in zip(found.begun, found.ended, strict=True)]


@pytest.mark.parametrize(
    ("task", "length"),
    [
        (END, 0),
        (IDLE, 1),
        (LOAD, 1 + LATENCY + 100),
        (replace(LOAD, work=1, bursts=1, zeros=90), 3 + 90),  # its zeros are written meanwhile
        (replace(LOAD, work=3, bursts=8), 1 + LATENCY + 8),  # a burst has a cycle of its own
        (UOP, 3 + 2 + LATENCY + 50 + 1),
        (ACC, 7 + 1 + LATENCY + 64 + 3),
        (replace(ACC, zeros=500), 7 + 500),
        (GEMM, 2 + 1000 + 8 + 2),
        (ALU, 2 + 400 + 11),
        (RESET, 8 + 3 + 500 + 4),  # of which one is to read no micro-op, and five are for its loops
        (replace(RESET, uop_bgn=10, uop_end=40), 8 + 30 + 3 + 500 + 4),
        (STORE, 2 + 200 + LATENCY + 1),
        (replace(STORE, work=10, bursts=40), 2 + 10 + LATENCY + 1),
        (replace(STORE, work=10, bursts=80), 2 + 80 * LATENCY // 64 + LATENCY + 1),  # 64 wait for their responses
    ],
)
def test_a_task_alone_takes_what_its_unit_takes(task: Task, length: int) -> None:
    found = times(task)
    begin = SUMMED if task.unit in (Unit.LOAD, Unit.STORE) else FIRST
    assert found.begun == [begin]
    assert found.ended == [begin + length]
    assert found.cycles == begin + length


@pytest.mark.parametrize(("block_in", "stages"), [(1, 2), (2, 2), (4, 2), (16, 2), (64, 3), (256, 4)])
def test_the_adders_of_a_dot_product_take_a_cycle_for_two_levels_and_the_alu_knows_in_time(
    block_in: int, stages: int
) -> None:
    assert lengths(GEMM, block_in=block_in) == [2 + 1000 + 8 + stages]


@pytest.mark.parametrize(("block_in", "gemm"), [(1, 12), (4, 12), (16, 12), (64, 12), (256, 12), (1024, 13)])
def test_an_alu_with_fused_steps_is_longer_and_gemm_waits_for_it_to_know(block_in: int, gemm: int) -> None:
    def ended(*tasks: Task) -> list[int]:
        kept = {"latency": LATENCY, "block_in": block_in, "fused_alu": True}
        return time_tasks(tasks, HardwareConfig(), **kept).ended  # type: ignore[arg-type]

    assert ended(GEMM) == [FIRST + 2 + 1000 + gemm]
    assert ended(ALU) == [FIRST + 2 + 400 + 13]
    short = replace(ALU, work=2)
    together = ended(short, short)
    assert together[1] - together[0] == 10


@pytest.mark.parametrize(("bits", "beats"), [(64, 2), (128, 1)])
def test_instructions_come_with_the_beats_that_hold_them(bits: int, beats: int) -> None:
    """A buffer of 32 instructions is asked for in bursts of four; the second one when the first has come."""
    begun = times(*[Task(Unit.GEMM)] * 12, data_width=bits).begun
    here = 1 + LATENCY  # the first beat
    assert begun[:4] == [here + beats * place + 3 for place in range(1, 5)]
    assert begun[4] == here + 4 * beats + LATENCY + beats + 3
    assert begun[5] == begun[4] + beats


def test_loads_follow_one_another_on_the_bus() -> None:
    assert times(LOAD, LOAD, LOAD).ended == [SUMMED + 117 + 100 * place for place in range(3)]


@pytest.mark.parametrize("unit", [Unit.LOAD, Unit.STORE])
def test_loads_and_stores_begin_every_other_cycle_at_most(unit: Unit) -> None:
    """Addresses are added up in the first cycle in which an instruction is there."""
    assert times(*[Task(unit)] * 4, data_width=128).begun == [SUMMED - 1 + 2 * place for place in range(4)]


def test_a_scratchpad_is_filled_by_one_load_after_the_other_and_the_other_one_meanwhile() -> None:
    padded = replace(LOAD, zeros=300)
    first, second, third = times(LOAD, padded, padded).ended
    assert (first, second, third) == (SUMMED + 117, SUMMED + 117 + 400, SUMMED + 117 + 800)
    assert times(LOAD, padded, replace(padded, kind=1)).ended[2] == second + 1  # loads end in order


def test_micro_ops_are_looked_up_once_until_others_are_loaded() -> None:
    reset = replace(RESET, uop_end=30)
    apart = replace(reset, low=3000, high=3009)
    cold, warm = lengths(reset, apart)
    assert cold == 8 + 30 + 3 + 500 + 4
    begun = times(reset, apart).begun
    bound = begun[0] + 8 + 30
    assert begun[1] + warm == max(bound + 7 + 3, begun[0] + cold - 4) + 504


def test_conflicting_work_begins_when_what_it_waits_for_is_written() -> None:
    found = times(GEMM, ALU)
    assert found.ended[1] == found.ended[0] + 2 + 400 + 11
    assert times(GEMM, replace(ALU, low=99, high=99)).ended == found.ended
    apart = times(GEMM, replace(ALU, low=100, high=199))
    assert apart.ended[1] == apart.ended[0] + 1  # done long before, but instructions end in order


def test_a_unit_does_its_own_work_in_order_without_a_pause() -> None:
    assert times(GEMM, GEMM).ended == [FIRST + 1012, FIRST + 2012]
    assert times(ALU, replace(ALU, low=500, high=600)).ended == [FIRST + 413, FIRST + 813]


def test_the_alu_reads_what_it_wrote_eight_cycles_later() -> None:
    one = replace(ALU, work=1, bits=1)
    assert times(one, one).ended == [FIRST + 14, FIRST + 14 + 8]
    assert times(one, replace(one, low=99, high=199)).ended[1] == FIRST + 14 + 8
    assert times(one, replace(one, low=100, high=199)).ended[1] == FIRST + 14 + 3  # as soon as it can be bound


def test_instructions_of_a_module_end_in_order() -> None:
    found = times(GEMM, replace(GEMM, work=0, bits=0), END)
    assert found.ended == [FIRST + 1012, FIRST + 1013, FIRST + 1014]


def test_a_window_of_sixteen_instructions_is_in_hand() -> None:
    found = times(GEMM, *[replace(GEMM, work=0, bits=0)] * 20)
    assert found.begun[15] < found.ended[0]
    assert found.begun[16] == found.ended[0] + 1
    assert found.begun[17] == found.ended[1] + 1


def test_an_instruction_is_dispatched_when_its_queue_has_room() -> None:
    """The queue of a module holds sixteen: the thirtieth store is handed on when the fourteenth has begun."""
    found = times(*[replace(STORE, work=100, bursts=1)] * 30, LOAD)
    assert [b - a for a, b in zip(found.begun[:29], found.begun[1:30], strict=True)] == [94] + [100] * 28
    assert found.begun[30] == found.begun[13] + 1 + 1 + 2


def test_a_store_begins_when_the_one_before_it_has_been_read() -> None:
    found = times(STORE, replace(STORE, work=1, bursts=500), STORE)
    assert found.begun[1] == found.begun[0] + 2 + 200 - 8
    assert found.begun[2] == found.begun[1] + 1 + 500  # its bursts are asked for one a cycle
    assert found.ended[2] == found.begun[2] + 2 + 200 + LATENCY + 1


def test_two_readers_of_the_bus_take_turns() -> None:
    """The accumulators' first beat could come while the load's data do: both get every other beat until one is done."""
    load, acc = times(LOAD, ACC).ended
    first = FIRST + 2 + 8 + LATENCY
    assert load == SUMMED + 117
    assert acc == first + 64 + 64 + 3


def test_no_more_beats_than_fit_are_on_their_way() -> None:
    """Those of a memory with a long latency come at 128 in each time that an answer takes."""
    assert times(replace(LOAD, work=1000), latency=256).ended[0] == 256 + 7 + 1 + 256 + 1000 * 256 // 128


def test_the_alu_takes_longer_while_it_works_beside_gemm() -> None:
    """It is known from the second instruction on: with runs of 100 accumulators it loses 5 of 1000 cycles."""
    alus = [replace(ALU, low=low, high=low + 99) for low in (100, 200, 300)]
    begin = FIRST + 8 + 7 + 3 + 1  # when the ranges of GEMM and of the first one have been compared
    assert times(GEMM, *alus).ended[3] == begin + 400 + 2 * 403 + 11
    assert times(replace(GEMM, run=0), *alus).ended[3] == begin + 400 + 2 * 424 + 11  # of 20, if that is not known
    both, alone = 400 + (FIRST + 1002 - begin - 400), begin + 400 + 800 - (FIRST + 1002)
    third = ceil(400 / (1 - 0.5 * both / (both + alone)))  # of runs of one: half of the part that was beside GEMM
    assert times(replace(GEMM, run=1), *alus).ended[3] == begin + 400 + 800 + third + 11
    assert times(*alus).ended[2] == FIRST + 2 + 1200 + 11


def test_micro_ops_are_loaded_when_nobody_uses_those_that_were_there() -> None:
    user = replace(GEMM, uop_bgn=50, uop_end=60)
    found = times(user, UOP, replace(UOP, uop_bgn=60, uop_end=70))
    assert found.ended[1] == found.ended[0] + 1 + 2 + LATENCY + 50 + 1
    elsewhere = times(user, replace(UOP, uop_bgn=60), replace(UOP, uop_bgn=0, uop_end=50))
    assert elsewhere.ended == [FIRST + 1012 + place for place in range(3)]


def test_tokens_are_taken_the_cycle_after_they_are_given() -> None:
    found = times(LOAD, replace(GEMM, after_prev=0), replace(STORE, after_prev=1), replace(END, after_next=2))
    for giver in range(3):
        assert found.begun[giver + 1] == found.ended[giver] + 1
    back = times(GEMM, replace(LOAD, after_next=0))
    assert back.begun[1] == back.ended[0] + 1


def test_a_posted_reset_gives_the_load_module_its_token_at_once() -> None:
    found = times(RESET, replace(LOAD, after_next=0))
    assert found.begun[1] == SUMMED + 2
    assert found.ended[0] == FIRST + 515


def test_the_compute_module_takes_one_instruction_in_a_cycle() -> None:
    idle = Task(Unit.GEMM)
    found = times(LOAD, replace(idle, after_prev=0), idle, idle, idle)
    assert found.begun[1] == found.ended[0] + 1
    assert [begin - found.begun[1] for begin in found.begun[1:]] == [0, 1, 2, 3]

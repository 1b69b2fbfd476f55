import random

import numpy as np
import pytest

from hw.config import HardwareConfig
from hw.errors import ErrorCode
from isa.encoding import encode
from isa.instructions import Deps, Finish, Gemm, Load, MemoryId, Store
from isa.reference import execute
from tests.support.core_rig import CoreRig, memory_after, program_image
from tests.support.odd_configs import ODD_CONFIGS
from tests.support.random_programs import random_program

VTA = ODD_CONFIGS["single_lane"]
HARDWARE = HardwareConfig()
FINISH = encode(Finish(), VTA)


def words_of(*instructions):
    return [encode(instruction, VTA) for instruction in instructions] + [FINISH]


DEADLOCKED = words_of(
    Load(memory=MemoryId.INP, x_size=3, y_size=2, x_stride=3, deps=Deps(push_next=True)),
    Store(x_size=2, y_size=1, deps=Deps(push_prev=True)),
    Gemm(uop_end=1, deps=Deps(pop_prev=True, pop_next=True)),
    Load(memory=MemoryId.ACC, x_size=2, y_size=1, deps=Deps(pop_prev=True)),  # nobody gives this token
)
LEFTOVERS = words_of(
    Load(memory=MemoryId.INP, x_size=1, y_size=1, deps=Deps(push_next=True)),
    Store(x_size=0, y_size=1, deps=Deps(push_prev=True)),
    Gemm(deps=Deps(push_prev=True, push_next=True)),
)


class Scene:
    """A good program with its expected memory, and room behind it for other programs."""

    def __init__(self, number, *, length=12, **dram):
        self.program = random_program(np.random.default_rng(number), VTA, length=length)
        self.memory, address = program_image(self.program)
        self.good = (address, len(self.program.words))
        self.free = -(-(address + 16 * len(self.program.words)) // 64) * 64
        self.want = execute(self.program).memory
        self.rig = CoreRig(VTA, HARDWARE, self.memory, **dram)

    def place(self, words):
        """Put another program behind the good one; return where."""
        image = b"".join(word.to_bytes(16, "little") for word in words)
        self.memory[self.free : self.free + len(image)] = image
        return self.free, len(words)

    def check(self, outcome):
        assert outcome.done
        assert outcome.error == ErrorCode.NONE
        np.testing.assert_array_equal(memory_after(self.program, self.memory), self.want)


def harmless(words):
    """Return the words with every STORE that moves data made empty, so that the good program's input stays."""
    return [word & ~(0xFFFF << 80) if word & 7 == 1 else word for word in words]


def test_a_launch_that_is_repeated_takes_the_same_cycles():
    words = words_of(Load(memory=MemoryId.INP, x_size=3, y_size=2, x_stride=3), Gemm(uop_end=1))
    scene = Scene(1)
    first, second, good = scene.rig.run([scene.place(words)] * 2 + [scene.good])
    assert first == second
    assert first.done
    scene.check(good)


@pytest.mark.parametrize("stall", [0.0, 0.3])
@pytest.mark.parametrize("bad", [DEADLOCKED, LEFTOVERS], ids=["deadlock", "leftover tokens"])
def test_a_launch_after_a_deadlock_or_leftover_tokens_starts_clean(bad, stall):
    scene = Scene(2, stall=stall, seed=3)
    first, good = scene.rig.run([scene.place(harmless(bad)), scene.good], limit=1500)
    assert first.done == (bad is LEFTOVERS)
    scene.check(good)


def test_a_deadlock_shows_what_each_module_has_started():
    scene = Scene(2)
    (outcome,) = scene.rig.run([scene.place(harmless(DEADLOCKED))], limit=600)
    assert not outcome.done
    assert outcome.counts["fetched"] == 5
    assert outcome.counts["load_started"] == 1
    assert outcome.counts["compute_started"] <= 2
    assert outcome.counts["store_started"] == 1


@pytest.mark.parametrize("after", [5, 20, 60, 130])
def test_a_launch_given_up_in_the_middle_leaves_nothing_behind(after):
    loads = [
        Load(memory=MemoryId.INP, x_size=6, y_size=3, x_stride=6),
        Load(memory=MemoryId.ACC, x_size=4, y_size=2, x_stride=4),
    ]
    scene = Scene(4, latency=40, stall=0.2, seed=5)
    place = scene.place(words_of(*loads, *loads, *loads))
    rig = scene.rig
    first, good = rig.run([place, scene.good], limit=[after, 5000])
    assert not first.done
    scene.check(good)


def test_stores_given_up_in_the_middle_write_whole_bursts_and_the_next_launch_is_right():
    scene = Scene(6, latency=30, stall=0.3, seed=7)
    room = (scene.free + 1024) // VTA.out_elem_bytes
    stores = [Store(x_size=40, y_size=2, x_stride=40, dram_base=room) for _ in range(3)]
    first, good = scene.rig.run([scene.place(words_of(*stores)), scene.good], limit=[70, 5000])
    assert not first.done
    scene.check(good)


@pytest.mark.parametrize(
    ("word", "error"),
    [(6, ErrorCode.OPCODE), (FINISH | 1 << 127, ErrorCode.UNUSED_BITS), (4 << 7, ErrorCode.ILLEGAL)],
)
def test_an_illegal_word_stops_the_launch_with_its_index_and_the_next_one_is_right(word, error):
    scene = Scene(8)
    bad = [*words_of(Load(memory=MemoryId.INP, x_size=3, y_size=1))[:-1], word, FINISH]
    first, good = scene.rig.run([scene.place(bad), scene.good])
    assert not first.done
    assert (first.error, first.place) == (error, 1)
    scene.check(good)


def test_a_launch_without_finish_is_an_error():
    scene = Scene(8)
    bad = words_of(Load(memory=MemoryId.INP, x_size=3, y_size=1))[:-1]
    (first,) = scene.rig.run([scene.place(bad)])
    assert (first.error, first.place) == (ErrorCode.NO_FINISH, 1)


@pytest.mark.parametrize(
    ("instruction", "place", "error"),
    [
        (Load(memory=MemoryId.UOP, x_size=2, y_size=1), 1, ErrorCode.READ_RESPONSE),
        (Load(memory=MemoryId.ACC, x_size=2, y_size=1), 2, ErrorCode.READ_RESPONSE),
        (Load(memory=MemoryId.WGT, x_size=2, y_size=1), 3, ErrorCode.READ_RESPONSE),
        (Store(x_size=2, y_size=1), 4, ErrorCode.WRITE_RESPONSE),
    ],
    ids=["uop", "acc", "load", "store"],
)
def test_an_error_response_of_memory_names_who_asked(instruction, place, error):
    scene = Scene(9, length=4, errors=range(64))
    first, good = scene.rig.run([scene.place(words_of(instruction)), scene.good])
    assert not first.done
    assert (first.error, first.place) == (error, place)
    assert good.done


def test_instructions_behind_finish_are_not_executed_and_do_not_disturb_the_next_launch():
    scene = Scene(10, latency=20)
    words = [FINISH] + [6] * 30
    first, good = scene.rig.run([scene.place(words), scene.good])
    assert first.done
    assert first.counts["fetched"] == 1
    scene.check(good)


def test_random_programs_follow_each_other_in_any_order():
    generator = random.Random(11)
    scene = Scene(12, latency=3, stall=0.2, seed=1)
    others = [scene.place(harmless(LEFTOVERS))]
    launches = [generator.choice(others) for _ in range(3)]
    outcomes = scene.rig.run([*launches, scene.good])
    assert all(outcome.done for outcome in outcomes)
    scene.check(outcomes[-1])

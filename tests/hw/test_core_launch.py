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
        address = self.free
        self.memory[address : address + len(image)] = image
        self.free += -(-len(image) // 64) * 64
        return address, len(words)

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
def test_a_launch_after_a_deadlock_or_leftover_tokens_starts_clean(stall):
    scene = Scene(2, stall=stall, seed=3)
    bad = [scene.place(harmless(words)) for words in (LEFTOVERS, DEADLOCKED, LEFTOVERS)]
    *ends, good = scene.rig.run([*bad, scene.good], limit=[1500, 700, 1500, 5000])
    assert [end.done for end in ends] == [True, False, True]
    scene.check(good)


def test_a_deadlock_shows_what_each_module_has_started():
    scene = Scene(2)
    (outcome,) = scene.rig.run([scene.place(harmless(DEADLOCKED))], limit=600)
    assert not outcome.done
    assert outcome.counts["fetched"] == 5
    assert outcome.counts["load_started"] == 1
    assert outcome.counts["compute_started"] <= 2
    assert outcome.counts["store_started"] == 1


def test_a_launch_given_up_in_the_middle_leaves_nothing_behind():
    loads = [
        Load(memory=MemoryId.INP, x_size=6, y_size=3, x_stride=6),
        Load(memory=MemoryId.ACC, x_size=4, y_size=2, x_stride=4),
    ]
    scene = Scene(4, latency=40, stall=0.2, seed=5)
    place = scene.place(words_of(*loads, *loads, *loads))
    *ends, good = scene.rig.run([*[place] * 5, scene.good], limit=[5, 20, 60, 100, 130, 5000])
    assert not any(end.done for end in ends)
    scene.check(good)


def test_stores_given_up_in_the_middle_write_whole_bursts_and_the_next_launch_is_right():
    scene = Scene(6, latency=30, stall=0.3, seed=7)
    room = (scene.free + 1024) // VTA.out_elem_bytes
    stores = [Store(x_size=40, y_size=2, x_stride=40, dram_base=room) for _ in range(3)]
    first, good = scene.rig.run([scene.place(words_of(*stores)), scene.good], limit=[70, 5000])
    assert not first.done
    scene.check(good)


def test_an_illegal_word_stops_the_launch_with_its_index_and_the_next_one_is_right():
    scene = Scene(8)
    words = {6: ErrorCode.OPCODE, FINISH | 1 << 127: ErrorCode.UNUSED_BITS, 4 << 7: ErrorCode.ILLEGAL}
    good = words_of(Load(memory=MemoryId.INP, x_size=3, y_size=1))[:-1]
    bad = [scene.place([*good, word, FINISH]) for word in words]
    endless = scene.place(good)
    *ends, last = scene.rig.run([*bad, endless, scene.good])
    assert [(end.done, end.error, end.place) for end in ends] == [
        (False, error, 1) for error in (*words.values(), ErrorCode.NO_FINISH)
    ]
    scene.check(last)


def test_an_error_response_of_memory_names_who_asked():
    scene = Scene(9, length=4, errors=range(64))
    asks = {
        Load(memory=MemoryId.UOP, x_size=2, y_size=1): (ErrorCode.READ_RESPONSE, 1),
        Load(memory=MemoryId.ACC, x_size=2, y_size=1): (ErrorCode.READ_RESPONSE, 2),
        Load(memory=MemoryId.WGT, x_size=2, y_size=1): (ErrorCode.READ_RESPONSE, 3),
        Store(x_size=2, y_size=1): (ErrorCode.WRITE_RESPONSE, 4),
    }
    *ends, good = scene.rig.run([*(scene.place(words_of(ask)) for ask in asks), scene.good])
    assert [(end.error, end.place) for end in ends] == list(asks.values())
    assert good.done


def test_instructions_behind_finish_are_not_executed_and_do_not_disturb_the_next_launch():
    scene = Scene(10, latency=20)
    words = [FINISH] + [6] * 30
    first, good = scene.rig.run([scene.place(words), scene.good])
    assert first.done
    assert first.counts["fetched"] == 1
    scene.check(good)

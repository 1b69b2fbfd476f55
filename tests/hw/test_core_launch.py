"""What a launch leaves behind for the next one: nothing, whether it ends, fails, hangs or is given up."""

from typing import Any

import numpy as np
import pytest

from isa.encoding import encode
from isa.instructions import Deps, Finish, Gemm, Load, MemoryId, Store
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig
from isa.reference import execute
from tests.support.hw.core_rig import CoreRig, program_image
from tests.support.hw.core_sim import CoreSim, aligned
from tests.support.isa.random_programs import random_program
from tests.support.odd_configs import ODD_CONFIGS

VTA = ODD_CONFIGS["single_lane"]
HARDWARE = HardwareConfig()
FINISH = encode(Finish(), VTA)


def words_of(*instructions: Any) -> Any:
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


@pytest.fixture(scope="module")
def core() -> Any:
    return CoreSim(VTA, HARDWARE)


class Scene:
    """A good program with its expected memory, and room after it for other programs; a core that starts anew."""

    def __init__(self, core: CoreSim, number: int, *, length: int = 12, **timing: Any) -> None:
        self.program = random_program(np.random.default_rng(number), VTA, length=length)
        image, address = program_image(self.program)
        self.memory = aligned(image)
        self.good = (address, len(self.program.words))
        self.free = -(-(address + 16 * len(self.program.words)) // 64) * 64
        self.core = core
        core.design.reset()
        core.axi.configure(**{"latency": 1, "stalls": 0.0, "seed": 1} | timing)

    def place(self, words: list[int]) -> tuple[Any, ...]:
        """Put another program after the good one; return where."""
        address = self.free
        image = np.frombuffer(b"".join(word.to_bytes(16, "little") for word in words), np.uint8)
        self.memory[address : address + image.size] = image
        self.free += -(-image.size // 64) * 64
        return address, len(words)

    def run(self, *launches: Any, limits: list[int] | None = None) -> list[Any]:
        """Run launches of (address, count), each for as many cycles as ``limits`` has; return how each ended."""
        limits = limits or [20_000] * len(launches)
        return [
            self.core.launch(self.memory, *place, limit=limit) for place, limit in zip(launches, limits, strict=True)
        ]

    def check_good(self, *, limit: int = 20_000) -> None:
        """Run the good program; it ends well and leaves what the reference leaves."""
        (launch,) = self.run(self.good, limits=[limit])
        assert launch.done
        assert launch.error == ErrorCode.NONE
        np.testing.assert_array_equal(self.memory[: len(self.program.dram())], execute(self.program).memory)


def harmless(words: list[int]) -> list[Any]:
    """Return the words with every STORE that moves data made empty, so that the good program's input stays."""
    return [word & ~(0xFFFF << 80) if word & 7 == 1 else word for word in words]


def test_a_launch_that_is_repeated_takes_the_same_cycles(core: CoreSim) -> None:
    words = words_of(Load(memory=MemoryId.INP, x_size=3, y_size=2, x_stride=3), Gemm(uop_end=1))
    scene = Scene(core, 1)
    first, second = scene.run(*[scene.place(words)] * 2)
    assert first == second
    assert first.done
    scene.check_good()


@pytest.mark.parametrize("stall", [0.0, 0.3])
@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_launch_after_a_deadlock_or_leftover_tokens_starts_clean(core: CoreSim, number: int, stall: float) -> None:
    scene = Scene(core, number, stalls=stall, seed=3)
    bad = [scene.place(harmless(words)) for words in (LEFTOVERS, DEADLOCKED, LEFTOVERS)]
    ends = scene.run(*bad, limits=[1500, 700, 1500])
    assert [end.done for end in ends] == [True, False, True]
    scene.check_good()


def test_a_deadlock_shows_what_each_module_has_started(core: CoreSim) -> None:
    scene = Scene(core, 2)
    (outcome,) = scene.run(scene.place(harmless(DEADLOCKED)), limits=[600])
    assert not outcome.done
    assert outcome.fetched == 5
    assert outcome.started["load"] == 1
    assert outcome.started["compute"] <= 2
    assert outcome.started["store"] == 1


@pytest.mark.parametrize("stall", [0.0, 0.2])
def test_a_launch_given_up_in_the_middle_leaves_nothing_behind(core: CoreSim, stall: float) -> None:
    loads = [
        Load(memory=MemoryId.INP, x_size=6, y_size=3, x_stride=6),
        Load(memory=MemoryId.ACC, x_size=4, y_size=2, x_stride=4),
    ]
    for number in range(4, 10):
        scene = Scene(core, number, latency=40, stalls=stall, seed=number)
        place = scene.place(words_of(*loads, *loads, *loads))
        ends = scene.run(*[place] * 5, limits=[5, 20 + number, 60 + number, 100 - number, 130])
        assert not any(end.done for end in ends)
        scene.check_good()


@pytest.mark.parametrize("number", [6, 7, 8])
def test_stores_given_up_in_the_middle_write_whole_bursts_and_the_next_launch_is_right(
    core: CoreSim, number: int
) -> None:
    scene = Scene(core, number, latency=30, stalls=0.3, seed=7)
    room = (scene.free + 1024) // VTA.out_elem_bytes
    stores = [Store(x_size=40, y_size=2, x_stride=40, dram_base=room) for _ in range(3)]
    (first,) = scene.run(scene.place(words_of(*stores)), limits=[70 + number])
    assert not first.done
    scene.check_good()
    assert core.axi.idle


def test_an_illegal_word_stops_the_launch_with_its_index_and_the_next_one_is_right(core: CoreSim) -> None:
    scene = Scene(core, 8)
    words = {6: ErrorCode.OPCODE, FINISH | 1 << 127: ErrorCode.UNUSED_BITS, 4 << 7: ErrorCode.ILLEGAL}
    good = words_of(Load(memory=MemoryId.INP, x_size=3, y_size=1))[:-1]
    bad = [scene.place([*good, word, FINISH]) for word in words]
    ends = scene.run(*bad, scene.place(good))
    assert [(end.done, end.error, end.place) for end in ends] == [
        (False, error, 1) for error in (*words.values(), ErrorCode.NO_FINISH)
    ]
    scene.check_good()


def test_instructions_behind_finish_are_not_executed_and_do_not_disturb_the_next_launch(core: CoreSim) -> None:
    scene = Scene(core, 10, latency=20)
    (first,) = scene.run(scene.place([FINISH] + [6] * 30))
    assert first.done
    assert first.fetched == 1
    scene.check_good()


def test_an_error_response_of_memory_names_who_asked() -> None:
    """In Amaranth's own simulator: the compiled one's memory takes such a read for a fault of the design."""
    asks = {
        Load(memory=MemoryId.UOP, x_size=2, y_size=1): (ErrorCode.READ_RESPONSE, 1),
        Load(memory=MemoryId.ACC, x_size=2, y_size=1): (ErrorCode.READ_RESPONSE, 2),
        Load(memory=MemoryId.WGT, x_size=2, y_size=1): (ErrorCode.READ_RESPONSE, 3),
        Store(x_size=2, y_size=1): (ErrorCode.WRITE_RESPONSE, 4),
    }
    memory = bytearray(8192)
    launches = []
    for index, words in enumerate([*map(words_of, asks), words_of()]):
        address = 4096 + 64 * index
        image = b"".join(word.to_bytes(16, "little") for word in words)
        memory[address : address + len(image)] = image
        launches.append((address, len(words)))
    *ends, good = CoreRig(VTA, HARDWARE, memory, errors=range(64)).run(launches)
    assert [(end.error, end.place) for end in ends] == list(asks.values())
    assert good.done

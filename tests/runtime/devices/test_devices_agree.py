"""All devices say the same of a program that goes wrong, or that changes itself while it runs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from isa.bulk import words_to_array
from isa.config import VTAConfig
from isa.encoding import encode, encode_uop
from isa.instructions import MemoryId, MicroOp
from isa.text.assembler import assemble
from runtime.devices.device import DeadlockError, DeviceError
from runtime.session import DEVICE_NAMES, Session
from tests.support.isa.damaged_programs import damaged_program
from tests.support.runtime.launching import place_program, place_words

CONFIG = VTAConfig()
DATA, UOPS, CODE, OUT, END = 0x1000, 0x2000, 0x10000, 0x3000, 0x20000
"""Where the programs below have everything; memory ends at ``END``."""
SCRATCHPADS = (MemoryId.UOP, MemoryId.INP, MemoryId.WGT, MemoryId.ACC)


@dataclass(frozen=True)
class Outcome:
    """What each launch said, and what was left; tokens are no part of a deadlock's text, devices know more or less."""

    said: list[str]
    contents: dict[str, bytes]


def outcome(name: str, launches: Sequence[Sequence[int]], data: int, uops: Sequence[int]) -> Outcome:
    """Launch words at ``CODE`` one after the other, with ``data`` in all numbers at ``DATA``."""
    device = Session(CONFIG, name, memory_limit=END).device
    memory = device.memory
    memory.alloc(END - 0x1000)
    memory.view(DATA, 0x1000).view("<i4")[:] = data
    memory.view(UOPS, 4 * len(uops)).view("<u4")[:] = uops
    said = []
    for words in launches:
        array = words_to_array(words)
        memory.view(CODE, array.nbytes)[:] = array.reshape(-1).view(np.uint8)
        try:
            device.launch(CODE, len(words))
            said.append("done")
        except DeadlockError:
            said.append("deadlock")
        except DeviceError as error:
            said.append(str(error))
    contents = {pad.name: device.scratchpad(pad).tobytes() for pad in SCRATCHPADS}
    return Outcome(said, contents | {"DRAM": memory.address_space().tobytes()})


def words_of(text: str) -> list[int]:
    return [encode(instruction, CONFIG) for instruction in assemble(text).instructions]


def agreed(
    texts: Sequence[str | list[int]], *, data: int = 0, uops: Sequence[int] = (), contents: bool = True
) -> list[str]:
    """Return what all devices say of launches one after the other, with equal contents of everything in the end."""
    launches = [words_of(text) if isinstance(text, str) else text for text in texts]
    first, *others = (outcome(name, launches, data, uops) for name in DEVICE_NAMES)
    for other in others:
        assert other.said == first.said
        for place in first.contents if contents else ():
            assert other.contents[place] == first.contents[place], place
    return first.said


FAR = encode_uop(MicroOp(dst=2047), CONFIG)
TOO_FAR = "instruction 1: accumulator index 2048 is out of range, the buffer has 2048 elements"
STORE_AND_LOAD = """
load.acc sram=0 dram=0x40 x=1 push_next
store sram=0 dram=0x200 x=1 pop_prev push_prev
load.uop sram=0 dram=0x800 x=4 pop_next
finish
"""
"""Stores the first numbers where the micro-ops are, and loads them as such."""
USE = """
load.acc sram=0 dram=0x40 x=64
alu.add uop=0:1 iter=1,2 dst=0,1 src=0,0 imm=1 push_next
store sram=0 dram=0x300 x=64 pop_prev push_prev
finish pop_next
"""


@pytest.mark.parametrize(("data", "before", "said"), [(0, FAR, "done"), (-1, 0, TOO_FAR)])
def test_micro_ops_that_an_earlier_launch_stored_are_the_ones_that_count(data: int, before: int, said: str) -> None:
    assert agreed([STORE_AND_LOAD, USE], data=data, uops=[before] * 4) == ["done", said]


@pytest.mark.parametrize(("data", "before", "fails"), [(0, FAR, False), (-1, 0, True)])
def test_micro_ops_that_the_launch_itself_stored_are_the_ones_that_count(data: int, before: int, fails: bool) -> None:
    both = STORE_AND_LOAD.replace("finish", "") + USE
    said = [TOO_FAR.replace("instruction 1", "instruction 4") if fails else "done"]
    assert agreed([both], data=data, uops=[before] * 4) == said


def test_micro_ops_that_a_deadlock_kept_from_being_loaded_are_not_there() -> None:
    stuck = "gemm uop=0:1 reset pop_prev\nload.uop sram=0 dram=0x800 x=1\nfinish"
    assert agreed([stuck, USE], uops=[FAR]) == ["deadlock", "done"]


def test_a_fault_that_a_deadlock_keeps_from_being_reached_is_none() -> None:
    assert agreed(["gemm uop=0:1 reset pop_prev\nload.acc sram=2047 dram=0x40 x=2\nfinish"]) == ["deadlock"]
    assert agreed(["gemm uop=0:1 reset pop_prev\ngemm uop=0:1 reset iter=2048,2 dst=1,1\nfinish"]) == ["deadlock"]


def test_the_fault_that_tokens_let_happen_first_is_the_one() -> None:
    text = """
    gemm uop=0:1 reset iter=2048,2 dst=1,1 pop_prev
    load.inp sram=5 dram=0x100 x=1
    load.inp sram=2047 dram=0x100 x=2
    load.inp sram=0 dram=0x100 x=1 push_next
    finish
    """
    message = "instruction 2: INP elements 2047 to 2048 are out of range, the buffer has 2048 elements"
    assert agreed([text, USE], data=3) == [message, "done"]


def test_modules_that_run_ahead_of_a_fault_have_done_what_they_did() -> None:
    text = """
    gemm uop=0:1 reset pop_prev
    alu.add uop=0:1 imm=5 iter=2048,2 dst=1,1
    load.inp sram=0 dram=0x100 x=4 push_next
    load.inp sram=4 dram=0x100 x=4
    finish
    """
    assert agreed([text], data=7) == [TOO_FAR]


@pytest.mark.parametrize("place", [1, 70])
def test_an_illegal_word_is_refused_before_anything_is_done(place: int) -> None:
    words = words_of(
        "load.acc sram=0 dram=0x40 x=1\ngemm uop=0:1 reset pop_prev\n" + "gemm uop=0:1 reset\n" * 78 + "finish"
    )
    words[place] = 7
    text = "opcode 7 is unknown; the opcodes are LOAD 0, STORE 1, GEMM 2, FINISH 3, ALU 4"
    assert agreed([words], data=5) == [f"instruction {place}: {text}"]


def test_stores_over_the_instructions_of_a_launch_do_not_change_it() -> None:
    loads = "load.uop sram=0 dram=0x800 x=1\n" * 120
    text = (
        "load.acc sram=0 dram=0x40 x=16 push_next\n"
        f"store sram=0 dram={CODE // 16 + 4:#x} x=16 pop_prev push_prev\nnop.compute pop_next\n{loads}finish"
    )
    assert agreed([text], data=-1) == ["done"]


def test_instructions_are_data_too() -> None:
    words = words_of(
        f"load.acc sram=0 dram={CODE // 64:#x} x=2 push_next\nstore sram=0 dram=0x300 x=2 pop_prev\n"
        "load.acc sram=2047 dram=0x40 x=2\nfinish"
    )
    message = "instruction 2: ACC elements 2047 to 2048 are out of range, the buffer has 2048 elements"
    assert agreed([words]) == [message]


def test_of_an_illegal_micro_op_and_an_index_the_micro_op_is_named() -> None:
    config = VTAConfig(log_wgt_buff_size=17)  # 11, 11 and 9 bits: one is left
    said = set()
    for name in DEVICE_NAMES:
        session = Session(config, name)
        program = assemble("load.uop sram=0 dram=0x400 x=1\ngemm uop=0:1 iter=2048,2 dst=1,1\nfinish", config=config)
        session.memory.alloc(0x1000)
        session.memory.view(0x1000, 4)[:] = 0xFF
        with pytest.raises(DeviceError) as caught:
            session.run_program(program)
        said.add(str(caught.value))
    assert said == {"instruction 1: UOP: unused bits from bit 31 on must be zero, not 0x1"}


@pytest.mark.parametrize("seed", range(2))
def test_damaged_programs_end_alike_on_the_hardware(seed: int) -> None:
    endings: Counter[str] = Counter()
    for index in range(30):
        program, words, uops = damaged_program(np.random.default_rng([41, seed, index]), CONFIG)
        said = []
        for name in ("reference", "tsim"):
            memory = (device := Session(CONFIG, name, memory_limit=1 << 26).device).memory
            place_program(memory, program)
            if uops:
                memory.view(program.uop_base, 4 * len(uops)).view("<u4")[:] = uops
            placed = place_words(memory, words)
            try:
                device.launch(placed.address, placed.count)
                said.append("done")
            except DeviceError as error:
                said.append("deadlock" if isinstance(error, DeadlockError) else str(error))
        assert said[0] == said[1], index
        endings[said[0] if said[0] in ("done", "deadlock") else "refused"] += 1
    assert min(endings["done"], endings["refused"]) > 2, endings

"""What devices say when they cannot go on; the same launches on every device."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from isa.bulk import encode_all
from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Instruction, Load, MemoryId, Module, Store
from isa.origin import Origin
from runtime.devices.device import (
    DeadlockError,
    Device,
    DeviceDebug,
    DeviceError,
    ExecutionError,
    ModuleHead,
    TraceEvent,
)
from runtime.session import Session

CONFIG = VTAConfig()
LOAD, COMPUTE, STORE = Module.LOAD, Module.COMPUTE, Module.STORE


@pytest.fixture(params=["reference", "sim", "tsim"])
def device(request: pytest.FixtureRequest) -> Device:
    device = Session(CONFIG, request.param, memory_limit=1 << 24).device
    device.memory.alloc(4096)
    return device


def place(device: Device, words: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> int:
    code = device.memory.alloc(words.nbytes)
    device.memory.write(code, 0, words.tobytes())
    return code.address


def run(device: Device, instructions: Sequence[Instruction], origins: Sequence[Origin | None] | None = None) -> None:
    address = place(device, encode_all(instructions, CONFIG))
    device.launch(address, len(instructions), origins=origins)


def test_a_deadlock_names_every_head_and_the_tokens_it_waits_for(device: Device) -> None:
    stream: list[Instruction] = [
        Load(memory=MemoryId.INP, deps=Deps(pop_next=True)),
        Gemm(uop_end=1, deps=Deps(pop_prev=True, pop_next=True, push_prev=True)),
        Finish(),
    ]
    message = (
        "deadlock: load: instruction 0 waits for a token compute->load; compute: instruction 1 waits for a token "
        "load->compute and store->compute; store: nothing left"
    )
    with pytest.raises(DeadlockError, match=f"^{re.escape(message)}$") as caught:
        run(device, stream)
    assert caught.value.heads == (
        ModuleHead(LOAD, 0, ((COMPUTE, LOAD),)),
        ModuleHead(COMPUTE, 1, ((LOAD, COMPUTE), (STORE, COMPUTE))),
        ModuleHead(STORE, None),
    )
    run(device, [Finish()])  # tokens of the failed launch are gone, the device goes on
    assert device.stats.launches == 1


def test_an_illegal_access_names_instruction_and_origin(device: Device) -> None:
    stream: list[Instruction] = [
        Load(memory=MemoryId.UOP, dram_base=0x400, x_size=1, y_size=1, x_stride=1),
        Load(memory=MemoryId.INP, dram_base=1 << 20, x_size=1, y_size=1, x_stride=1),
        Finish(),
    ]
    origins = [None, Origin("A.local", "gemm.py:12"), None]
    with pytest.raises(
        ExecutionError, match=re.escape("instruction 1 (from A.local (gemm.py:12)): DRAM bytes ")
    ) as caught:
        run(device, stream, origins)
    assert (caught.value.index, caught.value.origin) == (1, origins[1])


def test_the_first_page_is_out_of_range(device: Device) -> None:
    message = "instruction 0: DRAM bytes 0xff0 to 0xfff are out of range, memory begins at 0x1000"
    with pytest.raises(ExecutionError, match=f"^{re.escape(message)}$"):
        run(device, [Store(dram_base=0xFF, x_size=1, y_size=1, x_stride=1), Finish()])


def test_an_illegal_word_names_its_instruction(device: Device) -> None:
    words = encode_all([Finish(), Finish()], CONFIG)
    words[0, 0] = 7
    with pytest.raises(ExecutionError, match=r"^instruction 0: opcode 7 is unknown"):
        device.launch(place(device, words), 2)


FRAMES: list[tuple[list[Instruction], str]] = [
    ([Gemm()], "instruction 0: the last instruction of a launch must be FINISH, not GEMM"),
    ([Finish(), Finish()], "instruction 0: FINISH must be the last instruction of a launch, and this one has 2"),
    ([Finish(), Gemm()], "instruction 0: FINISH must be the last instruction of a launch, and this one has 2"),
]


@pytest.mark.parametrize(("stream", "message"), FRAMES, ids=["none", "two", "first"])
def test_finish_is_the_last_instruction_and_no_other(device: Device, stream: list[Instruction], message: str) -> None:
    with pytest.raises(ExecutionError, match=f"^{re.escape(message)}$"):
        run(device, stream)
    assert device.stats.instructions.total == 0


def test_a_launch_is_somewhere(device: Device) -> None:
    with pytest.raises(DeviceError, match=r"^a launch has at least one instruction, FINISH, not 0$"):
        device.launch(0x1000, 0)
    for address, count, where in ((0xFF0, 1, "0xff0 to 0xfff"), (0x1FF0, 2, "0x1ff0 to 0x200f")):
        message = f"instructions at {where} are outside of the mapped range 0x1000 to 0x2000"
        with pytest.raises(DeviceError, match=f"^{message}$"):
            device.launch(address, count)


def test_an_instruction_that_fails_has_written_nothing(device: Device) -> None:
    run(device, add_one())
    failing = (
        Store(dram_base=0x120, x_size=1, y_size=2, x_stride=1 << 15),  # its second row is not mapped
        Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=1, uop_end=1, iter_in=2049, dst_factor_in=1),
        Load(memory=MemoryId.ACC, dram_base=0x7E, x_size=1, y_size=2, x_stride=1 << 15),
    )
    for instruction in failing:
        with pytest.raises(ExecutionError):
            run(device, [instruction, Finish()])
    run(device, [Store(dram_base=0x111, x_size=1, y_size=1, x_stride=1), Finish()])
    assert device.memory.view(0x1100, 32).tolist() == [1] * 32
    assert not device.memory.view(0x1200, 16).any()


def add_one() -> list[Instruction]:
    return [
        Load(memory=MemoryId.UOP, dram_base=0x400, x_size=1, y_size=1, x_stride=1),
        Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=1, uop_end=1, deps=Deps(push_next=True)),
        Store(dram_base=0x110, x_size=1, y_size=1, x_stride=1, deps=Deps(pop_prev=True)),
        Finish(),
    ]


def test_scratchpads_keep_their_contents_from_launch_to_launch(device: Device) -> None:
    for _ in range(3):
        run(device, add_one())
    assert device.memory.view(0x1100, 16).tolist() == [3] * 16


def test_skipping_execution_moves_micro_ops_alone_and_counts_everything(device: Device) -> None:
    device.debug_mode(DeviceDebug.SKIP_EXEC)
    run(device, add_one())
    assert not device.memory.view(0x1100, 16).any()
    skipped = device.stats
    device.clear_stats()
    device.debug_mode(DeviceDebug.NONE)
    run(device, add_one())
    assert device.memory.view(0x1100, 16).tolist() == [1] * 16
    assert replace(device.stats, cycles=None, account=None) == replace(skipped, cycles=None, account=None)
    assert device.stats.as_dict()["alu_counter"] == 1
    assert device.stats.instructions.total == 4


def test_the_trace_has_every_instruction_in_order_of_completion(device: Device) -> None:
    events: list[TraceEvent] = []
    device.set_trace(events.append)
    origin = Origin("B")
    run(device, add_one(), [None, origin, None, None])
    device.set_trace(None)
    run(device, add_one())
    assert [(event.index, event.module) for event in events] == [(0, COMPUTE), (1, COMPUTE), (2, STORE), (3, COMPUTE)]
    assert [event.origin for event in events] == [None, origin, None, None]
    words = encode_all(add_one(), CONFIG)
    assert [event.word & (1 << 64) - 1 for event in events] == words[:, 0].tolist()


def test_a_failed_launch_counts_what_it_did(device: Device) -> None:
    stream = [*add_one()[:3], Load(memory=MemoryId.ACC, dram_base=1 << 20, x_size=1, y_size=1, x_stride=1), Finish()]
    with pytest.raises(ExecutionError):
        run(device, stream)
    assert device.stats.launches == 0
    assert device.stats.out_store_nbytes == 16
    assert device.stats.instructions.alu == 1

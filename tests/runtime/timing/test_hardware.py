"""Instructions alone and in pairs: the model's times are those of the RTL, cycle by cycle."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from hw.accumulator import RESET_LANES as LANES_OF_HARDWARE
from isa.bulk import encode_all
from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.timeline import Timeline
from runtime.timing import RESET_LANES, tasks_of, time_tasks

CONFIG = VTAConfig(log_block=2, log_uop_buff_size=9, log_inp_buff_size=9, log_wgt_buff_size=10, log_acc_buff_size=11)
UOPS = Load(memory=MemoryId.UOP, dram_base=1024, y_size=1, x_size=16)
FEED = Load(memory=MemoryId.INP, dram_base=1024, y_size=1, x_size=128, deps=Deps(push_next=True))
"""What the instructions behind it wait for, so that all of them have been fetched."""

LATENCY = 16


def gemm(count: int, *, reset: bool = False, uops: int = 1) -> Gemm:
    return Gemm(reset=reset, uop_end=uops, iter_in=count, dst_factor_in=1)


def alu(count: int) -> Alu:
    return Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=1, uop_end=1, iter_in=count, dst_factor_in=1)


def acc(count: int) -> Load:
    return Load(memory=MemoryId.ACC, dram_base=256, y_size=1, x_size=count)


KNOWN: tuple[Instruction, ...] = (UOPS, gemm(1), FEED)
"""The range of the micro-op is known afterwards."""


@pytest.fixture(scope="module")
def device() -> RtlSimulator:
    made = RtlSimulator(CONFIG, DeviceMemory(1 << 20), latency=LATENCY)
    made.memory.alloc(0x4000)
    return made


def of_the_hardware(device: RtlSimulator, instructions: Sequence[Instruction]) -> list[tuple[int, int]]:
    words = encode_all(instructions, CONFIG)
    code, seen = device.memory.alloc(words.nbytes), list[Timeline]()
    device.memory.write(code, 0, words.tobytes())
    device.set_timeline(seen.append)
    device.launch(code.address, len(instructions))
    device.memory.free(code)
    return list(zip(seen[0].begun.tolist(), seen[0].ended.tolist(), strict=True))


def of_the_model(instructions: Sequence[Instruction]) -> list[tuple[int, int]]:
    hardware = HardwareConfig()
    tasks = tasks_of(instructions, np.zeros(16, np.uint32), 0x1000, CONFIG, hardware)
    found = time_tasks(tasks, hardware, latency=LATENCY, block_in=CONFIG.block_in)
    return list(zip(found.begun, found.ended, strict=True))


def require_equal(device: RtlSimulator, prefix: Sequence[Instruction], *instructions: Instruction) -> None:
    """Require that instructions behind ``prefix`` take as long, counted from the end of its last one."""
    program = [*prefix, *instructions, Finish()]
    found = [
        [(begin - times[len(prefix) - 1][1], end - times[len(prefix) - 1][1]) for begin, end in times[len(prefix) : -1]]
        for times in (of_the_hardware(device, program), of_the_model(program))
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("count", [1, 8, 100])
@pytest.mark.parametrize("pair", ["gemm gemm", "gemm alu", "alu alu", "alu gemm", "reset gemm", "gemm reset",
                                  "acc alu", "alu acc"])  # fmt: skip
def test_a_pair_takes_what_the_hardware_takes(device: RtlSimulator, pair: str, count: int) -> None:
    made: dict[str, Instruction] = {
        "gemm": gemm(count), "alu": alu(count), "reset": gemm(count, reset=True), "acc": acc(count),
    }  # fmt: skip
    first, second = (made[name] for name in pair.split())
    require_equal(device, KNOWN, replace(first, deps=Deps(pop_prev=True)), second)


@pytest.mark.parametrize("uops", [1, 4, 16])
@pytest.mark.parametrize("reset", [False, True])
def test_micro_ops_are_looked_up_as_the_hardware_does(device: RtlSimulator, uops: int, reset: bool) -> None:
    require_equal(device, [UOPS], gemm(4, uops=uops, reset=reset))


@pytest.mark.parametrize("count", [4, 5, 64, 101])
def test_a_reset_takes_what_the_hardware_takes(device: RtlSimulator, count: int) -> None:
    assert RESET_LANES == LANES_OF_HARDWARE
    require_equal(device, KNOWN, replace(gemm(count, reset=True), deps=Deps(pop_prev=True)))


@pytest.mark.parametrize("count", [1, 8, 100])
def test_stores_in_a_row_take_what_the_hardware_takes(device: RtlSimulator, count: int) -> None:
    store = Store(dram_base=0x2000 // 4, y_size=1, x_size=count)
    program: list[Instruction] = [store, store, store, Finish()]
    assert of_the_hardware(device, program)[:-1] == of_the_model(program)[:-1]

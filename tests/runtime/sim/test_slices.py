"""Instructions that are done in slices: the same results wherever they are cut, and an interrupt is heard inside."""

import functools
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.encoding import encode_uop
from isa.instructions import Alu, AluOpcode, Finish, Gemm, Instruction, MemoryId, MicroOp
from isa.text.assembler import assemble
from runtime.devices import functional
from runtime.devices.functional import FunctionalSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.heartbeat import Heartbeat
from runtime.observe.timeline import Timeline
from runtime.session import Session
from runtime.sim import gemm, slices
from runtime.sim.build import Kernels, compile_kernels
from runtime.sim.code_path import CodePath, host_code_path
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program
from tests.support.runtime.engine_comparison import first_difference, run_reference
from tests.support.runtime.launching import MEMORY_LIMIT, encode_words, place_words


@functools.cache
def cut_kernels(config: VTAConfig, path: CodePath) -> Kernels:
    """Compile kernels, while what decides where they cut is patched."""
    return compile_kernels.__wrapped__(config, path)


@contextmanager
def cut_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Generate code that cuts every instruction wherever it can, and give it a budget of one operation."""
    with monkeypatch.context() as patch:
        patch.setattr(slices, "WHOLE", 0)
        patch.setattr(gemm, "_LOG_STEPS", 1)
        patch.setattr(gemm, "_STEPS", 2)
        patch.setattr(functional, "_OPERATIONS", 1)
        patch.setattr(functional, "compile_kernels", cut_kernels)
        yield


@pytest.mark.parametrize("name", ["default", "b2k16", "block32"])
def test_programs_in_the_smallest_slices_give_what_the_reference_gives(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cut_everywhere(monkeypatch):
        for index in range(12):
            program = random_program(np.random.default_rng([17, index]), CONFIGS[name])
            assert first_difference(program, host_code_path(), run_reference(program)) is None, index


@pytest.mark.parametrize(
    "instruction",
    [
        Gemm(uop_end=3, iter_out=5, iter_in=7, dst_factor_out=7, dst_factor_in=1, src_factor_in=2, wgt_factor_out=3),
        Gemm(uop_end=3, iter_out=5, iter_in=7, dst_factor_in=4, src_factor_out=2, wgt_factor_out=3),
        Gemm(uop_end=3, iter_out=5, iter_in=7, src_factor_in=2),
        Gemm(uop_end=3, iter_out=5, iter_in=7, dst_factor_out=7, dst_factor_in=1, reset=True),
        Alu(alu_opcode=AluOpcode.ADD, uop_end=3, iter_out=5, iter_in=7, dst_factor_out=7, dst_factor_in=1),
        Alu(alu_opcode=AluOpcode.ADD, uop_end=3, iter_out=5, iter_in=7, dst_factor_in=1, src_factor_in=1),
        Alu(alu_opcode=AluOpcode.MUL, use_imm=True, imm=3, uop_end=3, iter_out=5, iter_in=7, dst_factor_out=9),
    ],
    ids=["around", "steps outside", "one accumulator", "reset", "accumulators", "in order", "immediate"],
)
def test_an_instruction_goes_on_where_it_was_left(instruction: Instruction, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = after(instruction)
    with cut_everywhere(monkeypatch):
        cut = after(instruction)
    assert whole[1] == cut[1]
    np.testing.assert_array_equal(whole[0], cut[0])


def after(instruction: Instruction) -> tuple[np.ndarray, object]:
    """Return the accumulator and the counters after an instruction on numbers of all kinds."""
    config = VTAConfig()
    device = FunctionalSimulator(config, DeviceMemory(MEMORY_LIMIT))
    device.memory.alloc(1 << 20)
    rng = np.random.default_rng(3)
    device.memory.view(0x1000, 1 << 18)[:] = rng.integers(0, 256, 1 << 18)
    uops = [MicroOp(), MicroOp(dst=41, src=40), MicroOp(dst=3, src=5, wgt=2)]
    loads = "load.acc dram=0x40 x=512\nload.inp dram=0x100 x=512\nload.wgt dram=0x10 x=64\nload.uop dram=0x10000 x=3"
    program = assemble(f"{loads}\nfinish")
    device.memory.view(0x40000, 12).view("<u4")[:] = [encode_uop(uop, config) for uop in uops]
    work: list[Instruction] = [*program.instructions[:4], instruction, Finish()]
    placed = place_words(device.memory, encode_words(work, config))
    device.launch(placed.address, placed.count)
    return device.scratchpad(MemoryId.ACC), device.stats


def test_a_step_is_a_whole_instruction_however_many_slices_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    with cut_everywhere(monkeypatch):
        device = FunctionalSimulator(VTAConfig(), DeviceMemory(MEMORY_LIMIT))
        work: list[Instruction] = [Gemm(uop_end=1, iter_out=3, iter_in=40), Gemm(uop_end=1), Finish()]
        placed = place_words(device.memory, encode_words(work, VTAConfig()))
        device.start(placed.address, placed.count)
        assert [device.advance() for _ in range(3)] == [False, False, True]
        assert device.stats.gemm_counter == 121


class Interrupt(Exception):
    """What the alarm raises."""


@pytest.mark.parametrize(
    "line",
    [
        "gemm uop=0:8000 iter=16000,16000",
        "gemm uop=0:8000 iter=2000,16000 dst=1,0",
        "alu.add uop=0:8000 iter=16000,16000",
        "alu.add uop=0:8000 iter=16000,16000 imm=1",
    ],
)
def test_an_interrupt_is_heard_inside_an_instruction_that_takes_hours(line: str) -> None:
    def ring(_number: int, _frame: FrameType | None) -> None:
        raise Interrupt

    session = Session(VTAConfig(), "sim")
    timelines: list[Timeline] = []
    beats: list[Heartbeat | None] = []
    session.device.set_timeline(timelines.append)
    session.device.set_heartbeat(beats.append)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Interrupt):
            session.run_program(assemble(f"nop.load\n{line}\nfinish"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    [timeline] = timelines
    assert timeline.error == "Interrupt"
    assert timeline.begun.tolist() == [0, -1, -1]
    assert beats[-1] is None
    assert {beat.started for beat in beats if beat is not None} == {1}
    session.run_program(assemble("gemm uop=0:1 reset\nfinish"))
    assert timelines[-1].error is None

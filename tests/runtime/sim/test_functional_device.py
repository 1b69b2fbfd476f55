"""The functional simulator as a device: statistics, debug mode, and what it tells about itself."""

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Finish, Gemm, Instruction, Load, MemoryId, MicroOp, Store
from runtime.devices import functional
from runtime.devices.device import Device, DeviceDebug, DeviceError
from runtime.devices.functional import FunctionalSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.sim.code_path import CodePath, host_code_path
from tests.support.runtime.functional_rig import Rig
from tests.support.runtime.launching import MEMORY_LIMIT, encode_words, place_words


def test_it_is_a_device_and_takes_the_best_kernels_of_the_host() -> None:
    memory = DeviceMemory(MEMORY_LIMIT)
    simulator = FunctionalSimulator(VTAConfig(), memory)
    assert isinstance(simulator, Device)
    assert (simulator.name, simulator.config, simulator.memory) == ("sim", VTAConfig(), memory)
    assert simulator.code_path == host_code_path()


def test_counters_add_up_over_launches_until_they_are_cleared(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    base = rig.array(np.zeros(1024, np.uint8), MemoryId.INP)
    out = rig.room(64, MemoryId.OUT)
    work = (
        rig.micro_ops([MicroOp(), MicroOp(dst=1)]),
        Load(memory=MemoryId.INP, dram_base=base, y_size=2, x_size=3, x_stride=3, y_pad_0=1),
        Load(memory=MemoryId.WGT),
        Gemm(uop_end=2, iter_out=3, iter_in=5),
        Gemm(reset=True, uop_end=2, iter_out=3, iter_in=5),
        Alu(alu_opcode=AluOpcode.ADD, uop_end=1, iter_in=7),
        Store(dram_base=out, y_size=1, x_size=4),
        Store(),
    )
    launch = rig.launch(*work).statistics
    assert launch.as_dict() == {
        "inp_load_nbytes": 96,
        "wgt_load_nbytes": 0,
        "acc_load_nbytes": 0,
        "uop_load_nbytes": 8,
        "out_store_nbytes": 64,
        "gemm_counter": 30,
        "alu_counter": 7,
    }
    kinds = {name: count for name, count in launch.instructions.as_dict().items() if count}
    assert kinds == {
        "load_uop": 1,
        "load_inp": 1,
        "nop_load": 1,
        "gemm": 1,
        "gemm_reset": 1,
        "alu": 1,
        "store": 1,
        "nop_store": 1,
        "finish": 1,
    }
    rig.launch(*work)
    assert rig.simulator.stats == launch + launch
    assert rig.simulator.stats.launches == 2
    rig.simulator.clear_stats()
    assert rig.simulator.stats.as_dict() == dict.fromkeys(launch.as_dict(), 0)
    assert rig.simulator.stats.launches == 0


def test_skipping_execution_loads_micro_ops_and_counts_everything_else(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    numbers = rig.array(np.full(64, 0x55, np.uint8), MemoryId.INP)
    out = rig.array(np.full(16, 9, np.uint8), MemoryId.OUT)
    work = (
        rig.micro_ops([MicroOp(dst=1, src=2, wgt=3)]),
        Load(memory=MemoryId.INP, dram_base=numbers, y_size=1, x_size=4),
        Gemm(uop_end=1),
        Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=5, uop_end=1),
        Store(dram_base=out, y_size=1, x_size=1),
        # Out of range, but nobody looks.
        Gemm(uop_end=1, iter_in=3, dst_factor_in=2000),
    )
    rig.simulator.debug_mode(DeviceDebug.SKIP_EXEC)
    skipped = rig.launch(*work).statistics
    assert rig.simulator.scratchpad(MemoryId.UOP)[0] != 0
    assert not rig.simulator.scratchpad(MemoryId.INP).any()
    assert not rig.acc.any()
    assert rig.memory.view(out * 16, 16).tolist() == [9] * 16
    assert (skipped.inp_load_nbytes, skipped.out_store_nbytes) == (64, 16)
    assert (skipped.gemm_counter, skipped.alu_counter, skipped.instructions.total) == (4, 1, 7)
    rig.simulator.debug_mode(DeviceDebug.NONE)
    assert rig.launch(*work[:5]).statistics.gemm_counter == 1
    assert rig.acc[1].tolist() == [[5] * 16]


def test_memory_that_grows_after_the_simulator_was_made_can_be_reached(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    rig.launch()
    base = rig.array(np.full(1 << 20, 3, np.uint8), MemoryId.INP)
    last = base + (1 << 16) - 1
    rig.launch(Load(memory=MemoryId.INP, dram_base=last, y_size=1, x_size=1))
    assert rig.simulator.scratchpad(MemoryId.INP)[0].tolist() == [[3] * 16]


def test_two_simulators_of_one_configuration_share_code_and_nothing_else(code_path: CodePath) -> None:
    first, second = (Rig(VTAConfig(), code_path) for _ in range(2))
    ones = first.array(np.ones(16, np.int32), MemoryId.ACC)
    first.launch(Load(memory=MemoryId.ACC, dram_base=ones, y_size=1, x_size=1))
    second.launch()
    assert first.acc.any()
    assert not second.acc.any()
    assert second.simulator.stats.acc_load_nbytes == 0


def test_a_launch_can_be_run_step_by_step(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    ones = rig.array(np.ones(16, np.int32), MemoryId.ACC)
    add = Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=1, uop_end=1)
    program: list[Instruction] = [
        Load(memory=MemoryId.ACC, dram_base=ones, y_size=1, x_size=1),
        add,
        add,
        add,
        Finish(),
    ]
    placed = place_words(rig.memory, encode_words(program, rig.config))
    indices: list[int] = []
    rig.simulator.set_trace(lambda event: indices.append(event.index))
    rig.simulator.start(placed.address, placed.count)
    assert not rig.acc.any()
    seen = []
    while not rig.simulator.advance():
        seen.append(int(rig.acc[0, 0, 0]))
    assert seen == [1, 2, 3, 4]
    assert indices == [0, 1, 2, 3, 4]
    assert rig.simulator.stats.launches == 1
    rig.simulator.start(placed.address, placed.count)
    assert not rig.simulator.advance(4)
    assert rig.simulator.advance(100)
    assert rig.simulator.stats.alu_counter == 6


def test_there_is_nothing_to_advance_before_a_start_and_after_an_end(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    message = "no launch is in progress: start one first"
    with pytest.raises(DeviceError, match=message):
        rig.simulator.advance()
    rig.launch()
    with pytest.raises(DeviceError, match=message):
        rig.simulator.advance()
    with pytest.raises(DeviceError):
        rig.launch(Gemm(uop_end=8193))
    with pytest.raises(DeviceError, match=message):
        rig.simulator.advance()


def test_a_failed_launch_counts_what_it_executed(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    numbers = rig.array(np.zeros(64, np.uint8), MemoryId.INP)
    load = Load(memory=MemoryId.INP, dram_base=numbers, y_size=1, x_size=4)
    with pytest.raises(DeviceError):
        rig.launch(load, Gemm(uop_end=1), Gemm(uop_end=8193))
    stats = rig.simulator.stats
    assert (stats.inp_load_nbytes, stats.launches, stats.instructions.gemm, stats.instructions.total) == (64, 0, 1, 2)


def test_long_launches_run_in_slices(monkeypatch: pytest.MonkeyPatch, code_path: CodePath) -> None:
    monkeypatch.setattr(functional, "_INSTRUCTIONS", 3)
    rig = Rig(VTAConfig(), code_path)
    stats = rig.run(*[Load(memory=MemoryId.UOP)] * 10)
    assert stats.instruction_count == 11
    assert rig.simulator.stats == stats.statistics

"""The roofline of a launch: its multiply-accumulates, its bytes, and the roof above it."""

from pathlib import Path

import pytest

from isa.instructions import Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.program import MemoryImage, MemorySegment, Program
from tests.support.configs import CONFIGS
from tests.support.runtime.recorded_runs import record_programs, some_program
from vta.inspect.trace.roofline import Roofline, roofline


def test_a_launch_is_below_its_roof_and_counts_what_it_did(tmp_path: Path) -> None:
    header, [launch] = record_programs(tmp_path / "t", "tsim", some_program(3))
    found = roofline(launch, header.hardware)
    assert found is not None
    steps = sum(
        (i.uop_end - i.uop_bgn) * i.iter_out * i.iter_in
        for i in launch.instructions
        if isinstance(i, Gemm) and not i.reset
    )
    assert found.macs == steps * 256
    assert (found.peak, found.bandwidth, found.cycles) == (256, 8.0, launch.timeline.duration)
    assert found.read + found.written == launch.timeline.bursts.nbytes.sum()
    assert found.nbytes == max(found.read, found.written)
    assert 0 < found.achieved <= found.attainable


def test_a_launch_that_reads_and_writes_all_the_time_is_not_above_its_roof(tmp_path: Path) -> None:
    memory = MemoryImage(segments=(MemorySegment(address=0x1000, data=bytes(0x4000)),))
    words: list[Instruction] = [Load(memory=MemoryId.UOP, dram_base=0x400, x_size=1, y_size=1)]
    for turn in range(40):
        load = Load(memory=MemoryId.INP, dram_base=0x100, x_size=16, y_size=1, sram_base=16 * turn)
        words += [load, Store(dram_base=0x300, x_size=16, y_size=1), Gemm(uop_end=1, iter_in=18)]
    program = Program(config=CONFIGS["default"], instructions=(*words, Finish()), memory=memory)
    header, [launch] = record_programs(tmp_path / "t", "tsim", program)
    found = roofline(launch, header.hardware)
    assert found is not None
    assert min(found.read, found.written) > 0.7 * found.nbytes
    assert 0.7 * found.attainable < found.achieved <= found.attainable < found.peak


def test_without_a_clock_there_is_none(tmp_path: Path) -> None:
    header, [launch] = record_programs(tmp_path / "t", "sim", some_program(3))
    assert roofline(launch, header.hardware) is None


@pytest.mark.parametrize(("intensity", "attainable"), [(4, 32), (32, 256), (1000, 256)])
def test_the_roof_is_the_lower_of_bandwidth_and_peak(intensity: int, attainable: int) -> None:
    roof = Roofline(peak=256, bandwidth=8.0, macs=1000 * intensity, read=1000, written=900, cycles=10)
    assert roof.intensity == intensity
    assert roof.attainable == attainable

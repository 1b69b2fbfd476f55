"""The roofline of a launch: its multiply-accumulates, its bytes, and the roof above it."""

from pathlib import Path

import pytest

from isa.instructions import Gemm
from tests.support.recorded_runs import record_programs, some_program
from vta.trace.roofline import Roofline, roofline


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
    assert found.nbytes == launch.timeline.bursts.nbytes.sum()
    assert 0 < found.achieved <= found.attainable


def test_without_a_clock_there_is_none(tmp_path: Path) -> None:
    header, [launch] = record_programs(tmp_path / "t", "sim", some_program(3))
    assert roofline(launch, header.hardware) is None


@pytest.mark.parametrize(("intensity", "attainable"), [(4, 32), (32, 256), (1000, 256)])
def test_the_roof_is_the_lower_of_bandwidth_and_peak(intensity: int, attainable: int) -> None:
    roof = Roofline(peak=256, bandwidth=8.0, macs=1000 * intensity, nbytes=1000, cycles=10)
    assert roof.intensity == intensity
    assert roof.attainable == attainable

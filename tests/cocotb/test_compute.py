# amaranth: UnusedElaboratable=no
"""The load and the compute module as generated Verilog, at block 4."""

from pathlib import Path

import pytest

from tests.support.benches.cocotb_run import Build, run
from tests.support.benches.cocotb_suite import build_for

BENCH = "tests.cocotb.bench_compute"


@pytest.fixture(scope="module")
def compute(tmp_path_factory: pytest.TempPathFactory) -> Build:
    built, _ = build_for("compute", tmp_path_factory.mktemp("compute"))
    return built


def test_gemm(compute: Build) -> None:
    names = ["gemm_multiplies_accumulates_and_clears", "gemm_may_use_one_accumulator_in_every_cycle"]
    run(compute, BENCH, tests=names)


def test_alu(compute: Build) -> None:
    run(compute, BENCH, tests=["alu_combines_two_tensors_in_every_operation", "bytes_are_widened_with_their_sign"])


def test_br_002_immediates_are_signed_in_every_operation(compute: Build) -> None:
    run(compute, BENCH, tests="br_002_immediates_are_signed_in_every_operation")


def test_br_025_four_thousand_micro_ops_are_done_before_what_follows(compute: Build) -> None:
    run(compute, BENCH, tests="br_025_four_thousand_micro_ops_are_done_before_what_follows")


def test_br_026_accumulator_loads_pad_on_every_side(compute: Build) -> None:
    run(compute, BENCH, tests="br_026_accumulator_loads_pad_on_every_side")


def test_br_027_padded_rows_of_several_bursts_are_whole(compute: Build) -> None:
    run(compute, BENCH, tests="br_027_padded_rows_of_several_bursts_are_whole")


def test_br_030_an_accumulator_load_over_page_lines_is_split_there(compute: Build) -> None:
    run(compute, BENCH, tests="br_030_an_accumulator_load_over_page_lines_is_split_there")


def test_fused_steps(tmp_path: Path) -> None:
    run(*build_for("compute_fused", tmp_path))


def test_load_with_pads_and_strides(tmp_path: Path) -> None:
    built, bench = build_for("load", tmp_path)
    run(built, bench)

# amaranth: UnusedElaboratable=no
"""The store module as generated Verilog, behind AXI write channels that stall."""

from pathlib import Path

import pytest

from isa.machine.hardware_config import HardwareConfig
from tests.support.benches.cocotb_run import Build, run
from tests.support.benches.cocotb_suite import build_for

BENCH = "tests.cocotb.bench_store"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Build:
    built, _ = build_for("store_to_memory", tmp_path_factory.mktemp("store"))
    return built


def test_br_030_a_store_over_a_page_line_is_split_there(store: Build) -> None:
    run(store, BENCH, tests="br_030_a_store_over_a_page_line_is_split_there")


def test_br_031_data_stay_while_they_are_not_taken(store: Build) -> None:
    run(store, BENCH, tests="br_031_data_stay_while_they_are_not_taken")


def test_br_032_no_burst_is_a_beat_too_long(store: Build) -> None:
    run(store, BENCH, tests="br_032_no_burst_is_a_beat_too_long")


def test_late_responses_and_addresses_change_nothing(store: Build) -> None:
    run(store, BENCH, tests="late_responses_and_addresses_change_nothing")


def test_stores_follow_each_other_and_each_pushes_and_pops_once(store: Build) -> None:
    run(store, BENCH, tests="stores_follow_each_other_and_each_pushes_and_pops_once")


def test_a_bus_as_wide_as_a_tile_stores_the_same(tmp_path: Path) -> None:
    built, bench = build_for("store_to_memory", tmp_path, hardware=HardwareConfig(data_width=128))
    run(built, bench, tests=["br_030_a_store_over_a_page_line_is_split_there", "br_032_no_burst_is_a_beat_too_long"])

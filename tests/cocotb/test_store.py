# amaranth: UnusedElaboratable=no
"""The store module as generated Verilog, behind AXI write channels that stall."""

from dataclasses import asdict
from pathlib import Path

import pytest

from hw.config import HardwareConfig
from isa.config import VTAConfig
from tests.support.cocotb_designs import StoreToMemory
from tests.support.cocotb_run import Build, build, run

BENCH = "tests.cocotb.bench_store"


def built(folder: Path, data_width: int) -> Build:
    """Compile the default configuration's store module for a memory port of ``data_width`` bits."""
    hardware = HardwareConfig(data_width=data_width)
    given = {"vta": VTAConfig().to_dict(), **asdict(hardware)}
    return build(StoreToMemory(VTAConfig(), hardware), top="store_to_memory", folder=folder, given=given)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return built(tmp_path_factory.mktemp("store"), 64)


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
    run(
        built(tmp_path, 128),
        BENCH,
        tests=["br_030_a_store_over_a_page_line_is_split_there", "br_032_no_burst_is_a_beat_too_long"],
    )

# amaranth: UnusedElaboratable=no
"""Every bench passes in both simulators, whether it sets inputs at the falling or at the rising edge of the clock.

The other tests here run them under Icarus with inputs set at the falling edge.
"""

from pathlib import Path

import pytest

from tests.support.benches.cocotb_run import SimulatorName, run
from tests.support.benches.cocotb_suite import BENCHES, build_for

ROOT = Path(__file__).parents[2]
EDGES = ("falling", "rising")


@pytest.mark.parametrize("drive_on", EDGES)
def test_br_044_the_shortest_bench_passes_on_both_edges(tmp_path: Path, drive_on: str) -> None:
    built, bench = build_for("token_queue", tmp_path)
    run(built, bench, drive_on=drive_on)


@pytest.mark.long
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
@pytest.mark.parametrize("top", BENCHES)
def test_br_044_every_bench_passes_on_both_edges_in_both_simulators(
    tmp_path: Path, top: str, simulator: SimulatorName
) -> None:
    built, bench = build_for(top, tmp_path, simulator=simulator)
    for drive_on in EDGES:
        run(built, bench, drive_on=drive_on)


def test_br_044_every_bench_of_a_module_is_among_them() -> None:
    files = {path.stem for path in (ROOT / "tests" / "cocotb").glob("bench_*.py")}
    assert files == {row.bench for row in BENCHES.values()} | {"bench_axi_top", "bench_axi_errors"}


def test_br_044_no_bench_waits_for_time_instead_of_an_edge() -> None:
    for path in (ROOT / "tests" / "cocotb").glob("bench_*.py"):
        assert "Timer" not in path.read_text(encoding="utf-8"), path.name

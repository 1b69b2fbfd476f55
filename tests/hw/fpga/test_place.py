import json
import sys
from pathlib import Path

import pytest

from hw.fpga import place
from hw.fpga.arrivals import Late
from hw.fpga.place import FpgaError, Placed, missing_tools, place_ecp5, read_report
from hw.fpga.report import Mapped, mapped_lines, placed_lines

REPORT = {
    "fmax": {"clk": {"achieved": 61.5, "constraint": 100}, "slow": {"achieved": 41.25, "constraint": 10}},
    "utilization": {
        "TRELLIS_COMB": {"used": 1200, "available": 83640},
        "TRELLIS_FF": {"used": 700, "available": 83640},
        "MULT18X18D": {"used": 28, "available": 156},
        "DP16KD": {"used": 0, "available": 208},
    },
    "critical_paths": [
        {
            "path": [
                {"delay": 0.5, "from": {"cell": "design.core.fetch.word_FF"}},
                {"delay": 1.25, "from": {"cell": "design.core.fetch.check.x"}},
                {"delay": 0.754, "from": {"cell": "design.core.fetch.other"}},  # hundredths are told
            ]
        }
    ],
}

SCRIPT = """#!{python}
import pathlib, sys
text = pathlib.Path("given.json").read_text()
arguments = sys.argv[1:]
pathlib.Path("arguments.txt").write_text(" ".join(arguments))
if not text:
    sys.exit("ERROR: no cells\\nsomething else")
pathlib.Path(arguments[arguments.index("--report") + 1]).write_text(text)
"""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tool in place of nextpnr: it answers with ``given.json`` of its folder, and fails without contents there."""
    script = tmp_path / "nextpnr"
    script.write_text(SCRIPT.format(python=sys.executable))
    script.chmod(0o755)
    monkeypatch.setattr(place, "_nextpnr", lambda: str(script))
    (tmp_path / "design.json").write_text("{}")
    return tmp_path


def test_a_report_says_the_slowest_clock_the_cells_and_the_time_in_each_module(tool: Path) -> None:
    (tool / "given.json").write_text(json.dumps(REPORT))
    placed = place_ecp5(tool / "design.json", device="85k", speed=6, mhz=80, seed=3)
    assert placed == read_report(tool / "report.json")
    assert placed.mhz == 41.25
    assert (placed.lut, placed.ff, placed.dsp, placed.bram) == (1200, 700, 28, 0)
    assert placed.critical == (("design.core.fetch", 2.5),)  # three parts of a name at most
    arguments = (tool / "arguments.txt").read_text()
    assert arguments.startswith("--85k --speed 6 ")
    assert "--freq 80 --seed 3" in arguments


def test_a_tool_that_fails_is_an_error_with_its_message(tool: Path) -> None:
    (tool / "given.json").write_text("")
    with pytest.raises(FpgaError, match=r"^place and route: nextpnr failed with code 1: no cells$"):
        place_ecp5(tool / "design.json", device="85k", speed=6, mhz=80)


ROUTER = """#!{python}
steps = 0
while True:
    steps += 1000
    left = max(700, 900 - steps // 1000)
    print(f"Info: {{steps:10}} |     9     9 |   9   9 |{{left:10}}|   1.00   1.00|", flush=True)
"""


def test_a_router_that_does_not_get_on_is_ended(tool: Path) -> None:
    (tool / "nextpnr").write_text(ROUTER.format(python=sys.executable))
    with pytest.raises(FpgaError, match=r"^place and route: nextpnr: .* 700 connections were left after 200,000 steps"):
        place_ecp5(tool / "design.json", device="85k", speed=6, mhz=80)
    assert " 300000 |" in (tool / "nextpnr.log").read_text().splitlines()[-1]


def test_a_missing_tool_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_nextpnr", lambda: None)
    expected = "nextpnr-ecp5: pip install 'vta-toolchain[fpga]', or Debian's nextpnr-ecp5"
    assert missing_tools() == (expected,)
    with pytest.raises(FpgaError) as caught:
        place_ecp5(tmp_path / "design.json", device="85k", speed=6, mhz=80)
    assert str(caught.value) == f"place and route: {expected}"


def test_a_report_has_cells_clock_path_and_levels_and_what_is_late() -> None:
    cells = {"TRELLIS_COMB": 1200, "TRELLIS_FF": 700, "MULT18X18D": 28, "DP16KD": 3}
    placed = Placed(61.54, cells, (("design.core.fetch", 1.25),))
    assert list(placed_lines(placed)) == [
        "LUT 1,200, FF 700, multipliers 28, block RAMs 3",
        "Fmax 61.5 MHz",
        "critical path:",
        "    1.25 ns  design.core.fetch",
    ]
    late = Late(11.617, "design.core.fetch.word.DI", 128, ("design.core.load.left", "design.core.fetch.next"))
    mapped = Mapped(Path("design.json"), {"LUT4": 1100, "CCU2C": 50}, {"core.fetch": 4, "core.load": 9}, (late,))
    assert list(mapped_lines(mapped)) == [
        "mapped: LUT4 1,100, carries 50, LUT-RAMs 0, FF 0, multipliers 0, block RAMs 0",
        "levels of logic, most of a path that ends in the module:",
        "    9  core.load",
        "    4  core.fetch",
        "latest registers (bits), estimated before placement for speed grade 6, and where their paths begin:",
        "   11.62 ns  core.fetch.word.DI (128), from core.load.left",
    ]

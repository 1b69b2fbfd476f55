"""What is written for boards with an ECP5, and how the tools are run; LiteX itself in the long tests."""

import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hw.fpga import place
from hw.fpga.boards import litex_project
from hw.fpga.boards.litex_project import (
    Clock,
    clocks_of,
    make_bitstream,
    missing_for_litex,
    slow_clocks,
    write_litex_project,
)
from hw.fpga.boards.table import BOARDS, LiteXBoard, board_called
from hw.fpga.place import FpgaError
from hw.verilog.yosys import run_yosys
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig


def litex_board(name: str) -> LiteXBoard:
    board = board_called(name)
    assert isinstance(board, LiteXBoard)
    return board


ECPIX5 = litex_board("ecpix5")
SMALL = VTAConfig(log_block=2, log_uop_buff_size=11, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14)
REPORT = {
    "fmax": {"sys_clk": {"achieved": 61.5, "constraint": 60.0}, "eth_clk": {"achieved": 99.0, "constraint": 125.0}},
    "utilization": {"TRELLIS_COMB": {"used": 1200, "available": 83640}},
    "critical_paths": [{"path": []}],
}


def tool(file: Path, *lines: str) -> str:
    """Write a program of Python and return its name."""
    file.write_text("\n".join([f"#!{sys.executable}", *lines]) + "\n")
    file.chmod(0o755)
    return str(file)


def test_everything_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litex_project, "find_spec", lambda name: None if name in ("liteeth", "pyosys") else name)
    monkeypatch.setattr(litex_project, "installed_tool", lambda *_: None)
    monkeypatch.setattr(litex_project, "missing_tools", lambda: ("nextpnr",))
    assert missing_for_litex() == (
        "liteeth: pip install 'vta-toolchain[board]'",
        "pyosys: pip install 'vta-toolchain[board]'",
        "ecppack: pip install 'vta-toolchain[board]'",
        "nextpnr",
    )


def test_a_project_that_litex_refuses_is_an_error_with_its_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(litex_project, "to_verilog", lambda *_, **__: "")
    monkeypatch.setattr(sys, "executable", tool(tmp_path / "python", "print('first')", "raise SystemExit('no region')"))
    with pytest.raises(FpgaError) as error:
        write_litex_project(ECPIX5, SMALL, HardwareConfig(), folder=tmp_path, mhz=60, ip="10.0.0.2")
    assert str(error.value) == "LiteX failed with code 1: no region (all of it: litex.log)"
    assert (tmp_path / "litex.log").read_text() == "first\nno region\n"
    assert not (tmp_path / "board.json").exists()  # the folder is no board's


def test_a_project_that_takes_for_ever_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litex_project, "to_verilog", lambda *_, **__: "")
    monkeypatch.setattr(litex_project, "_SECONDS", 0.2)
    monkeypatch.setattr(sys, "executable", tool(tmp_path / "python", "import time", "time.sleep(30)"))
    with pytest.raises(FpgaError, match=r"^LiteX did not write the project within 0\.2 s$"):
        write_litex_project(ECPIX5, SMALL, HardwareConfig(), folder=tmp_path, mhz=60, ip="10.0.0.2")
    assert not (tmp_path / "board.json").exists()


def test_what_a_driver_must_know_is_there_when_all_else_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litex_project, "to_verilog", lambda *_, **__: "")
    litex = tool(
        tmp_path / "python",
        "import json, pathlib, sys",
        "file = pathlib.Path(sys.argv[-1])",
        "pathlib.Path('seen').write_text(' '.join(path.name for path in pathlib.Path().iterdir()))",
        "pathlib.Path('csr.json').write_text('{}')",
        "file.write_text(json.dumps({**json.loads(file.read_text()), 'clock': 7}))",
    )
    monkeypatch.setattr(sys, "executable", litex)

    def interrupted(_: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(litex_project, "_tidy", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_litex_project(ECPIX5, SMALL, HardwareConfig(), folder=tmp_path, mhz=60, ip="10.0.0.2")
    assert "board.json" not in (tmp_path / "seen").read_text().split()
    assert not (tmp_path / "board.json").exists()
    write_litex_project(ECPIX5, SMALL, HardwareConfig(), folder=tmp_path, mhz=60, ip="10.0.0.2")
    facts = facts_of(tmp_path)
    assert (facts["board"], facts["clock"], facts["vta"]) == ("ecpix5", 7, SMALL.to_dict())
    assert not list(tmp_path.glob("unfinished*"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with tools that note how they were called; nextpnr has a report."""
    gateware = tmp_path / "gateware"
    gateware.mkdir()
    (gateware / "top.ys").write_text("read_verilog top.v\n\nsynth_ecp5  -top top\n")
    monkeypatch.setattr(litex_project, "run_yosys", lambda *script, folder: "|".join([*script, folder.name]))
    note = "pathlib.Path({!r}).write_text(' '.join(sys.argv[1:]))"
    report = f"pathlib.Path('report.json').write_text({json.dumps(REPORT)!r})"
    nextpnr = tool(tmp_path / "nextpnr", "import pathlib, sys", note.format("nextpnr.txt"), report)
    ecppack = tool(
        tmp_path / "ecppack",
        "import pathlib, sys",
        note.format("ecppack.txt"),
        "for name in sys.argv[4::2]: pathlib.Path(name).write_text('half')",
        "if pathlib.Path('bad').exists(): sys.exit('ERROR: bad configuration')",
    )
    monkeypatch.setattr(place, "_nextpnr", lambda: nextpnr)
    monkeypatch.setattr(litex_project, "installed_tool", lambda *_: ecppack)
    return tmp_path


def test_a_bitstream_is_synthesised_placed_and_packed_as_the_project_says(project: Path) -> None:
    placed = make_bitstream(ECPIX5, project, seed=7)
    gateware = project / "gateware"
    assert placed.lut == 1200
    assert (gateware / "yosys.log").read_text() == "read_verilog top.v|synth_ecp5  -top top|gateware"
    routed = (gateware / "nextpnr.txt").read_text()
    assert routed.startswith("--um5g-85k --package CABGA554 --speed 8 --lpf top.lpf --textcfg top.config --seed 7 ")
    assert routed.endswith(" --json top.json --timing-allow-fail --report report.json")
    assert (gateware / "ecppack.txt").read_text() == ("--compress top.config --svf unfinished.svf --bit unfinished.bit")
    assert (gateware / "top.svf").read_text() == (gateware / "top.bit").read_text() == "half"
    assert not list(gateware.glob("unfinished*"))


def test_a_packer_that_fails_is_an_error_with_its_message(project: Path) -> None:
    (project / "gateware" / "bad").touch()
    with pytest.raises(FpgaError, match=r"^the bitstream: ecppack failed with code 1: bad configuration$"):
        make_bitstream(ECPIX5, project, seed=1)
    assert not (project / "gateware" / "top.bit").exists()
    assert not (project / "gateware" / "top.svf").exists()


def test_a_missing_packer_is_named_before_anything_runs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litex_project, "installed_tool", lambda *_: None)
    with pytest.raises(FpgaError) as error:
        make_bitstream(ECPIX5, project, seed=1)
    expected = "the bitstream needs ecppack: pip install 'vta-toolchain[board]'"
    assert str(error.value) == expected
    assert not (project / "gateware" / "yosys.log").exists()


def test_a_clock_is_too_slow_below_what_is_asked_for() -> None:
    clocks = clocks_of(REPORT)
    assert clocks == [Clock("eth_clk", 99.0, 125.0), Clock("sys_clk", 61.5, 60.0)]
    assert slow_clocks([*clocks, Clock("exact", 10.0, 10.0)]) == [Clock("eth_clk", 99.0, 125.0)]


def test_the_script_can_be_looked_at_without_litex(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("litex", "litex_boards", "litedram", "liteeth", "migen"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "hw.fpga.boards.litex_soc", raising=False)
    script = importlib.import_module("hw.fpga.boards.litex_soc")
    assert set(script.BOARDS) == {"simulated", *(board.name for board in BOARDS if isinstance(board, LiteXBoard))}


# ---- with LiteX


@pytest.fixture(scope="module", params=["ecpix5", "ulx3s"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    if find_spec("litex") is None:
        pytest.skip("LiteX is not installed: pip install 'vta-toolchain[board]'")
    folder = tmp_path_factory.mktemp("project")
    board = litex_board(request.param)
    write_litex_project(board, SMALL, HardwareConfig(), folder=folder, mhz=board.mhz, ip="10.0.0.2")
    return request.param, folder


def facts_of(folder: Path) -> Mapping[str, Any]:
    return json.loads((folder / "board.json").read_text())


@pytest.mark.long
def test_a_project_says_what_a_driver_must_know(written: tuple[str, Path]) -> None:
    name, folder = written
    facts = facts_of(folder)
    memory = facts["memory"]
    assert VTAConfig.from_dict(facts["vta"], where="board.json") == SMALL
    assert HardwareConfig(**facts["hardware"]) == HardwareConfig()
    assert (memory["origin"], memory["bytes"]) == (1 << 30, (512 if name == "ecpix5" else 32) << 20)
    assert (memory["delays"], memory["bitslips"]) == ((8, 4) if name == "ecpix5" else (0, 0))
    assert facts["clock"] == board_called(name).mhz * 1e6
    registers = json.loads((folder / "csr.json").read_text())["csr_registers"]
    assert {"vta_launches", "sdram_dfii_control", "sdram_dfii_pi0_command_issue"} <= set(registers)


@pytest.mark.long
def test_a_project_is_whole_and_may_be_moved(written: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = written
    moved = folder.rename(tmp_path / "moved")
    try:
        gateware = moved / "gateware"
        script = (gateware / "top.ys").read_text()
        assert "/" not in "".join(line for line in script.splitlines() if line.startswith("read_"))
        # Every port that the system joins is one of the accelerator, and all it consists of is there.
        reads = [line for line in script.splitlines() if line.startswith("read_")]
        ecp5 = "read_verilog -lib -specify +/lattice/cells_sim_ecp5.v +/lattice/cells_bb_ecp5.v"
        run_yosys(*reads, ecp5, "hierarchy -check -top top", folder=gateware)
        pins = (gateware / "top.lpf").read_text()
        assert ("ddram_dq[15]" if name == "ecpix5" else "sdram_dq[15]") in pins
        assert ("eth_tx_data" in pins) == (name == "ecpix5")
    finally:
        moved.rename(folder)


@pytest.mark.long
def test_the_script_of_a_project_runs_the_tools_of_debian(written: tuple[str, Path]) -> None:
    script = (written[1] / "gateware" / "build_top.sh").read_text()
    assert "yosys " in script
    assert "nextpnr-ecp5 --json top.json" in script
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)


TINY = """
module top(input clk, output led);
  reg [25:0] count;
  always @(posedge clk) count <= count + 1;
  assign led = count[25];
endmodule
"""


@pytest.mark.long
def test_a_small_project_becomes_a_bitstream_with_the_tools_themselves(tmp_path: Path) -> None:
    missing = missing_for_litex()
    if missing:
        pytest.skip(f"missing: {', '.join(missing)}")
    gateware = tmp_path / "gateware"
    gateware.mkdir()
    (gateware / "top.v").write_text(TINY)
    (gateware / "top.ys").write_text("read_verilog top.v\nsynth_ecp5 -top top\nwrite_json top.json\n")
    pins = [f'LOCATE COMP "{name}" SITE "{site}";' for name, site in (("clk", "K23"), ("led", "T23"))]
    (gateware / "top.lpf").write_text("\n".join([*pins, 'FREQUENCY PORT "clk" 100 MHz;']) + "\n")
    placed = make_bitstream(ECPIX5, tmp_path, seed=1)
    assert (placed.ff, placed.dsp, placed.bram) == (26, 0, 0)
    [clock] = clocks_of(json.loads((gateware / "report.json").read_text()))
    assert clock.wanted == pytest.approx(100, rel=0.01)
    assert clock.reached > 100
    assert b"Part: LFE5UM5G-85F-8CABGA554" in (gateware / "top.bit").read_bytes()[:200]
    assert (gateware / "top.svf").stat().st_size > 10_000

# amaranth: UnusedElaboratable=no
"""What is written for boards with a Zynq: Verilog that is whole, and scripts that a Tcl interpreter can run."""

import json
import re
from pathlib import Path

import pytest

from hw.fpga.boards import vivado_project
from hw.fpga.boards.table import VivadoBoard, board_called
from hw.fpga.boards.vivado_project import write_vivado_project
from hw.verilog.yosys import run_yosys
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig

SMALL = VTAConfig(log_block=2, log_uop_buff_size=11, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14)
AXI3 = HardwareConfig(axi3=1, max_burst_beats=16)
COMMANDS = """create_project read_verilog update_compile_order ipx::package_project ipx::create_xgui_files
    ipx::update_checksums ipx::check_integrity ipx::save_core close_project set_property update_ip_catalog
    create_bd_design
    create_bd_intf_port connect_bd_intf_net connect_bd_net assign_bd_address validate_bd_design save_bd_design add_files
    launch_runs wait_on_run open_run report_utilization report_timing_summary write_hw_platform"""
"""Of Vivado; what they return is not looked at."""

FAKES = """
namespace eval ipx {}
set calls {}
proc noted {name arguments} {global calls; lappend calls [concat $name $arguments]}
foreach name {%s} {proc $name {args} "noted $name \\$args"}
foreach name {current_project current_fileset get_runs get_timing_paths get_files make_wrapper get_bd_intf_ports
        get_bd_intf_pins get_bd_pins get_bd_addr_segs ipx::current_core} {
    proc $name {args} "return \\[concat $name \\$args\\]"
}
proc create_bd_cell {args} {noted create_bd_cell $args; return [lindex $args end]}
proc get_property {name where} {
    global slack progress
    return [dict get [dict create PROGRESS $progress STATUS {route_design ERROR} DIRECTORY runs SLACK $slack] $name]
}
rename file real_file
proc file {command args} {if {$command eq "copy"} {noted copy $args} else {real_file $command {*}$args}}
set argv0 build.tcl
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[VivadoBoard, Path]:
    folder = tmp_path_factory.mktemp("project")
    board = board_called("pynq-z1")
    assert isinstance(board, VivadoBoard)
    write_vivado_project(board, SMALL, AXI3, folder=folder, mhz=90)
    return board, folder


def run_build(folder: Path, *, slack: str = "0.25", progress: str = "100%") -> list[tuple[str, ...]]:
    """Run build.tcl with commands that note how they are called; return the calls."""
    tkinter = pytest.importorskip("tkinter", reason="Tcl is not installed; Debian: apt-get install python3-tk")
    tcl = tkinter.Tcl()
    tcl.eval(FAKES % COMMANDS.replace("\n", " "))
    tcl.setvar("slack", slack)
    tcl.setvar("progress", progress)
    tcl.eval(f"source {{{folder / 'build.tcl'}}}")
    return [tuple(map(str, tcl.splitlist(call))) for call in tcl.splitlist(tcl.eval("set calls"))]


def test_the_script_makes_the_ip_the_design_and_the_bitstream(written: tuple[VivadoBoard, Path]) -> None:
    board, folder = written
    calls = run_build(folder)
    names = [call[0] for call in calls]
    assert names.index("ipx::save_core") < names.index("create_bd_design") < names.index("launch_runs")
    assert names[-1] == "write_hw_platform"
    assert ("create_project", "system", str(folder / "build"), "-part", "xc7z020clg400-1", "-force") in calls
    [settings] = [call for call in calls if "CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ" in str(call)]
    pairs = settings[2]
    assert "CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ 90 " in pairs
    assert f"CONFIG.PCW_UIPARAM_DDR_PARTNO {{{board.dram}}} " in pairs
    wires = {
        frozenset(re.findall(r"[\w/]+/[\w]+|DDR|FIXED_IO", " ".join(call[1:]))) for call in calls if "_net" in call[0]
    }
    for pair in (("ps/M_AXI_GP0", "registers/S_AXI"), ("registers/M_AXI", "vta/s_axil"), ("vta/m_axi", "ps/S_AXI_HP0"),
                 ("ps/FCLK_CLK0", "vta/aclk"), ("reset/peripheral_aresetn", "vta/aresetn"), ("vta/irq", "ps/IRQ_F2P"),
                 ("ps/FCLK_CLK0", "ps/S_AXI_HP0_ACLK"), ("ps/FCLK_RESET0_N", "reset/ext_reset_in")):  # fmt: skip
        assert frozenset(pair) in wires
    assert ("assign_bd_address", "-offset", "0x43c00000", "-range", "4K", "get_bd_addr_segs vta/s_axil/*") in calls
    copies = [call for call in calls if call[0] == "copy"]
    assert copies == [("copy", "-force", "runs/system_wrapper.bit", str(folder / "vta.bit"))]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slack": "-0.5"}, r"the bitstream is too slow for 90 MHz by 0.5 ns (timing.txt); build with a lower --mhz"),
        ({"progress": "63%"}, "the implementation failed: route_design ERROR"),
    ],
)
def test_the_script_ends_with_an_error_where_the_bitstream_is_none(
    written: tuple[VivadoBoard, Path], options: dict[str, str], message: str
) -> None:
    with pytest.raises(Exception, match=f"^{re.escape(message)}$"):
        run_build(written[1], **options)


def test_every_port_of_the_wrapper_is_one_of_the_accelerator_and_named_for_vivado(
    written: tuple[VivadoBoard, Path],
) -> None:
    _, folder = written
    run_yosys("read_verilog vta.v vta_zynq.v", "hierarchy -check -top vta_zynq", "proc", "check -assert", folder=folder)
    text = (folder / "vta_zynq.v").read_text()
    ports = re.findall(r"^  (?:input|output) wire (?:\[(\d+):0\] )?(\w+)", text, re.MULTILINE)
    named = re.findall(r'X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 (\w+) (\w+)"', text)
    assert [f"{bus}_{role.lower()}" for bus, role in named] == [name for _, name in ports][3:]
    widths = {name: int(high or 0) + 1 for high, name in ports}
    assert (widths["m_axi_awlen"], widths["m_axi_arlock"], widths["m_axi_wid"]) == (4, 2, 1)
    assert (widths["s_axil_awaddr"], widths["m_axi_rdata"]) == (12, 64)
    assert text.count("PROTOCOL AXI3, DATA_WIDTH 64") == text.count("PROTOCOL AXI4LITE, DATA_WIDTH 32") == 1
    assert ".rst(~aresetn)" in text


def test_the_overlay_has_the_registers_their_interrupt_and_memory(written: tuple[VivadoBoard, Path]) -> None:
    text = (written[1] / "vta.dtso").read_text()
    assert text.count("{") == text.count("}") == 4
    for line in ('compatible = "generic-uio";', "reg = <0x43c00000 0x1000>;", "interrupts = <0 29 4>;",
                 'compatible = "ikwzm,u-dma-buf";', 'device-name = "udmabuf-vta";', "size = <0x4000000>;"):  # fmt: skip
        assert line in text


def test_the_project_says_which_configurations_it_is_of(written: tuple[VivadoBoard, Path]) -> None:
    board, folder = written
    facts = json.loads((folder / "board.json").read_text())
    assert (facts["board"], facts["mhz"], facts["registers"]) == (board.name, 90, 0x43C0_0000)
    assert VTAConfig.from_dict(facts["vta"], where="board.json") == SMALL
    assert HardwareConfig(**facts["hardware"]) == AXI3


def test_boards_differ_in_their_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vivado_project, "to_verilog", lambda *_, **__: "")
    board = board_called("arty-z7")
    assert isinstance(board, VivadoBoard)
    write_vivado_project(board, SMALL, AXI3, folder=tmp_path, mhz=100)
    script = (tmp_path / "build.tcl").read_text()
    assert "CONFIG.PCW_UIPARAM_DDR_PARTNO {MT41K256M16 RE-125} " in script
    assert "CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ 100 " in script


def test_what_a_driver_must_know_is_written_when_all_else_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str]] = []

    def interrupted(file: Path, _: bytes) -> None:
        assert file == tmp_path / "board.json"
        seen.append({path.name for path in tmp_path.iterdir()})
        raise KeyboardInterrupt

    monkeypatch.setattr(vivado_project, "to_verilog", lambda *_, **__: "")
    monkeypatch.setattr(vivado_project, "write_whole", interrupted)
    board = board_called("pynq-z1")
    assert isinstance(board, VivadoBoard)
    with pytest.raises(KeyboardInterrupt):
        write_vivado_project(board, SMALL, AXI3, folder=tmp_path, mhz=100)
    [names] = seen
    assert {"vta.v", "package_ip.tcl", "build.tcl", "vta.xdc", "vta.dtso"} < names
    assert "board.json" not in names

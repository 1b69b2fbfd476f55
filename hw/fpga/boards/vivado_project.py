"""A project for boards with a Zynq-7000: what Vivado runs to make a bitstream, and what Linux must know of it.

Vivado is not free software and nothing here runs it; a Tcl interpreter runs the scripts with Vivado's commands noted
(``tests/hw/fpga/boards/test_vivado_project.py``). Nobody has tried them in Vivado yet.
"""

import json
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from hw.fpga.boards.table import VivadoBoard
from hw.fpga.boards.zynq_wrapper import NAME, zynq_wrapper
from hw.verilog import to_verilog
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.whole_file import write_whole

__all__ = ["DMA_BYTES", "REGISTERS", "missing_for_vivado", "write_vivado_project"]

REGISTERS = 0x43C0_0000
"""Where the registers are in the processor's address space."""

DMA_BYTES = 64 << 20
"""Memory that u-dma-buf gives to the accelerator."""

_INTERRUPT = 29
"""IRQ_F2P[0] is shared peripheral interrupt 61; device trees count from 32."""

_PACKAGE = """# Packages the accelerator as an IP in the folder "ip". build.tcl sources this.
set here [file dirname [file normalize [info script]]]
create_project -in_memory -part {part}
read_verilog [list [file join $here vta.v] [file join $here {name}.v]]
set_property top {name} [current_fileset]
update_compile_order -fileset sources_1
ipx::package_project -root_dir [file join $here ip] -vendor vta-toolchain -library user -taxonomy /UserIP \\
    -import_files -force
set core [ipx::current_core]
set_property name {name} $core
set_property display_name {{{title}}} $core
set_property supported_families {{zynq Production}} $core
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::check_integrity $core
ipx::save_core $core
close_project
"""

_BUILD = """# Makes vta.bit and vta.xsa: vivado -mode batch -source build.tcl
set here [file dirname [file normalize [info script]]]
source [file join $here package_ip.tcl]
create_project system [file join $here build] -part {part} -force
set_property ip_repo_paths [file join $here ip] [current_project]
update_ip_catalog

create_bd_design system
set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7 ps]
set_property -dict [list \\
    CONFIG.PCW_CRYSTAL_PERIPHERAL_FREQMHZ {crystal:g} \\
    CONFIG.PCW_UIPARAM_DDR_PARTNO {{{dram}}} \\
    CONFIG.PCW_UIPARAM_DDR_BUS_WIDTH {{{dram_bits} Bit}} \\
    CONFIG.PCW_UART0_PERIPHERAL_ENABLE 1 \\
    CONFIG.PCW_UART0_UART0_IO {{MIO 14 .. 15}} \\
    CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ {mhz:g} \\
    CONFIG.PCW_USE_M_AXI_GP0 1 \\
    CONFIG.PCW_USE_S_AXI_HP0 1 \\
    CONFIG.PCW_S_AXI_HP0_DATA_WIDTH 64 \\
    CONFIG.PCW_USE_FABRIC_INTERRUPT 1 \\
    CONFIG.PCW_IRQ_F2P_INTR 1 \\
] $ps
set vta [create_bd_cell -type ip -vlnv vta-toolchain:user:{name} vta]
set reset [create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset reset]
set registers [create_bd_cell -type ip -vlnv xilinx.com:ip:axi_protocol_converter registers]
set_property -dict [list CONFIG.SI_PROTOCOL AXI3 CONFIG.MI_PROTOCOL AXI4LITE] $registers

create_bd_intf_port -mode Master -vlnv xilinx.com:interface:ddrx_rtl:1.0 DDR
create_bd_intf_port -mode Master -vlnv xilinx.com:display_processing_system7:fixedio_rtl:1.0 FIXED_IO
connect_bd_intf_net [get_bd_intf_ports DDR] [get_bd_intf_pins ps/DDR]
connect_bd_intf_net [get_bd_intf_ports FIXED_IO] [get_bd_intf_pins ps/FIXED_IO]
connect_bd_intf_net [get_bd_intf_pins ps/M_AXI_GP0] [get_bd_intf_pins registers/S_AXI]
connect_bd_intf_net [get_bd_intf_pins registers/M_AXI] [get_bd_intf_pins vta/s_axil]
connect_bd_intf_net [get_bd_intf_pins vta/m_axi] [get_bd_intf_pins ps/S_AXI_HP0]
foreach pin {{vta/aclk registers/aclk reset/slowest_sync_clk ps/M_AXI_GP0_ACLK ps/S_AXI_HP0_ACLK}} {{
    connect_bd_net [get_bd_pins ps/FCLK_CLK0] [get_bd_pins $pin]
}}
connect_bd_net [get_bd_pins ps/FCLK_RESET0_N] [get_bd_pins reset/ext_reset_in]
foreach pin {{vta/aresetn registers/aresetn}} {{
    connect_bd_net [get_bd_pins reset/peripheral_aresetn] [get_bd_pins $pin]
}}
connect_bd_net [get_bd_pins vta/irq] [get_bd_pins ps/IRQ_F2P]
assign_bd_address -offset {registers:#x} -range 4K [get_bd_addr_segs vta/s_axil/*]
assign_bd_address -offset 0x0 -range {dram_mib}M [get_bd_addr_segs ps/S_AXI_HP0/HP0_DDR_LOWOCM]
validate_bd_design
save_bd_design

set design [get_files system.bd]
add_files -norecurse [make_wrapper -files $design -top]
add_files -fileset constrs_1 -norecurse [file join $here vta.xdc]
set_property top system_wrapper [current_fileset]
update_compile_order -fileset sources_1
launch_runs impl_1 -to_step write_bitstream -jobs 4
wait_on_run impl_1
if {{[get_property PROGRESS [get_runs impl_1]] ne "100%"}} {{
    error "the implementation failed: [get_property STATUS [get_runs impl_1]]"
}}
open_run impl_1
report_utilization -hierarchical -file [file join $here utilization.txt]
report_timing_summary -file [file join $here timing.txt]
file copy -force [file join [get_property DIRECTORY [get_runs impl_1]] system_wrapper.bit] [file join $here vta.bit]
write_hw_platform -fixed -include_bit -force -file [file join $here vta.xsa]
set slack [get_property SLACK [get_timing_paths]]
if {{$slack < 0}} {{
    error "the bitstream is too slow for {mhz:g} MHz by [expr {{-$slack}}] ns (timing.txt); build with a lower --mhz"
}}
"""

_CONSTRAINTS = """# The clock is the processing system's, and so are all pins of the board.
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
set_property CFGBVS VCCO [current_design]
set_property CONFIG_VOLTAGE 3.3 [current_design]
"""

_OVERLAY = """/dts-v1/;
/plugin/;

// The accelerator's registers as a UIO device, and memory that u-dma-buf gives to it:
//     dtc -@ -I dts -O dtb -o vta.dtbo vta.dtso
// The kernel needs uio_pdrv_genirq with of_id=generic-uio, and the module u-dma-buf.

&{{/}} {{
    vta: vta@{registers:x} {{
        compatible = "generic-uio";
        reg = <{registers:#x} 0x1000>;
        interrupt-parent = <&intc>;
        interrupts = <0 {interrupt} 4>;
    }};

    udmabuf-vta {{
        compatible = "ikwzm,u-dma-buf";
        device-name = "udmabuf-vta";
        size = <{dma:#x}>;
    }};
}};
"""


def missing_for_vivado() -> tuple[str, ...]:
    """Return what has to be installed before the project can be written here."""
    return () if find_spec("pyosys") is not None else ("pyosys: pip install 'vta-toolchain[verilog]'",)


def write_vivado_project(
    board: VivadoBoard, vta: VTAConfig, hardware: HardwareConfig, *, folder: Path, mhz: float
) -> None:
    """Write Verilog, the scripts of Vivado, constraints, a device tree overlay and ``board.json`` into a folder.

    ``board.json`` comes last: a folder that has it is whole.
    """
    fields = {
        "part": board.part,
        "title": f"VTA {vta.bitstream}",
        "crystal": board.crystal_mhz,
        "dram": board.dram,
        "dram_bits": board.dram_bits,
        "dram_mib": board.dram_mib,
        "mhz": mhz,
        "name": NAME,
        "registers": REGISTERS,
        "interrupt": _INTERRUPT,
        "dma": DMA_BYTES,
    }
    facts = {
        "board": board.name,
        "mhz": mhz,
        "vta": vta.to_dict(),
        "hardware": asdict(hardware),
        "registers": REGISTERS,
    }
    files = {
        "vta.v": to_verilog(vta, hardware, shell="axi"),
        f"{NAME}.v": zynq_wrapper(hardware),
        "package_ip.tcl": _PACKAGE.format(**fields),
        "build.tcl": _BUILD.format(**fields),
        "vta.xdc": _CONSTRAINTS,
        "vta.dtso": _OVERLAY.format(**fields),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    write_whole(folder / "board.json", f"{json.dumps(facts, indent=1)}\n".encode())

"""The accelerator's AXI top under names and attributes by which Vivado knows its ports.

Tests: ``tests/hw/fpga/boards/test_vivado_project.py``.
"""

from amaranth.hdl import Shape
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from hw.core import memory_port
from hw.interfaces import AXI4Lite
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import MAP_BYTES

__all__ = ["NAME", "WINDOW_BITS", "zynq_wrapper"]

NAME = "vta_zynq"

WINDOW_BITS = 12
"""Bits of an address of the registers here: a page, in which they repeat."""

_OTHER = {"input": "output", "output": "input"}


def zynq_wrapper(hardware: HardwareConfig) -> str:
    """Return the Verilog of the module around ``vta``: its clock is ``aclk``, its reset ``aresetn``, active low."""
    ports = [
        _port("input", 1, "aclk", "xilinx.com:signal:clock:1.0 aclk CLK",
              "ASSOCIATED_BUSIF m_axi:s_axil, ASSOCIATED_RESET aresetn"),
        _port("input", 1, "aresetn", "xilinx.com:signal:reset:1.0 aresetn RST", "POLARITY ACTIVE_LOW"),
        _port("output", 1, "irq", "xilinx.com:signal:interrupt:1.0 irq INTERRUPT", "SENSITIVITY LEVEL_HIGH"),
    ]  # fmt: skip
    joined = [".clk(aclk)", ".rst(~aresetn)", ".irq(irq)"]
    parameters = {
        "m_axi": f"PROTOCOL {'AXI3' if hardware.axi3 else 'AXI4'}, DATA_WIDTH {hardware.data_width}",
        "s_axil": f"PROTOCOL AXI4LITE, DATA_WIDTH 32, ADDR_WIDTH {WINDOW_BITS}",
    }
    buses = (
        ("s_axil", AXI4Lite(addr_width=exact_log2(MAP_BYTES)), "input"),
        ("m_axi", memory_port(hardware), "output"),
    )
    for bus, signature, outwards in buses:
        for path, member in signature.members.flatten():
            role, width = str(path[0]), Shape.cast(member.shape).width
            name = f"{bus}_{role}"
            is_register_address = bus == "s_axil" and role in ("awaddr", "araddr")
            joined.append(f".{name}({name}[{width - 1}:0])" if is_register_address else f".{name}({name})")
            direction = outwards if member.flow == wiring.Out else _OTHER[outwards]
            information = f"xilinx.com:interface:aximm:1.0 {bus} {role.upper()}"
            width = WINDOW_BITS if is_register_address else width
            ports.append(_port(direction, width, name, information, parameters.pop(bus, "")))
    lines = ["// The accelerator with its ports named for Vivado.", f"module {NAME} (", ",\n".join(ports), ");"]
    lines += ["  vta vta (", ",\n".join(f"    {each}" for each in joined), "  );", "endmodule"]
    return "\n".join(lines) + "\n"


def _port(direction: str, width: int, name: str, information: str, parameter: str) -> str:
    attributes = f'X_INTERFACE_INFO = "{information}"'
    if parameter:
        attributes += f', X_INTERFACE_PARAMETER = "{parameter}"'
    size = f"[{width - 1}:0] " if width > 1 else ""
    return f"  (* {attributes} *)\n  {direction} wire {size}{name}"

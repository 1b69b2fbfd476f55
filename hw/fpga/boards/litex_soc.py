"""The accelerator in a system of LiteX: LiteDRAM behind its memory port, bridges for the host, no processor.

A script of its own process (``hw.fpga.boards.litex_project`` runs it): LiteX keeps state in modules and ends its
process on an error. It is given a file with what to build, writes the project beside it, and adds to the file what a
driver must know. Needs the ``board`` extra, which is imported where it is used, so that this module can be looked at
without it. Tests: ``tests/hw/fpga/boards/test_litex_soc.py``, ``tests/hw/fpga/boards/test_litex_project.py``.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["main"]

REGISTERS = 0x3000_0000
"""Where the accelerator's registers are on the host's bus."""

_REGISTER_BYTES = 0x1000

_BUFFERED_WORDS = 256
"""Words that the Etherbone core keeps of a packet; it must hold the whole one."""

_NO_PROCESSOR = {"cpu_type": None, "integrated_sram_size": 0, "with_uart": False, "with_timer": False, "l2_size": 0}

_COMMAND_BITS = {
    "DFII_COMMAND_CS": 1, "DFII_COMMAND_WE": 2, "DFII_COMMAND_CAS": 4, "DFII_COMMAND_RAS": 8,
}  # fmt: skip
_CONTROL_BITS = {"DFII_CONTROL_CKE": 2, "DFII_CONTROL_ODT": 4, "DFII_CONTROL_RESET_N": 8}


def _accelerator(soc: Any, *, data_width: int) -> Any:
    """Return a module with the exported Verilog, between a port of LiteDRAM and its ``bus`` for the host.

    ``launches`` counts writes of the register that begins a launch: a host that lost a packet, or whose packet came
    twice, learns it there.
    """
    from litedram.frontend.axi import LiteDRAMAXI2Native, LiteDRAMAXIPort
    from litex.gen import LiteXModule
    from litex.soc.interconnect.axi import AXILiteInterface
    from litex.soc.interconnect.csr import CSRStatus
    from migen import ClockSignal, If, Instance, ResetSignal

    module = LiteXModule()
    module.launches = launches = CSRStatus(32, name="launches")
    module.bus = bus = AXILiteInterface(data_width=32, address_width=32)
    native = soc.sdram.crossbar.get_port(data_width=data_width)
    memory = LiteDRAMAXIPort(data_width=data_width, address_width=32, id_width=1)
    module.to_dram = LiteDRAMAXI2Native(memory, native, w_buffer_depth=64, r_buffer_depth=128)
    ports = {"i_clk": ClockSignal("sys"), "i_rst": ResetSignal("sys"), **_memory_ports(memory), **_register_ports(bus)}
    module.specials += Instance("vta", **ports)
    launch = bus.aw.valid & bus.aw.ready & (bus.aw.addr[:9] == 0)
    module.sync += If(launch, launches.status.eq(launches.status + 1))
    return module


def _memory_ports(memory: Any) -> dict[str, Any]:
    ports = _streams("m_axi", memory, out=("aw", "w", "ar"), into=("b", "r"))
    for name in ("aw", "ar"):
        channel = getattr(memory, name)
        ports |= {f"o_m_axi_{name}{field}": getattr(channel, field) for field in ("addr", "burst", "len", "size", "id")}
    ports |= {f"o_m_axi_w{field}": getattr(memory.w, field) for field in ("data", "strb", "last")}
    ports |= {f"i_m_axi_b{field}": getattr(memory.b, field) for field in ("id", "resp")}
    ports |= {f"i_m_axi_r{field}": getattr(memory.r, field) for field in ("id", "data", "resp", "last")}
    return ports


def _register_ports(bus: Any) -> dict[str, Any]:
    ports = _streams("s_axil", bus, out=("b", "r"), into=("aw", "w", "ar"))
    ports |= {f"i_s_axil_{name}addr": getattr(bus, name).addr[:9] for name in ("aw", "ar")}
    ports |= {"i_s_axil_awprot": 0, "i_s_axil_arprot": 0, "i_s_axil_wdata": bus.w.data, "i_s_axil_wstrb": bus.w.strb}
    ports |= {"o_s_axil_bresp": bus.b.resp, "o_s_axil_rdata": bus.r.data, "o_s_axil_rresp": bus.r.resp}
    return ports


def _streams(prefix: str, bus: Any, *, out: tuple[str, ...], into: tuple[str, ...]) -> dict[str, Any]:
    """Return the handshakes of the channels that go ``out`` of the accelerator and ``into`` it."""
    ports: dict[str, Any] = {}
    for name in (*out, *into):
        channel, (valid, ready) = getattr(bus, name), ("o", "i") if name in out else ("i", "o")
        ports |= {f"{valid}_{prefix}_{name}valid": channel.valid, f"{ready}_{prefix}_{name}ready": channel.ready}
    return ports


def _add_etherbone(soc: Any, phy: Any, job: Mapping[str, Any]) -> None:
    # 32 bits at a time in the clock of the system: eight bits at 125 MHz do not meet their time on this FPGA.
    soc.ethphy = phy
    soc.add_etherbone(
        phy=phy, data_width=32, ip_address=job["ip"], udp_port=job["udp_port"], buffer_depth=_BUFFERED_WORDS
    )


def _ecpix5(job: Mapping[str, Any]) -> Any:
    from liteeth.phy.ecp5rgmii import LiteEthPHYRGMII
    from litex_boards.targets import lambdaconcept_ecpix5

    soc = lambdaconcept_ecpix5.BaseSoC(
        device="85F", sys_clk_freq=job["mhz"] * 1e6, with_led_chaser=False, with_uartbone=True,
        uart_baudrate=job["baud"], **_NO_PROCESSOR,
    )  # fmt: skip
    pads = soc.platform.request
    _add_etherbone(soc, LiteEthPHYRGMII(clock_pads=pads("eth_clocks"), pads=pads("eth"), rx_delay=0.0), job)
    return soc


def _ulx3s(job: Mapping[str, Any]) -> Any:
    from litex_boards.targets import radiona_ulx3s

    return radiona_ulx3s.BaseSoC(
        device="LFE5U-85F", sys_clk_freq=job["mhz"] * 1e6, with_led_chaser=False, with_uartbone=True,
        uart_baudrate=job["baud"], **_NO_PROCESSOR,
    )  # fmt: skip


def _byte_stream(name: str, *, ready: bool) -> tuple[Any, ...]:
    from litex.build.generic_platform import Pins, Subsignal

    pins = [Subsignal(f"{side}_{signal}", Pins(8 if signal == "data" else 1))
            for side in ("source", "sink") for signal in ("valid", "data", *(("ready",) if ready else ()))]  # fmt: skip
    return (name, 0, *pins)


def _simulated(job: Mapping[str, Any]) -> Any:
    """Return the same system with models of DRAM, of the serial port and of Ethernet, a byte a cycle."""
    from litedram.modules import MT48LC16M16
    from litedram.phy.model import SDRAMPHYModel
    from liteeth.phy.model import LiteEthPHYModel
    from litex.build.generic_platform import Pins
    from litex.build.io import CRG
    from litex.build.sim import SimPlatform
    from litex.soc.cores.uart import RS232PHYModel, UARTBone
    from litex.soc.integration.soc_core import SoCCore

    class Models(SimPlatform):
        """Pins of a simulation; what is built for it is its Verilog alone."""

        def build(self, fragment: Any, *, build_dir: str, build_name: str, **_: object) -> None:
            Path(build_dir).mkdir(exist_ok=True)
            self.get_verilog(fragment, name=build_name).write(str(Path(build_dir) / f"{build_name}.v"))

    clocks = [("sys_clk", 0, Pins(1)), ("sys_rst", 0, Pins(1))]
    platform = Models("SIM", [*clocks, _byte_stream("serial", ready=True), _byte_stream("eth", ready=False)])
    clock = job["mhz"] * 1e6
    soc = SoCCore(platform, clk_freq=clock, ident="", **_NO_PROCESSOR)
    soc.crg = CRG(platform.request("sys_clk"), platform.request("sys_rst"))
    module = MT48LC16M16(100e6, "1:1")
    soc.sdrphy = SDRAMPHYModel(module=module, data_width=32, clk_freq=100e6)
    soc.add_sdram("sdram", phy=soc.sdrphy, module=module, l2_cache_size=0)
    soc.uartbone_phy = phy = RS232PHYModel(platform.request("serial"))
    soc.uartbone = UARTBone(phy=phy, clk_freq=clock)
    soc.bus.add_master(name="uartbone", master=soc.uartbone.wishbone)
    _add_etherbone(soc, LiteEthPHYModel(platform.request("eth")), job)
    return soc


BOARDS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {"ecpix5": _ecpix5, "ulx3s": _ulx3s, "simulated": _simulated}


def _memory(soc: Any) -> dict[str, Any]:
    """Return what a driver must know of the memory: where it is, and how it is initialised and trained."""
    from litedram.init import get_sdram_phy_init_sequence

    region = soc.bus.regions["main_ram"]
    phy = soc.sdram.controller.settings.phy
    steps = get_sdram_phy_init_sequence(phy, soc.sdram.controller.settings.timing)[0]
    return {
        "origin": region.origin,
        "bytes": region.size,
        "phy": phy.phytype,
        "phases": phy.nphases,
        "read_phase": phy.rdphase,
        "write_phase": phy.wrphase,
        "byte_lanes": phy.databits // 8,
        "phase_bytes": phy.dfi_databits // 8,
        "delays": phy.delays if phy.read_leveling else 0,
        "bitslips": phy.bitslips if phy.read_leveling else 0,
        "start": [_step(*step[1:]) for step in steps],
    }


def _step(address: int, bank: int, command: str, cycles: int) -> dict[str, int]:
    names = command.split("|")
    return {
        "address": address,
        "bank": bank,
        "command": sum(_COMMAND_BITS.get(name, 0) for name in names),
        "control": sum(_CONTROL_BITS.get(name, 0) for name in names),
        "cycles": cycles,
    }


def main() -> None:
    """Write the project that the file named on the command line asks for, and into the file what was made of it."""
    from litex.soc.integration.builder import Builder
    from litex.soc.integration.soc import SoCRegion

    file = Path(sys.argv[1]).resolve()
    job = json.loads(file.read_text(encoding="utf-8"))
    soc = BOARDS[job["board"]](job)
    soc.platform.add_source(str(file.parent / "vta.v"), copy=True)
    soc.vta = _accelerator(soc, data_width=job["hardware"]["data_width"])
    soc.bus.add_slave("vta", soc.vta.bus, SoCRegion(origin=REGISTERS, size=_REGISTER_BYTES, cached=False))
    builder = Builder(
        soc, output_dir=str(file.parent), gateware_dir=str(file.parent / "gateware"), compile_software=False,
        csr_json=str(file.parent / "csr.json"),
    )  # fmt: skip
    options = {} if job["board"] == "simulated" else {"compress": True, "seed": job["seed"]}
    builder.build(run=False, build_name="top", **options)
    facts = {**job, "clock": int(soc.sys_clk_freq), "registers": REGISTERS, "memory": _memory(soc)}
    file.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

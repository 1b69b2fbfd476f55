"""What the script for LiteX asks of it, with LiteX's classes replaced by ones that note how they are called.

So what is asked for is pinned without LiteX being there; what LiteX makes of it is in ``test_litex_project.py``.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, call

import pytest

from hw.fpga.boards import litex_soc

MODULES = (
    "litedram.frontend.axi", "litedram.init", "litedram.modules", "litedram.phy.model", "liteeth.phy.ecp5rgmii",
    "liteeth.phy.model", "litex.build.generic_platform", "litex.build.io", "litex.build.sim", "litex.gen",
    "litex.soc.cores.uart", "litex.soc.integration.builder", "litex.soc.integration.soc",
    "litex.soc.integration.soc_core", "litex.soc.interconnect.axi", "litex.soc.interconnect.csr",
    "litex_boards.targets.lambdaconcept_ecpix5", "litex_boards.targets.radiona_ulx3s", "migen",
)  # fmt: skip
STEPS = [
    ("Reset", 0, 0, "DFII_CONTROL_RESET_N", 50_000),
    ("Precharge", 0x400, 1, "DFII_COMMAND_RAS|DFII_COMMAND_WE|DFII_COMMAND_CS", 6),
    ("Refresh", 0, 0, "DFII_COMMAND_RAS|DFII_COMMAND_CAS|DFII_COMMAND_CS", 4),
    ("Clock", 0, 2, "DFII_CONTROL_CKE|DFII_CONTROL_ODT|DFII_CONTROL_RESET_N", 10_000),
]


class Platform:
    """A platform whose pins are the arguments with which they were asked for."""

    def __init__(self, *words: Any) -> None:
        self.words = words
        self.add_source = MagicMock()

    def request(self, name: str) -> str:
        return f"pads of {name}"


class Fakes(dict[str, Any]):
    """The modules that the script imports, by name."""

    def __init__(self) -> None:
        super().__init__()
        for name in MODULES:
            parts = name.split(".")
            for count in range(len(parts), 0, -1):
                self.setdefault(".".join(parts[:count]), MagicMock(name=".".join(parts[:count])))
            for count in range(len(parts) - 1, 0, -1):
                setattr(self[".".join(parts[:count])], parts[count], self[".".join(parts[: count + 1])])
        self["litex.build.sim"].SimPlatform = Platform
        self["litex.build.generic_platform"].Pins = lambda count: ("pins", count)
        self["litex.build.generic_platform"].Subsignal = lambda name, pins: (name, pins[1])
        self["litedram.init"].get_sdram_phy_init_sequence.return_value = (STEPS, {})
        for owner in (
            self["litex_boards.targets.lambdaconcept_ecpix5"].BaseSoC,
            self["litex_boards.targets.radiona_ulx3s"].BaseSoC,
            self["litex.soc.integration.soc_core"].SoCCore,
        ):
            owner.return_value = self.soc()

    @staticmethod
    def soc() -> MagicMock:
        """A system with 64 MiB of DRAM at 1 GiB, four phases on two lanes."""
        phy = SimpleNamespace(
            phytype="ECP5DDRPHY", nphases=4, rdphase=2, wrphase=3, databits=16, dfi_databits=32,
            read_leveling=True, delays=8, bitslips=4,
        )  # fmt: skip
        soc = MagicMock(platform=Platform(), sys_clk_freq=50e6 + 0.5)
        soc.bus.regions = {"main_ram": SimpleNamespace(origin=1 << 30, size=64 << 20)}
        soc.sdram.controller.settings = SimpleNamespace(phy=phy, timing="timing")
        return soc


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Fakes:
    made = Fakes()
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)
    return made


NO_PROCESSOR = {"cpu_type": None, "integrated_sram_size": 0, "with_uart": False, "with_timer": False, "l2_size": 0}
JOB = {"mhz": 50, "baud": 2_000_000, "ip": "10.0.0.2", "seed": 7, "udp_port": 1234, "hardware": {"data_width": 128}}


def run(folder: Path, board: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    file = folder / "job.json"
    file.write_text(json.dumps({**JOB, "board": board}))
    monkeypatch.setattr(sys, "argv", ["litex_soc", str(file)])
    litex_soc.main()
    return dict(json.loads(file.read_text()))


@pytest.mark.parametrize("board", ["ecpix5", "ulx3s", "simulated"])
def test_a_project_is_written_and_nothing_is_run(
    tmp_path: Path, fakes: Fakes, board: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = run(tmp_path, board, monkeypatch)
    builder, region = fakes["litex.soc.integration.builder"].Builder, fakes["litex.soc.integration.soc"].SoCRegion
    assert builder.call_args.kwargs == {
        "output_dir": str(tmp_path), "gateware_dir": str(tmp_path / "gateware"), "compile_software": False,
        "csr_json": str(tmp_path / "csr.json"),
    }  # fmt: skip
    packed = {} if board == "simulated" else {"compress": True, "seed": 7}
    assert builder.return_value.build.call_args == call(run=False, build_name="top", **packed)
    [soc] = builder.call_args.args
    if board != "simulated":
        assert soc.platform.add_source.call_args == call(str(tmp_path / "vta.v"), copy=True)
    assert region.call_args == call(origin=0x3000_0000, size=0x1000, cached=False)
    assert soc.bus.add_slave.call_args == call("vta", soc.vta.bus, region.return_value)
    assert {**facts, "memory": {}} == {
        **JOB, "board": board, "clock": 50_000_000, "registers": 0x3000_0000, "memory": {},
    }  # fmt: skip


def test_the_boards_are_asked_for_without_a_processor(fakes: Fakes) -> None:
    without = {"with_led_chaser": False, "with_uartbone": True, "uart_baudrate": 2_000_000, **NO_PROCESSOR}
    soc = litex_soc.BOARDS["ecpix5"](JOB)
    ecpix5 = fakes["litex_boards.targets.lambdaconcept_ecpix5"].BaseSoC
    assert ecpix5.call_args == call(device="85F", sys_clk_freq=50e6, **without)
    phy = fakes["liteeth.phy.ecp5rgmii"].LiteEthPHYRGMII
    assert phy.call_args == call(clock_pads="pads of eth_clocks", pads="pads of eth", rx_delay=0.0)
    etherbone = {"phy": phy.return_value, "data_width": 32, "ip_address": "10.0.0.2", "udp_port": 1234}
    assert soc.add_etherbone.call_args == call(**etherbone, buffer_depth=256)
    litex_soc.BOARDS["ulx3s"](JOB)
    ulx3s = fakes["litex_boards.targets.radiona_ulx3s"].BaseSoC
    assert ulx3s.call_args == call(device="LFE5U-85F", sys_clk_freq=50e6, **without)


def test_the_simulated_board_has_models_of_dram_ethernet_and_uart(fakes: Fakes, tmp_path: Path) -> None:
    soc = litex_soc.BOARDS["simulated"](JOB)
    core = fakes["litex.soc.integration.soc_core"].SoCCore
    assert core.call_args.kwargs == {"clk_freq": 50e6, "ident": "", **NO_PROCESSOR}
    [platform] = core.call_args.args
    name, pins = platform.words
    serial = [("source_valid", 1), ("source_data", 8), ("source_ready", 1),
              ("sink_valid", 1), ("sink_data", 8), ("sink_ready", 1)]  # fmt: skip
    wires = [(name, bits) for name, bits in serial if "ready" not in name]
    assert (name, pins) == (
        "SIM",
        [("sys_clk", 0, ("pins", 1)), ("sys_rst", 0, ("pins", 1)), ("serial", 0, *serial), ("eth", 0, *wires)],
    )
    chip = fakes["litedram.modules"].MT48LC16M16
    assert chip.call_args == call(100e6, "1:1")
    dram = fakes["litedram.phy.model"].SDRAMPHYModel
    assert dram.call_args == call(module=chip.return_value, data_width=32, clk_freq=100e6)
    assert soc.add_sdram.call_args == call("sdram", phy=dram.return_value, module=chip.return_value, l2_cache_size=0)
    uart = fakes["litex.soc.cores.uart"]
    assert uart.UARTBone.call_args == call(phy=uart.RS232PHYModel.return_value, clk_freq=50e6)
    assert soc.add_etherbone.call_args.kwargs["phy"] is fakes["liteeth.phy.model"].LiteEthPHYModel.return_value
    platform.get_verilog = MagicMock()
    for _ in range(2):  # a folder that is there is no fault
        platform.build("fragment", build_dir=str(tmp_path / "made"), build_name="top", run=False)
    assert platform.get_verilog.call_args == call("fragment", name="top")
    assert platform.get_verilog.return_value.write.call_args == call(str(tmp_path / "made" / "top.v"))
    assert (tmp_path / "made").is_dir()


@pytest.mark.parametrize("trained", [True, False])
def test_a_driver_learns_how_the_memory_is_started_and_trained(
    tmp_path: Path, fakes: Fakes, trained: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    soc = fakes["litex_boards.targets.radiona_ulx3s"].BaseSoC.return_value
    soc.sdram.controller.settings.phy.read_leveling = trained
    assert run(tmp_path, "ulx3s", monkeypatch)["memory"] == {
        "origin": 1 << 30, "bytes": 64 << 20, "phy": "ECP5DDRPHY", "phases": 4, "read_phase": 2, "write_phase": 3,
        "byte_lanes": 2, "phase_bytes": 4, "delays": 8 * trained, "bitslips": 4 * trained,
        "start": [
            {"address": 0, "bank": 0, "command": 0, "control": 8, "cycles": 50_000},
            {"address": 0x400, "bank": 1, "command": 8 + 2 + 1, "control": 0, "cycles": 6},
            {"address": 0, "bank": 0, "command": 8 + 4 + 1, "control": 0, "cycles": 4},
            {"address": 0, "bank": 2, "command": 0, "control": 2 + 4 + 8, "cycles": 10_000},
        ],
    }  # fmt: skip


class Named(str):
    """A signal that is its name, and with others a text of what is made of them."""

    def __and__(self, other: str) -> "Named":
        return Named(f"{self} & {other}")

    def __getitem__(self, key: Any) -> "Named":
        return Named(f"{self}[{key.start}:{key.stop}]")

    def __eq__(self, other: object) -> Any:
        return super().__eq__(other) if isinstance(other, str) else Named(f"({self} == {other})")

    __hash__ = str.__hash__


def channels(**fields: tuple[str, ...]) -> SimpleNamespace:
    """A bus of signals that are their names."""
    made = {}
    for name, own in fields.items():
        made[name] = SimpleNamespace(**{field: Named(f"{name}.{field}") for field in ("valid", "ready", *own)})
    return SimpleNamespace(**made)


def test_the_accelerator_stands_between_a_port_of_the_memory_and_the_bus(fakes: Fakes) -> None:
    address = ("addr", "burst", "len", "size", "id")
    memory = channels(aw=address, ar=address, w=("data", "strb", "last"), b=("id", "resp"),
                      r=("id", "data", "resp", "last"))  # fmt: skip
    bus = channels(aw=("addr",), ar=("addr",), w=("data", "strb"), b=("resp",), r=("data", "resp"))
    axi, lite = fakes["litedram.frontend.axi"], fakes["litex.soc.interconnect.axi"].AXILiteInterface
    axi.LiteDRAMAXIPort.return_value = memory
    lite.return_value = bus
    status = fakes["litex.soc.interconnect.csr"].CSRStatus
    status.return_value.status = MagicMock(eq=lambda value: value, __add__=lambda _, more: f"one launch + {more}")
    soc = fakes.soc()
    litex_soc._accelerator(soc, data_width=128)
    assert lite.call_args == call(data_width=32, address_width=32)
    assert soc.sdram.crossbar.get_port.call_args == call(data_width=128)
    assert axi.LiteDRAMAXIPort.call_args == call(data_width=128, address_width=32, id_width=1)
    native = soc.sdram.crossbar.get_port.return_value
    assert axi.LiteDRAMAXI2Native.call_args == call(memory, native, w_buffer_depth=64, r_buffer_depth=128)
    assert status.call_args == call(32, name="launches")
    assert fakes["migen"].If.call_args == call("aw.valid & aw.ready & (aw.addr[None:9] == 0)", "one launch + 1")
    ports = fakes["migen"].Instance.call_args.kwargs
    for field in ("addr", "burst", "len", "size", "id", "valid"):
        assert (ports[f"o_m_axi_aw{field}"], ports[f"o_m_axi_ar{field}"]) == (f"aw.{field}", f"ar.{field}")
    answers = {"i_m_axi_awready": "aw.ready", "i_m_axi_wready": "w.ready", "o_m_axi_bready": "b.ready",
               "o_m_axi_rready": "r.ready", "i_m_axi_bvalid": "b.valid", "i_m_axi_rvalid": "r.valid",
               "i_m_axi_rdata": "r.data", "i_m_axi_rlast": "r.last", "o_m_axi_wstrb": "w.strb"}  # fmt: skip
    registers = {"i_s_axil_awvalid": "aw.valid", "o_s_axil_awready": "aw.ready", "o_s_axil_bvalid": "b.valid",
                 "i_s_axil_bready": "b.ready", "i_s_axil_awaddr": "aw.addr[None:9]",
                 "i_s_axil_araddr": "ar.addr[None:9]",
                 "i_s_axil_awprot": 0, "i_s_axil_arprot": 0, "i_s_axil_wdata": "w.data"}  # fmt: skip
    assert (answers | registers).items() <= ports.items()

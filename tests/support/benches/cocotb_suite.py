# amaranth: UnusedElaboratable=no
"""The benches of ``tests/cocotb`` with the designs that they are for: one row each, for every simulator alike."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from hw.compute.stage import ComputeStage
from hw.core import Core
from hw.fetch import InstructionFetch
from hw.load import LoadStage
from hw.registers import ControlRegisters
from hw.scratchpad import Scratchpad
from hw.token_counter import TokenCounter
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from tests.support.benches.cocotb_designs import StoreToMemory
from tests.support.benches.cocotb_run import Build, SimulatorName, build

__all__ = ["BENCHES", "CORE_SIGNALS", "SCRATCHPAD_STEPS", "SMALL", "BenchDesign", "Step", "build_for"]

SMALL = VTAConfig(log_block=1, log_uop_buff_size=7, log_inp_buff_size=6, log_wgt_buff_size=7, log_acc_buff_size=8)
"""The smallest core that benches build."""

_BLOCK4 = VTAConfig(log_block=2, log_uop_buff_size=9, log_inp_buff_size=9, log_wgt_buff_size=10, log_acc_buff_size=11)
_LOADS = VTAConfig(log_block=2, log_uop_buff_size=8, log_inp_buff_size=7, log_wgt_buff_size=9, log_acc_buff_size=10)
_TILES = VTAConfig(log_block=2, log_uop_buff_size=8, log_inp_buff_size=8, log_wgt_buff_size=10, log_acc_buff_size=14)

Step = tuple[int, int, int, int, int, int | None]
"""Write enable, address and data; read enable and address; what ``read_data`` is in the next cycle."""

SCRATCHPAD_STEPS: list[Step] = [
    *((1, address, 0x10 + address, 0, 0, None) for address in range(4)),
    (1, 2, 0x99, 1, 1, 0x11),
    (1, 3, 0x77, 1, 1, 0x11),
    (0, 0, 0, 1, 3, 0x77),
    (1, 3, 0x66, 1, 3, 0x77),
    (0, 0, 0, 1, 2, 0x99),
    (0, 0, 0, 0, 0, 0x99),
]
"""Reads, with writes of the same and of other addresses; the element that was there before the cycle is read."""

CORE_SIGNALS = {
    "launch.running": "a launch is in progress",
    "l2g.count": "tokens from load to compute; likewise g2l, g2s, s2g",
    "fetch.dispatched": "instructions handed to the queues",
    "store.start": "the store module starts an instruction; likewise load, compute",
}
"""Inner signals of the core that the documentation names."""


@dataclass(frozen=True, slots=True)
class BenchDesign:
    """What a bench module tests, and the parameters that it needs."""

    bench: str
    component: Callable[[VTAConfig, HardwareConfig], wiring.Component]
    vta: VTAConfig = SMALL
    more: Mapping[str, Any] = field(default_factory=dict)


BENCHES: dict[str, BenchDesign] = {
    "token_queue": BenchDesign("bench_token_queue", lambda _vta, _hardware: TokenCounter()),
    "scratchpad": BenchDesign(
        "bench_scratchpad", lambda _vta, _hardware: Scratchpad(depth=4, width=8), more={"steps": SCRATCHPAD_STEPS}
    ),
    "registers": BenchDesign("bench_registers", ControlRegisters, VTAConfig()),
    "fetch": BenchDesign("bench_fetch", InstructionFetch, _BLOCK4),
    "load": BenchDesign("bench_load", LoadStage, _LOADS),
    "compute": BenchDesign("bench_compute", ComputeStage, _TILES),
    "compute_fused": BenchDesign("bench_fused", ComputeStage, replace(_TILES, fused_alu=1)),
    "store_to_memory": BenchDesign("bench_store", StoreToMemory, VTAConfig()),
    "vta_core": BenchDesign("bench_core", Core, more={"signals": list(CORE_SIGNALS)}),
}
"""By the name of the top module."""


def build_for(
    top: str,
    folder: Path,
    *,
    hardware: HardwareConfig | None = None,
    simulator: SimulatorName = "icarus",
    verilog: str = "",
    arguments: tuple[str, ...] = (),
) -> tuple[Build, str]:
    """Compile the design called ``top``; return it with the module path of its bench."""
    row = BENCHES[top]
    hardware = HardwareConfig() if hardware is None else hardware
    sizes = asdict(hardware)
    given = {"vta": row.vta.to_dict(), "hardware": sizes, **sizes, **row.more}
    component = row.component(row.vta, hardware)
    built = build(
        component, top=top, folder=folder, simulator=simulator, verilog=verilog, given=given, arguments=arguments
    )
    return built, f"tests.cocotb.{row.bench}"

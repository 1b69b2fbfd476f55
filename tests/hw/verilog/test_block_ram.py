# amaranth: UnusedElaboratable=no
"""The memories of the exported Verilog become block RAM where yosys reads it: RAMB36 on Xilinx 7, DP16KD on ECP5."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from amaranth.lib import wiring

from hw.accumulator import Accumulator
from hw.compute.uop_memory import UopMemory
from hw.core import Core
from hw.scratchpad import Scratchpad
from hw.verilog import component_to_verilog
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig

YOSYS = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for command in sys.argv[1:]:
    libyosys.run_pass(command, design)
"""

VTA = VTAConfig()
INP = Scratchpad(depth=VTA.inp_depth, width=VTA.inp_elem_bits, write_granularity=64)
WGT = Scratchpad(depth=VTA.wgt_depth, width=VTA.wgt_elem_bits, write_granularity=64)
UOPS = UopMemory(address_width=VTA.log_uop_depth, readers=3)
ACC = Accumulator(
    address_width=VTA.log_acc_depth,
    lanes=VTA.batch * VTA.block_out,
    lane_width=VTA.acc_width,
    out_width=VTA.out_width,
)


def mapped(component: wiring.Component, family: str, folder: Path) -> tuple[dict[str, str], Counter[str]]:
    """Return what each memory became, and how many cells of which kind there are, as yosys says."""
    source, statistics = folder / "design.v", folder / "stat.txt"
    source.write_text(component_to_verilog(component, name="design"), encoding="utf-8")
    synthesis = {"xc7": "synth_xilinx -family xc7", "ecp5": "synth_ecp5"}[family]
    commands = (
        f"read_verilog {source}",
        f"{synthesis} -top design -run begin:map_ffram",
        f"tee -o {statistics} stat",
    )
    run = subprocess.run([sys.executable, "-c", YOSYS, *commands], capture_output=True, text=True, check=True)
    memories = dict(re.findall(r"^mapping memory design\.(\S+) via (\S+)$", run.stdout, re.MULTILINE))
    whole = statistics.read_text().rsplit("===", 1)[-1]
    cells = Counter({kind: int(count) for count, kind in re.findall(r"^\s+(\d+)\s+([A-Z]\w+)$", whole, re.MULTILINE)})
    return memories, cells


@pytest.mark.parametrize(
    ("component", "family", "memories", "block", "kind", "count"),
    [
        (INP, "ecp5", "memory", "$__DP16KD_", "DP16KD", 16),
        (UOPS, "ecp5", "copy_", "$__DP16KD_", "DP16KD", 48),
        (UOPS, "xc7", "copy_", "$__XILINX_BLOCKRAM_TDP_", "RAMB36E1", 24),
        (ACC, "ecp5", "bank_", "$__PDPW16KD_", "DP16KD", 60),
    ],
    ids=["inputs, ecp5", "micro-ops, ecp5", "micro-ops, xc7", "accumulators, ecp5"],
)
def test_a_memory_becomes_as_many_blocks_as_its_bits_fill(
    component: wiring.Component, family: str, memories: str, block: str, kind: str, count: int, tmp_path: Path
) -> None:
    """``memories`` is how the names of the component's large memories begin."""
    found, cells = mapped(component, family, tmp_path)
    assert {became for name, became in found.items() if name.startswith(memories)} == {block}
    assert cells[kind] == count


@pytest.mark.long
def test_the_largest_memory_becomes_block_ram_on_ecp5(tmp_path: Path) -> None:
    memories, cells = mapped(WGT, "ecp5", tmp_path)
    assert memories == {f"memory_{part}": "$__DP16KD_" for part in range(4)}
    assert cells["DP16KD"] == 128


@pytest.mark.long
def test_the_large_memories_of_the_core_and_no_others_are_block_ram_on_xilinx(tmp_path: Path) -> None:
    memories, cells = mapped(Core(VTA, HardwareConfig()), "xc7", tmp_path)
    large = re.compile(
        r"load\.(inp\.memory|wgt\.memory_\d)|compute\.uops\.copy_\w+\.memory|compute\.accumulator\.bank_\d\.memory"
    )
    assert {name for name, kind in memories.items() if "BLOCKRAM" in kind} == set(filter(large.fullmatch, memories))
    assert (cells["RAMB36E1"], cells["RAMB18E1"]) == (96, 60)

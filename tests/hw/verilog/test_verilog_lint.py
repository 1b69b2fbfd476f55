# amaranth: UnusedElaboratable=no
"""Icarus compiles what is exported, Verilator's lint has nothing to say, and the text is the same every time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hw.load import LoadStage
from hw.verilog import Shell, component_to_verilog, to_verilog
from hw.verilog.lint import WAIVED
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from tests.support.configs import CONFIGS
from tests.support.hw.verilog_tools import compile_with_icarus, lint_with_verilator
from tests.support.odd_configs import ODD_CONFIGS

ROOT = Path(__file__).parents[3]

DESIGNS: dict[str, tuple[VTAConfig, HardwareConfig]] = {
    **{name: (config, HardwareConfig()) for name, config in CONFIGS.items()},
    "narrow": (ODD_CONFIGS["two_bit_inputs"], HardwareConfig(addr_width=64, data_width=512)),
}
"""By name; the last one has narrow numbers and the widest bus."""


def exported(name: str, shell: Shell, folder: Path) -> Path:
    """Write a design into a file."""
    vta, hardware = DESIGNS[name]
    file = folder / "design.v"
    file.write_text(to_verilog(vta, hardware, shell=shell), encoding="utf-8")
    return file


def test_a_sample_compiles_and_passes_lint(tmp_path: Path) -> None:
    file = exported("narrow", "axi", tmp_path)
    assert compile_with_icarus(file) == ""
    assert compile_with_icarus(file, standard="2012") == ""
    assert not lint_with_verilator(file)


def test_every_waiver_is_needed(tmp_path: Path) -> None:
    file = tmp_path / "design.v"
    text = component_to_verilog(LoadStage(*DESIGNS["narrow"]), name="load")
    kept = [line for line in text.splitlines(True) if not line.startswith("// verilator lint_")]
    file.write_text("".join(kept))
    found = lint_with_verilator(file)
    del found["Error"]  # Verilator's last line, that there were warnings
    assert set(found) == set(WAIVED)


@pytest.mark.long
@pytest.mark.parametrize("shell", ["axi", "core"])
@pytest.mark.parametrize("name", DESIGNS)
def test_every_configuration_compiles_passes_lint_and_is_the_same_in_another_process(
    name: str, shell: Shell, tmp_path: Path
) -> None:
    file = exported(name, shell, tmp_path)
    vta, hardware = DESIGNS[name]
    assert to_verilog(vta, hardware, shell=shell) == file.read_text()
    code = (
        "import sys; from isa.machine.hardware_config import HardwareConfig; from hw.verilog import to_verilog;"
        f"from isa.config import VTAConfig; vta = VTAConfig.from_dict({vta.to_dict()!r});"
        f"sys.stdout.write(to_verilog(vta, {hardware!r}, shell={shell!r}))"
    )
    again = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    )
    assert again.stdout == file.read_text()
    assert compile_with_icarus(file) == ""
    assert compile_with_icarus(file, standard="2012") == ""
    assert not lint_with_verilator(file)

"""The tutorials of ``examples/`` on every configuration: each checks itself against numpy, and prints its counters."""

from pathlib import Path

import pytest

from isa.config import VTAConfig
from tests.support.configs import CONFIGS
from vta.cli.script import run_script

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
TUTORIALS = {
    "vector_add.py": "vector add: equal to numpy",
    "matrix_multiply.py": "matrix multiply: equal to numpy",
    "matrix_multiply_blocked.py": "blocked matrix multiply: equal to numpy",
    "convolution.py": "convolution: equal to numpy",
}
ON_HARDWARE = ("convolution.py",)
"""These run on the cycle-accurate simulator too, which takes long for large blocks."""


@pytest.mark.parametrize(
    ("name", "config"),
    [
        pytest.param(name, config, marks=[pytest.mark.long] if name in ON_HARDWARE and config != "default" else [])
        for name in TUTORIALS
        for config in CONFIGS
    ],
)
def test_a_tutorial_equals_numpy(name: str, config: str, capsys: pytest.CaptureFixture[str]) -> None:
    counters = run_script(EXAMPLES / name, CONFIGS[config]).as_dict()
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == TUTORIALS[name]
    statistics = printed[1 : printed.index("")] if "" in printed else printed[1:-1]
    shown = {line.split()[0]: int(line.split()[1]) for line in statistics}
    assert shown == {key: counters[key] for key in shown}
    assert shown["out_store_nbytes"] > 0


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_says_that_it_needs_8_bit_operands(name: str) -> None:
    config = VTAConfig.from_json(ROOT / "isa" / "presets" / "int4.json")
    message = f"^{TUTORIALS[name].partition(':')[0]}: it needs 8-bit operands, not {config.bitstream}$"
    with pytest.raises(SystemExit, match=message):
        run_script(EXAMPLES / name, config)

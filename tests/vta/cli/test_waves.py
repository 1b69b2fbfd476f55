"""``vta run --vcd``."""

from pathlib import Path

from typer.testing import CliRunner, Result

from tests.support.hw.vcd_values import read_vcd
from vta.cli.app import app

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "add_three.vta"


def vta(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_signals_of_the_hardware_are_written(tmp_path: Path) -> None:
    path = tmp_path / "out.vcd"
    arguments = ("--target", "tsim", "--vcd", path, "--signals", "control__*", "--signals", "store.*")
    result = vta("run", EXAMPLE, *arguments, "--stats")
    assert result.exit_code == 0, result.output
    waves = read_vcd(path.read_bytes(), "top.clk")
    assert f"{waves['top.control__cycles'][-1]:,}" in result.stdout
    assert any(waves["top.control__done"])
    assert {name.split(".")[1] for name in waves} >= {"store", "control__busy"}
    assert not any(name.startswith("top.load.") for name in waves)


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    path = tmp_path / "out.vcd"
    assert vta("run", EXAMPLE, "--target", "sim", "--vcd", path).stderr == (
        f"error: {EXAMPLE}: --vcd shows the signals of the hardware, and 'sim' has none; use --target tsim\n"
    )
    assert vta("run", EXAMPLE, "--target", "tsim", "--vcd", path, "--signals", "stor.*").stderr.startswith(
        f"error: {EXAMPLE}: no signal of the design matches 'stor.*'; did you mean 'store."
    )
    result = vta("run", EXAMPLE, "--signals", "store.*")
    assert result.exit_code == 2
    assert "--signals chooses what --vcd FILE writes, and there is no --vcd" in " ".join(
        result.stderr.replace("│", " ").split()
    )
    assert "there is no folder" in vta("run", EXAMPLE, "--vcd", tmp_path / "no" / "out.vcd").stderr

"""``vta run --vcd``, and what else a run writes, on a disk that fills up."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.support.hw.vcd_values import read_vcd
from vta.cli.app import app
from vta.inspect.trace import read_trace

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "add_three.vta"


def vta(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@contextmanager
def largest_file(nbytes: int) -> Iterator[None]:
    """Let no file grow beyond ``nbytes`` inside."""
    limit, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))


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
    assert not path.exists()
    assert "there is no folder" in vta("run", EXAMPLE, "--vcd", tmp_path / "no" / "out.vcd").stderr


def test_a_waveform_that_matches_nothing_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "out.vcd"
    path.write_text("old")
    vta("run", EXAMPLE, "--target", "tsim", "--vcd", path, "--signals", "stor.*")
    assert path.read_text() == "old"


@pytest.mark.parametrize("most", [0, pytest.param(1, marks=pytest.mark.long), 700])
def test_a_disk_that_fills_up_leaves_no_waveform_and_names_it(tmp_path: Path, most: int) -> None:
    path = tmp_path / "out.vcd"
    vta("run", EXAMPLE, "--target", "tsim", "--vcd", path)  # compiles the design
    with largest_file(most):
        result = vta("run", EXAMPLE, "--target", "tsim", "--vcd", path)
    assert (result.exit_code, result.stderr) == (1, f"error: {path}: File too large\n")
    assert not path.exists()


@pytest.mark.parametrize("option", ["--trace", "--record"])
def test_a_disk_that_is_full_leaves_no_file(tmp_path: Path, option: str) -> None:
    path = tmp_path / "out"
    with largest_file(0):
        result = vta("run", EXAMPLE, "--target", "sim", option, path)
    assert (result.exit_code, result.stderr) == (1, f"error: {path}: File too large\n")
    assert not path.exists()


def test_a_disk_that_fills_up_leaves_the_launches_that_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with largest_file(700):
        result = vta("run", EXAMPLE, "--target", "tsim", "--record", path)
    assert "the recording stopped: File too large; the trace has 0 whole launches" in result.stderr
    assert 0 < path.stat().st_size < 700
    with read_trace(path) as reader:
        assert (list(reader), reader.whole) == ([], False)

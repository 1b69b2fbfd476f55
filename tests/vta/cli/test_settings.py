"""``--set``, ``--hardware`` and their short forms: what one run changes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.device import HardwareSetup
from vta.cli.app import app
from vta.cli.reporting import UserError
from vta.cli.settings import settings

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "examples" / "add_three.vta"


def vta(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_nothing_said_changes_nothing() -> None:
    found = settings(None)
    assert found.applied(VTAConfig()) is not None
    assert found.setup is None


def test_keys_go_to_the_configuration_or_to_the_hardware() -> None:
    found = settings(["LOG_BATCH=1", "TARGET=tsim", "data_width=256"], latency=5, queue_depth=2)
    assert found.applied(VTAConfig()) == VTAConfig(log_batch=1, target="tsim")
    expected = HardwareSetup(hardware=HardwareConfig(data_width=256, inst_queue_depth=2), latency=5)
    assert found.setup == expected


def test_a_file_is_read_first_and_the_last_word_holds(tmp_path: Path) -> None:
    path = tmp_path / "hardware.json"
    path.write_text(json.dumps({"data_width": 128, "memory_latency": 9, "read_bursts": 8}))
    found = settings(["data_width=512", "data_width=256"], file=path, latency=7, data_width=64)
    expected = HardwareSetup(hardware=HardwareConfig(data_width=256, read_bursts=8), latency=7)
    assert found.setup == expected


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("LOG_BLOCK", "--set LOG_BLOCK: expected KEY=VALUE, such as LOG_BLOCK=5 or data_width=128"),
        ("LOG_BLOCK=x", "--set LOG_BLOCK=x: expected a whole number, found 'x'"),
        ("data_width=", "--set data_width=: expected a whole number, found ''"),
        ("LOG_BLOK=3", "--set LOG_BLOK=3: no key of configuration or hardware is called 'LOG_BLOK'; "
         "did you mean 'LOG_BLOCK'?"),
        ("q=3", "--set q=3: no key of configuration or hardware is called 'q'; docs/configuration.md lists them"),
    ],
)  # fmt: skip
def test_an_entry_that_says_nothing_is_refused(entry: str, text: str) -> None:
    with pytest.raises(UserError) as error:
        settings([entry])
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--set", "data_width=100"], "--set: data_width is 100, but it must be one of 64, 128, 256, 512"),
        (["--data-width", "100"], "--data-width: data_width is 100, but it must be one of 64, 128, 256, 512"),
        (
            ["--latency", "3", "--set", "data_width=100"],
            "--latency, --set: data_width is 100, but it must be one of 64, 128, 256, 512",
        ),
        (
            ["--data-width", "128"],
            "device 'sim' has no hardware to set up; run on 'tsim' (`--target tsim`), or leave its sizes out",
        ),
        (
            ["--set", "LOG_BLOCK=5"],
            f"{PROGRAM}: the program carries its configuration, so --set LOG_BLOCK cannot change it; "
            "change it in the text, or assemble it again",
        ),
    ],
)
def test_what_a_program_cannot_run_with_is_a_sentence(arguments: list[str], text: str) -> None:
    result = vta("run", PROGRAM, *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"error: {text}\n")


def test_a_file_with_an_unknown_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / "hardware.json"
    path.write_text('{"data_widht": 1}')
    result = vta("run", PROGRAM, "--target", "tsim", "--hardware", path)
    assert result.stderr == f"error: {path}: unknown key 'data_widht'; did you mean 'data_width'?\n"


def test_a_slower_memory_takes_more_cycles_and_gives_the_same(tmp_path: Path) -> None:
    results = [vta("run", PROGRAM, "--target", "tsim", "--latency", latency, "--stats") for latency in ("1", "400")]
    cycles = [int(r.stdout.split("cycle_count")[1].split()[1].replace(",", "")) for r in results]
    assert cycles[0] + 400 < cycles[1]
    assert len({r.stdout.split("statistics")[0] for r in results}) == 1

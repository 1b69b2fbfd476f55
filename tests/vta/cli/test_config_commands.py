"""``vta config show`` and ``check``, and where the configuration comes from."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from isa.config import VTAConfig
from vta.cli.app import app

ROOT = Path(__file__).resolve().parents[3]


def vta(*arguments: str | Path, variable: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"VTA_CONFIG": variable})


def test_show_json_is_a_configuration_file(tmp_path: Path) -> None:
    result = vta("config", "show", "--json")
    path = tmp_path / "config.json"
    path.write_text(result.stdout)
    assert VTAConfig.from_json(path) == VTAConfig()
    assert json.loads(result.stdout) == json.loads((ROOT / "config" / "vta_config.json").read_text())


def test_show_prints_sizes_and_digest() -> None:
    output = vta("config", "show", "--config", ROOT / "config" / "samples" / "b1k8.json").stdout
    assert "LOG_BLOCK" in output
    assert "1x8_i8w8a32_15_14_16_16" in output
    assert VTAConfig.from_json(ROOT / "config" / "samples" / "b1k8.json").digest in output


def test_the_environment_variable_names_the_configuration_and_the_option_wins() -> None:
    b1k8, b2k16 = (ROOT / "config" / "samples" / f"{name}.json" for name in ("b1k8", "b2k16"))
    assert "1x8_i8w8a32" in vta("config", "show", variable=str(b1k8)).stdout
    assert "2x16_i8w8a32" in vta("config", "show", "--config", b2k16, variable=str(b1k8)).stdout


@pytest.mark.parametrize("path", sorted((ROOT / "config").rglob("*.json")), ids=lambda p: p.stem)
def test_every_shipped_configuration_is_legal(path: Path) -> None:
    result = vta("config", "check", path)
    assert (result.exit_code, result.stdout) == (0, f"{path}: {VTAConfig.from_json(path).bitstream}\n")


def test_check_reports_every_bad_file_and_goes_on(tmp_path: Path) -> None:
    unknown, broken = tmp_path / "unknown.json", tmp_path / "broken.json"
    unknown.write_text(json.dumps({**VTAConfig().to_dict(), "LOG_BLOK": 4}))
    broken.write_text("{")
    good = ROOT / "config" / "vta_config.json"
    result = vta("config", "check", unknown, broken, good)
    assert result.exit_code == 1
    first, second = result.stderr.splitlines()
    assert first == f"error: {unknown}: unknown key 'LOG_BLOK'; did you mean 'LOG_BLOCK'?"
    assert second.startswith(f"error: {broken}:1:2: not valid JSON")
    assert result.stdout == f"{good}: {VTAConfig().bitstream}\n"


def test_a_configuration_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = vta("config", "show", "--config", tmp_path / "none.json")
    assert result.exit_code == 1
    assert "none.json" in result.stderr


def test_the_version_is_the_packages() -> None:
    assert vta("--version").stdout == f"vta {version('vta-toolchain')}\n"

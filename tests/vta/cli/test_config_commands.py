"""``vta config show`` and ``check``, and where the configuration comes from."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from isa.config import VTAConfig
from isa.named_config import named_config, preset_names
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
    output = vta("config", "show", "--config", ROOT / "isa" / "presets" / "b1k8.json").stdout
    assert "LOG_BLOCK" in output
    assert "1x8_i8w8a32_15_14_16_16" in output
    assert VTAConfig.from_json(ROOT / "isa" / "presets" / "b1k8.json").digest in output


def test_the_environment_variable_names_the_configuration_and_the_option_wins() -> None:
    b1k8, b2k16 = (ROOT / "isa" / "presets" / f"{name}.json" for name in ("b1k8", "b2k16"))
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


def test_init_writes_a_whole_file_that_is_there_to_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    result = vta("config", "init", path, "--config", "int4")
    assert result.stdout == (
        f"{path}: 1x16_i4w4a32_15_14_17_17; `vta run --config {path}` uses it, VTA_CONFIG={path} makes it the default\n"
    )
    assert VTAConfig.from_json(path) == named_config("int4")


def test_init_writes_over_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text("precious")
    result = vta("config", "init", path)
    assert (result.exit_code, result.stderr) == (1, f"error: {path}: there is a file already; name another one\n")
    assert path.read_text() == "precious"


def test_the_configurations_of_the_package_are_listed_and_found_by_name() -> None:
    lines = vta("config", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(preset_names())
    assert "b1k8       sim        1x8_i8w8a32_15_14_16_16" in lines
    assert vta("config", "show", "--config", "b1k8", "--json").stdout == (
        json.dumps(named_config("b1k8").to_dict(), indent=2) + "\n"
    )


SCRIPT = "import sys\nimport vta\nsys.stdout.write(vta.get_env().MODEL)\n"


@pytest.mark.parametrize("command", ["", "-m vta.compat", "-m vta.cli run"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("b1k8", (0, "sim_1x8_i8w8a32_15_14_16_16", "")),
        (str(ROOT / "isa" / "presets" / "b1k8.json"), (0, "sim_1x8_i8w8a32_15_14_16_16", "")),
        ("none.json", (1, "", "VTA_CONFIG=none.json: cannot be read: No such file or directory")),
    ],
)
def test_the_variable_is_honoured_by_every_way_to_run_a_script(
    tmp_path: Path, command: str, value: str, expected: tuple[int, str, str]
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "VTA_CONFIG": value}
    arguments = [sys.executable, *command.split(), str(script)]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    code, output, error = expected
    assert (done.returncode, done.stdout) == (code, output)
    assert done.stderr.endswith(f"{error}\n" if error else "")
    assert done.stderr.count("\n") == (1 if error else 0)

"""A configuration by the path of a file, by a name of the package, by the environment variable."""

import json
from pathlib import Path

import pytest

from isa.config import ConfigError, VTAConfig
from isa.named_config import config_of_variable, named_config, preset_names

NAMES = (
    "b1k8, b2k16, batch4, binary, block32, block64, de10nano, depthwise, fused, in16out32, int4, intelfocl, pynq, "
    "tiny, tsim, ultra96, zcu104"
)


def test_the_package_has_these() -> None:
    assert ", ".join(preset_names()) == NAMES


@pytest.mark.parametrize("name", preset_names())
def test_every_configuration_of_the_package_is_legal(name: str) -> None:
    assert named_config(name) is not None


def test_a_file_goes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert named_config("b1k8").block_in == 8
    Path("b1k8").write_text(json.dumps(VTAConfig(log_batch=1).to_dict()))
    assert named_config("b1k8") == VTAConfig(log_batch=1)
    assert named_config(tmp_path / "b1k8") == VTAConfig(log_batch=1)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("b1k9", f"'b1k9': expected a file, or the name of one of {NAMES}; did you mean 'b1k8'?"),
        ("what", f"'what': expected a file, or the name of one of {NAMES}"),
        ("none.json", "none.json: cannot be read: No such file or directory"),
        ("no/where", "no/where: cannot be read: No such file or directory"),
        ("../presets/b1k8", "../presets/b1k8: cannot be read: No such file or directory"),
    ],
)
def test_what_is_neither_is_refused(name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as error:
        named_config(name)
    assert str(error.value) == text


def test_the_variable_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config_of_variable() is None
    monkeypatch.setenv("VTA_CONFIG", "")
    assert config_of_variable() is None
    monkeypatch.setenv("VTA_CONFIG", "int4")
    assert config_of_variable() == named_config("int4")


def test_a_variable_that_names_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTA_CONFIG", "none.json")
    with pytest.raises(ConfigError) as error:
        config_of_variable()
    assert str(error.value) == "VTA_CONFIG=none.json: cannot be read: No such file or directory"

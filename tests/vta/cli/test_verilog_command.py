"""``vta verilog``."""

from pathlib import Path

import pytest

from isa.config import VTAConfig
from vta.cli import main

SMALL = (
    '{"TARGET": "tsim", "HW_VER": "0.0.2", "LOG_INP_WIDTH": 3, "LOG_WGT_WIDTH": 3, "LOG_ACC_WIDTH": 5, "LOG_BATCH": 0, '
    '"LOG_BLOCK": 2, "LOG_UOP_BUFF_SIZE": 8, "LOG_INP_BUFF_SIZE": 8, "LOG_WGT_BUFF_SIZE": 8, "LOG_ACC_BUFF_SIZE": 8}'
)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["verilog", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "small.json"
    path.write_text(SMALL)
    return str(path)


@pytest.mark.parametrize(("shell", "module"), [("axi", "vta"), ("core", "vta_core")])
def test_a_file_has_the_module_and_both_digests(
    config: str, shell: str, module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.v"
    assert run("--config", config, "--shell", shell, "--data-width", "128", "-o", str(target)) == 0
    text = target.read_text()
    digest = VTAConfig.from_json(config).digest
    assert text.splitlines()[1].startswith(f"// configuration digest {digest}, hardware digest ")
    assert f"\nmodule {module}(" in text
    assert f", {shell} shell, 128-bit memory, digests {digest} and " in capsys.readouterr().out


def test_without_a_file_the_text_goes_to_the_screen(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--config", config) == 0
    assert capsys.readouterr().out.startswith("// VTA 1x4_i8w8a32_8_8_8_8, axi shell, 64-bit memory port\n")


def test_an_impossible_width_is_a_sentence(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--config", config, "--data-width", "48") == 1
    error = capsys.readouterr().err
    assert error == "error: data_width is 48, but it must be one of 64, 128, 256, 512\n"

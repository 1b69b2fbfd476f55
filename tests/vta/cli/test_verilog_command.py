"""``vta verilog``."""

from dataclasses import fields
from pathlib import Path

import pytest

from hw.verilog import VerilogError
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
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


def test_a_file_has_the_module_and_both_digests(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.v"
    assert run("--config", config, "--shell", "core", "--data-width", "128", "-o", str(target)) == 0
    text = target.read_text()
    digest = VTAConfig.from_json(config).digest
    assert text.splitlines()[1].startswith(f"// configuration digest {digest}, hardware digest ")
    assert "\nmodule vta_core(" in text
    assert f", core shell, 128-bit memory, digests {digest} and " in capsys.readouterr().out


def test_without_a_file_the_text_of_the_axi_shell_goes_to_the_screen(
    config: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hw.verilog.to_verilog", lambda vta, _hardware, *, shell: f"// {vta.bitstream}, {shell}\n")
    assert run("--config", config) == 0
    assert capsys.readouterr().out == "// 1x4_i8w8a32_8_8_8_8, axi\n"


def test_an_impossible_width_is_a_sentence(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--config", config, "--data-width", "48") == 1
    error = capsys.readouterr().err
    assert error == "error: --data-width: data_width is 48, but it must be one of 64, 128, 256, 512\n"


def test_every_size_of_the_hardware_can_be_set(
    config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[HardwareConfig] = []

    def export(_vta: VTAConfig, hardware: HardwareConfig, **_: object) -> str:
        seen.append(hardware)
        return ""

    monkeypatch.setattr("hw.verilog.to_verilog", export)
    wanted = {
        "addr_width": 40,
        "data_width": 128,
        "inst_queue_depth": 8,
        "fetch_buffer_depth": 64,
        "max_burst_beats": 16,
        "read_bursts": 8,
        "read_beats": 64,
        "write_bursts": 8,
        "load_jobs": 2,
        "store_jobs": 2,
        "share_multipliers": 1,
        "most_multipliers": 144,
        "axi3": 1,
        "axi_cache": 15,
        "axi_prot": 2,
        "cause_counters": 0,
    }
    assert set(wanted) == {field.name for field in fields(HardwareConfig)}
    sets = [part for key, value in wanted.items() for part in ("--set", f"{key}={value}")]
    assert run("--config", config, "-o", str(tmp_path / "x.v"), *sets) == 0
    assert seen == [HardwareConfig(**wanted)]


@pytest.mark.parametrize("key", ["memory_latency", "stall_seed"])
def test_a_key_of_the_simulated_memory_is_refused(config: str, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--config", config, "--set", f"{key}=3") == 1
    assert capsys.readouterr().err == (
        f"error: --set {key}: this is of a simulated memory, which Verilog has none of; leave it out\n"
    )


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], target: Path) -> str:
    """Return what the command says of a place where nothing can be written, which it finds before it exports."""

    def exported(*_: object, **__: object) -> str:
        raise AssertionError("exported before the place was looked at")

    monkeypatch.setattr("hw.verilog.to_verilog", exported)
    assert run("-o", str(target)) == 1
    return capsys.readouterr().err


def test_a_missing_folder_is_found_before_the_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "missing"
    error = refused(monkeypatch, capsys, folder / "x.v")
    assert error == f"error: {folder}/x.v: there is no folder {folder}; create it, or name another file\n"


def test_a_folder_is_found_before_the_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(monkeypatch, capsys, tmp_path)
    assert error == f"error: {tmp_path}: this is a folder; name a file in it\n"


def test_a_place_without_permission_is_found_before_the_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    error = refused(monkeypatch, capsys, tmp_path / "x.v")
    assert error == f"error: {tmp_path}/x.v: cannot be written, permission denied; name another file\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt, VerilogError("yosys is gone")])
def test_an_export_that_ends_early_leaves_the_old_file_alone(
    error: BaseException | type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x.v"
    target.write_text("old")

    def ends(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr("hw.verilog.to_verilog", ends)
    with pytest.raises((SystemExit, KeyboardInterrupt)):
        main(["verilog", "-o", str(target)])
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]

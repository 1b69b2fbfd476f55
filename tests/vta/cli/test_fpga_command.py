"""``vta fpga``."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hw.fpga.place import Placed
from hw.fpga.report import Mapped, mapped_lines
from vta.cli import main

ROOT = Path(__file__).resolve().parents[3]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["fpga", "report", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.mark.parametrize("tools", [(), ("nextpnr-ecp5: install it",)])
def test_a_dry_run_names_what_is_missing(
    tools: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hw.fpga.place.missing_tools", lambda: tools)
    assert run("--dry-run") == 0
    assert capsys.readouterr().out == ("missing: nextpnr-ecp5: install it\n" if tools else "nothing is missing\n")


@pytest.mark.parametrize(("option", "extra"), [((), "fpga"), (("--no-place",), "verilog")])
def test_a_missing_yosys_is_named_before_the_work(
    option: tuple[str, ...], extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hw.fpga.place.missing_tools", lambda: ())
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not Path(entry, "pyosys").is_dir()])
    assert run("--dry-run", *option) == 0
    assert run(*option) == 1
    captured = capsys.readouterr()
    assert captured.out == f"missing: pyosys: pip install 'vta-toolchain[{extra}]'\n"
    assert captured.err == f"error: missing: pyosys: pip install 'vta-toolchain[{extra}]'\n"


def test_a_missing_tool_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("hw.fpga.place.missing_tools", lambda: ("nextpnr-ecp5: install it",))
    assert run() == 1
    assert capsys.readouterr().err == "error: missing: nextpnr-ecp5: install it\n"


MAPPED = Mapped(Path("design.json"), {"LUT4": 20500}, {"core.fetch": 7}, ())


def test_the_report_is_of_what_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: dict[str, object] = {}

    def mapped(vta: object, hardware: object, **options: object) -> Mapped:
        seen.update(options, vta=vta, hardware=hardware)
        return MAPPED

    def placed(given: object, **options: object) -> Placed:
        assert given is MAPPED
        seen.update(options)
        return Placed(50.0, {}, ())

    monkeypatch.setattr("hw.fpga.report.map_accelerator", mapped)
    monkeypatch.setattr("hw.fpga.place.missing_tools", lambda: ())
    monkeypatch.setattr("hw.fpga.report.place_accelerator", placed)
    options = (
        "--set",
        "LOG_UOP_BUFF_SIZE=13",
        "--set",
        "axi_cache=15",
        "--device",
        "45k",
        "--speed",
        "8",
        "--seed",
        "4",
    )
    assert run(*options, "--keep", str(tmp_path)) == 0
    assert (seen["device"], seen["speed"], seen["seed"], seen["folder"]) == ("45k", 8, 4, tmp_path)
    assert getattr(seen["vta"], "log_uop_buff_size", None) == 13
    assert getattr(seen["hardware"], "axi_cache", None) == 15
    out = capsys.readouterr().out
    assert " on ECP5-45k, speed grade 8\n" in out
    assert "Fmax 50.0 MHz\n" in out
    assert "mapped: LUT4 20,500, " in out


def test_a_report_without_placement_needs_no_tool_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hw.fpga.place.missing_tools", lambda: ("nextpnr-ecp5: install it",))
    monkeypatch.setattr("hw.fpga.report.map_accelerator", lambda *_, **__: MAPPED)
    assert run("--no-place", "--keep", str(tmp_path)) == 0
    title, *lines = capsys.readouterr().out.splitlines()
    assert title.endswith(" on ECP5, not placed")
    assert lines == list(mapped_lines(MAPPED))
    assert run("--no-place", "--dry-run") == 0
    assert capsys.readouterr().out == "nothing is missing\n"


@pytest.mark.parametrize(
    "option", [("--device", "85k"), ("--speed", "6"), ("--mhz", "100"), ("--seed", "1"), ("--history", "reports")]
)
def test_a_report_without_placement_refuses_what_only_a_placement_needs(
    option: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hw.fpga.report.map_accelerator", lambda *_, **__: pytest.fail("mapped"))
    assert run("--no-place", *option) == 1
    assert capsys.readouterr().err == f"error: {option[0]}: nothing is placed with --no-place; leave it out\n"


def test_a_missing_folder_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hw.fpga.place.missing_tools", lambda: ())
    assert run("--keep", str(tmp_path / "none")) == 1
    error = capsys.readouterr().err
    assert error == f"error: {tmp_path}/none: there is no such folder; create it, or name another one\n"


def test_a_history_shows_earlier_reports_of_the_same_accelerator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "history.jsonl"
    monkeypatch.setattr("hw.fpga.place.missing_tools", lambda: ())
    monkeypatch.setattr("hw.fpga.report.map_accelerator", lambda *_, **__: MAPPED)
    for mhz, options in ((50.0, ()), (60.0, ("--speed", "8")), (55.5, ("--seed", "2"))):
        placed = Placed(mhz, {"TRELLIS_COMB": 21000}, ())
        monkeypatch.setattr("hw.fpga.report.place_accelerator", lambda *_, placed=placed, **__: placed)
        assert run("--keep", str(tmp_path), "--history", str(file), *options) == 0
    shown = capsys.readouterr().out.split("history:\n")
    assert [line.split(maxsplit=2)[2] for line in shown[-1].splitlines()] == [
        "seed 1    50.0 MHz  LUT 21,000, FF 0, multipliers 0, block RAMs 0",
        "seed 2    55.5 MHz  LUT 21,000, FF 0, multipliers 0, block RAMs 0",
    ]
    file.write_text("no report\n")
    assert run("--keep", str(tmp_path), "--history", str(file)) == 1
    assert capsys.readouterr().err.startswith(f"error: {file}, line 1: expected a report's when, ")


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--history", "{folder}"), "{folder}: this is a folder; name a file in it"),
        (
            ("--history", "{folder}/none/h"),
            "{folder}/none/h: there is no folder {folder}/none; create it, or name another file",
        ),
        (("--keep", "{folder}/none"), "{folder}/none: there is no such folder; create it, or name another one"),
        (("--keep", "{folder}/file"), "{folder}/file: this is a file; name a folder"),
        (("--set", "data_width=3"), "--set: data_width is 3, but it must be one of 64, 128, 256, 512"),
        (
            ("--set", "memory_latency=3"),
            "--set memory_latency: this is of a simulated memory, which an FPGA has none of; leave it out",
        ),
    ],
)
def test_what_cannot_be_done_is_said_before_the_work(
    options: tuple[str, str],
    expected: str,
    dry_run: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("hw.fpga.place.missing_tools", lambda: ())
    monkeypatch.setattr("hw.fpga.report.map_accelerator", lambda *_, **__: pytest.fail("mapped"))
    (tmp_path / "file").touch()
    assert run(*(option.format(folder=tmp_path) for option in options), *dry_run) == 1
    assert capsys.readouterr().err == f"error: {expected.format(folder=tmp_path)}\n"


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
def test_a_folder_that_cannot_be_written_is_said_before_the_work(
    dry_run: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hw.fpga.report.map_accelerator", lambda *_, **__: pytest.fail("mapped"))
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    assert run("--no-place", "--keep", str(tmp_path), *dry_run) == 1
    assert capsys.readouterr().err == (
        f"error: {tmp_path}: cannot be written, permission denied; name another folder\n"
    )
    assert run("--no-place", *dry_run) == 1
    assert capsys.readouterr().err == (
        "error: the working folder cannot be written, permission denied; --keep names another one\n"
    )


@pytest.mark.parametrize("option", [("--mhz", "0"), ("--mhz", "nan"), ("--mhz", "inf"), ("--seed", "-1"),
                                    ("--speed", "9"), ("--device", "85")])  # fmt: skip
def test_numbers_out_of_range_are_refused(option: tuple[str, str]) -> None:
    assert run(*option) == 2


@pytest.mark.parametrize(
    "command", ["from vta.cli import main; main(['fpga', 'report'])", "from bench.fmax import main; main()"]
)
def test_a_report_that_is_ended_leaves_no_folder(command: str, tmp_path: Path) -> None:
    """SIGTERM, as a scheduler or ``timeout`` sends it: Ctrl-C has been an exception before."""
    program = f"""
import os, signal, sys, time
import hw.fpga.place, hw.fpga.report, hw.verilog.yosys

def ended(*_, folder, **__):
    print(sorted(os.listdir()), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)

hw.fpga.report.map_accelerator = ended
hw.fpga.place.missing_tools = lambda: ()
hw.verilog.yosys.missing_yosys = lambda _: ()
{command}
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")
    assert done.stdout.startswith("['.vta-fpga-")
    assert list(tmp_path.iterdir()) == []

"""``vta fpga build``."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hw.fpga.boards import litex_project, vivado_project
from hw.fpga.place import Placed
from vta.cli import main

ROOT = Path(__file__).resolve().parents[3]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["fpga", "build", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Tools that are there, and note what they are asked for; ``eth`` is what the second clock reaches."""
    seen: dict[str, object] = {"eth": 126.0}

    def write(board: object, vta: object, hardware: object, *, folder: Path, **options: object) -> None:
        seen.update(options, board=board, vta=vta, hardware=hardware)
        (folder / "gateware").mkdir(exist_ok=True)
        (folder / "board.json").write_text('{"board": "ecpix5"}')

    def make(board: object, folder: Path, *, seed: int) -> Placed:
        clocks = {
            "sys": {"achieved": 61.54, "constraint": 60.0},
            "eth": {"achieved": seen["eth"], "constraint": 125.0},
        }
        (folder / "gateware" / "report.json").write_text(json.dumps({"fmax": clocks}))
        seen["seed"] = seed
        return Placed(61.5, {"TRELLIS_COMB": 21000, "TRELLIS_FF": 12000, "MULT18X18D": 28, "DP16KD": 40}, ())

    monkeypatch.setattr(litex_project, "missing_for_litex", lambda: ())
    monkeypatch.setattr(litex_project, "write_litex_project", write)
    monkeypatch.setattr(litex_project, "make_bitstream", make)
    return seen


@pytest.mark.parametrize("missing", [(), ("litex: install it", "ecppack: install it")])
def test_a_dry_run_names_what_is_missing(
    missing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(litex_project, "missing_for_litex", lambda: missing)
    assert run("--board", "ecpix5", "--dry-run", "--set", "most_multipliers=9") == 0
    expected = "missing: litex: install it\nmissing: ecppack: install it\n" if missing else "nothing is missing\n"
    assert capsys.readouterr().out == expected


def test_a_missing_tool_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(litex_project, "missing_for_litex", lambda: ("litex: install it",))
    assert run("--board", "ecpix5", "-o", "x") == 1
    assert capsys.readouterr().err == "error: missing: litex: install it\n"


def test_a_board_is_built_as_it_was_asked_for(
    tmp_path: Path, tools: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a" / "b"
    options = ("--set", "LOG_UOP_BUFF_SIZE=13", "--set", "most_multipliers=150", "--mhz", "70", "--ip", "10.0.0.2")
    assert run("--board", "ecpix5", "-o", str(folder), *options, "--seed", "3") == 0
    assert (tools["seed"], tools["mhz"], tools["ip"]) == (3, 70.0, "10.0.0.2")
    assert getattr(tools["vta"], "log_uop_buff_size", None) == 13
    assert getattr(tools["hardware"], "most_multipliers", None) == 150
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{folder}: 1x16_")
    assert lines[0].endswith(
        "on LambdaConcept ECPIX-5 (LFE5UM5G-85F, 512 MB of DDR3), 70 MHz, host over etherbone and uart"
    )
    assert lines[1:] == [
        "LUT 21,000, FF 12,000, multipliers 28, block RAMs 40",
        "  126.0 MHz of 125  eth",
        "   61.5 MHz of 60  sys",
        f"bitstream: {folder}/gateware/top.bit",
    ]


def test_a_clock_that_is_not_reached_is_an_error_after_the_bitstream(
    tmp_path: Path, tools: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    tools["eth"] = 92.6
    assert run("--board", "ecpix5", "-o", str(tmp_path), "--set", "most_multipliers=156") == 1
    captured = capsys.readouterr()
    assert captured.out.endswith("gateware/top.bit\n")
    assert captured.err == (
        "error: the bitstream is too slow for its clocks: eth reaches 92.6 of 125 MHz; "
        "try another --seed, or a lower --mhz\n"
    )


def test_a_project_alone_names_the_script_to_run(
    tmp_path: Path, tools: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--board", "ulx3s", "-o", str(tmp_path), "--project-only", "--set", "most_multipliers=9") == 0
    assert capsys.readouterr().out.endswith(f"\nthe bitstream: cd {tmp_path}/gateware && sh build_top.sh\n")
    assert (tools["mhz"], tools["ip"], tools["seed"]) == (40.0, "192.168.1.50", 1)  # the script's is the seed, too


def test_the_command_that_is_named_can_be_pasted_whatever_the_folder_is_called(
    tmp_path: Path, tools: dict[str, object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "it's a $HOME"
    monkeypatch.setattr(vivado_project, "write_vivado_project", lambda *_, **__: None)
    zynq = ("--set", "axi3=1", "--set", "max_burst_beats=16")
    for board, inner, sets in (("ulx3s", folder / "gateware", ()), ("pynq-z1", folder, zynq)):
        options = ("-o", str(folder), "--project-only", "--set", "most_multipliers=9", *sets)
        assert run("--board", board, *options) == 0
        command = capsys.readouterr().out.splitlines()[-1].removeprefix("the bitstream: ")
        assert shlex.split(command)[:3] == ["cd", str(inner), "&&"]
        (folder / "board.json").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--board", "ecpix5", "--set", "most_multipliers=9"), "--output: name a folder for the project"),
        (
            ("--board", "ecpix5", "-o", "{file}", "--set", "most_multipliers=9"),
            "{file}: this is a file; name a folder for the project",
        ),
        (
            ("--board", "ecpix5", "-o", "{file}/x", "--set", "most_multipliers=9"),
            "{file}/x: {file} is a file, and no folder can be made in it; name another one",
        ),
        (
            ("--board", "ecpix6", "-o", "{file}"),
            "--board: the boards are ecpix5, ulx3s, pynq-z1, arty-z7, not 'ecpix6'; did you mean 'ecpix5'?",
        ),
        (
            ("--board", "ecpix5", "-o", "{file}", "--ip", "10.0.0.300", "--set", "most_multipliers=9"),
            "--ip: expected an address such as 192.168.1.50, not '10.0.0.300'",
        ),
        (
            ("--board", "ecpix5", "-o", "{file}x", "--ip", "255.255.255.255", "--set", "most_multipliers=9"),
            "--ip: expected the address of a machine, such as 192.168.1.50, not '255.255.255.255'",
        ),
        (
            ("--board", "ecpix5", "-o", "{file}x", "--ip", "0.0.0.7", "--set", "most_multipliers=9"),
            "--ip: expected the address of a machine, such as 192.168.1.50, not '0.0.0.7'",
        ),
        (
            ("--board", "ulx3s", "-o", "{file}x", "--ip", "10.0.0.3", "--set", "most_multipliers=9"),
            "--ip: ulx3s has no Ethernet for the host; leave it out",
        ),
        (
            ("--board", "ulx3s", "-o", "{file}", "--set", "addr_width=40"),
            "--board ulx3s: its memory has addresses of 32 bits, not addr_width 40",
        ),
    ],
)
def test_what_cannot_be_built_is_one_error(
    options: tuple[str, ...],
    expected: str,
    tmp_path: Path,
    tools: dict[str, object],
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "file"
    file.touch()
    for more in ((), ("--dry-run",)):
        given = [*(option.format(file=file) for option in options), *more]
        if more and "-o" not in options:
            assert run(*given) == 0  # nothing is made
        else:
            assert run(*given) == 1
            assert capsys.readouterr().err == f"error: {expected.format(file=file)}\n"
    assert "board" not in tools
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("option", [("--mhz", "0"), ("--mhz", "nan"), ("--seed", "-1"), ("--seed", "4294967296")])
def test_numbers_out_of_range_are_refused(option: tuple[str, str], tmp_path: Path) -> None:
    assert run("--board", "ecpix5", "-o", str(tmp_path), *option) == 2


def test_an_older_build_is_replaced_and_another_boards_is_not(
    tmp_path: Path, tools: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("-o", str(tmp_path), "--project-only", "--set", "most_multipliers=9")
    assert run("--board", "ecpix5", *options) == 0
    (tmp_path / "gateware" / "top.bit").write_text("older")
    assert run("--board", "ecpix5", *options) == 0
    assert not (tmp_path / "gateware" / "top.bit").exists()
    capsys.readouterr()
    assert run("--board", "ulx3s", *options) == 1
    assert capsys.readouterr().err == (
        f"error: {tmp_path}: it has the project of the board 'ecpix5', not 'ulx3s'; name another folder\n"
    )
    assert getattr(tools["board"], "name", None) == "ecpix5"


def test_a_project_for_a_zynq_names_the_command_of_vivado(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: dict[str, object] = {}
    monkeypatch.setattr(vivado_project, "write_vivado_project", lambda *_, **options: seen.update(options))
    sets = ["axi3=1", "max_burst_beats=16", "share_multipliers=1", "most_multipliers=144"]
    options = [word for each in sets for word in ("--set", each)]
    assert run("--board", "pynq-z1", "-o", str(tmp_path), *options, "--seed", "2") == 1
    assert capsys.readouterr().err == (
        "error: --seed: Vivado places the project of pynq-z1, and takes none; leave it out\n"
    )
    assert run("--board", "pynq-z1", "-o", str(tmp_path), *options) == 0
    assert seen == {"folder": tmp_path, "mhz": 100.0}
    assert capsys.readouterr().out.endswith(
        f" for Digilent PYNQ-Z1 (XC7Z020, 512 MB of DDR3), 100 MHz\n"
        f"the bitstream: cd {tmp_path} && vivado -mode batch -source build.tcl\n"
    )


def test_a_dry_run_for_a_zynq_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(vivado_project, "find_spec", lambda _: None)
    given = ("--set", "axi3=1", "--set", "max_burst_beats=16", "--set", "most_multipliers=144")
    assert run("--board", "arty-z7", "--dry-run", *given) == 0
    assert capsys.readouterr().out == "missing: pyosys: pip install 'vta-toolchain[verilog]'\n"
    assert run("--board", "arty-z7", "--dry-run") == 1  # as without it
    captured = capsys.readouterr()
    assert captured.out == "missing: pyosys: pip install 'vta-toolchain[verilog]'\n"
    assert captured.err == ("error: --board arty-z7: its memory port is AXI3: --set axi3=1 --set max_burst_beats=16\n")


def test_a_build_that_is_ended_ends_its_tools_and_leaves_no_board(tmp_path: Path) -> None:
    """SIGTERM to the command alone, as a scheduler sends it, while LiteX works."""
    program = """
import os, signal, subprocess, sys, time
from hw.fpga.boards import litex_project

run = subprocess.run
def told(command, **options):
    litex = "import os, time; print(os.getpid(), flush=True); os.kill(os.getppid(), 15); time.sleep(60)"
    return run([sys.executable, "-c", litex], cwd=options["cwd"], timeout=options["timeout"])

litex_project.subprocess.run = told
litex_project.missing_for_litex = lambda: ()
litex_project.to_verilog = lambda *_, **__: ""
from vta.cli import main
main(["fpga", "build", "--board", "ecpix5", "--set", "most_multipliers=150", "-o", "made"])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
    assert not (tmp_path / "made" / "board.json").exists()

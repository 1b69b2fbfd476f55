"""``vta diff`` on engines, programs, scripts and traces."""

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from isa.text.assembler import assemble
from runtime.devices.device import DeviceDebug, DeviceError
from runtime.session import Session
from vta.cli.app import app
from vta.inspect.trace import recording

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
EXAMPLE = EXAMPLES / "add_three.vta"
SCRIPT = EXAMPLES / "vector_add.py"


def vta(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The example with another immediate."""
    path = tmp_path / "other.vta"
    path.write_text(EXAMPLE.read_text().replace("imm=3", "imm=4"))
    return path


def test_engines_that_agree_say_so() -> None:
    result = vta("diff", EXAMPLE)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{EXAMPLE}: reference, sim, tsim agree on 5 instructions\n"


def test_every_launch_of_a_script_is_compared() -> None:
    result = vta("diff", SCRIPT, "--engines", "sim, reference")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(f"{SCRIPT}: sim, reference agree on 8 instructions\n")


def test_a_program_that_stops_is_told(tmp_path: Path) -> None:
    bad = tmp_path / "bad.vta"
    bad.write_text(EXAMPLE.read_text().replace("imm=3 push_next", "imm=3"))
    result = vta("diff", bad, "--engines", "reference,sim")
    assert result.exit_code == 0
    assert result.stdout == f"{bad}: reference, sim agree up to where all of them stop: deadlock\n"


def test_two_programs_are_compared(other: Path) -> None:
    result = vta("diff", EXAMPLE, other)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"{EXAMPLE} (the first) and {other} (the second): first difference at instruction 2",
        "  the first: alu.add uop=0:1 iter=1,64 dst=0,1 src=0,1 imm=3 push_next",
        "  the second: alu.add uop=0:1 iter=1,64 dst=0,1 src=0,1 imm=4 push_next",
        "  ACC[0, row 0, lane 0]: the first has -509, the second has -508 (1023 more differ)",
    ]
    assert vta("diff", EXAMPLE, EXAMPLE).stdout == f"{EXAMPLE} and {EXAMPLE} do the same; the same instructions\n"


def test_instructions_that_are_written_differently_and_do_the_same_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "same.vta"
    path.write_text(EXAMPLE.read_text().replace("imm=3 push_next", "imm=3"))
    assert vta("diff", EXAMPLE, path).stdout == (
        f"{EXAMPLE} and {path} do the same; 1 instruction is written differently, the first of them 2\n"
    )


def test_two_traces_are_compared(other: Path, tmp_path: Path) -> None:
    traces = []
    for name, program in (("a", EXAMPLE), ("b", EXAMPLE), ("c", other)):
        traces.append(tmp_path / name)
        assert vta("run", program, "--record", traces[-1]).exit_code == 0
    same, different = vta("diff", *traces[:2]), vta("diff", traces[0], traces[2])
    assert same.stdout == f"{traces[0]} and {traces[1]} hold the same launches at the same times\n"
    assert (same.exit_code, different.exit_code) == (0, 1)
    assert "first difference at instruction 2\n  launch 0\n  the first: alu.add " in different.stdout
    alone, mixed = vta("diff", traces[0]), vta("diff", traces[0], EXAMPLE)
    assert alone.stderr == f"error: {traces[0]}: a trace is compared with another trace; name two\n"
    assert mixed.stderr == f"error: {EXAMPLE}: this is no trace; expected a file that `vta run --record` wrote\n"


def test_bad_calls_are_one_sentence(tmp_path: Path) -> None:
    assert vta("diff", EXAMPLE, "--engines", "sim").stderr == (
        "error: two or more different engines are needed to compare, not sim; the engines are sim, reference, tsim\n"
    )
    assert vta("diff", EXAMPLE, "--engines", "sim,gpu").stderr == (
        "error: device 'gpu' is unknown; the devices are sim, reference, tsim\n"
    )
    assert "none.vta: no such file; expected a .vta" in vta("diff", tmp_path / "none.vta").stderr
    launch = vta("diff", SCRIPT, SCRIPT, "--launch", "3")
    assert launch.stderr == f"error: {SCRIPT}: launch 3 is asked for, and there is 1\n"
    empty = tmp_path / "empty.py"
    empty.write_text("")
    assert vta("diff", empty).stderr == f"error: {empty}: the script launched nothing\n"


@pytest.mark.parametrize(
    ("text", "places"),
    [("nop.load", "nowhere"), ("", "nowhere"), ("finish\nnop.load", "0"), ("finish\nfinish", "0, 1")],
)
def test_a_program_that_no_engine_begins_is_not_compared(tmp_path: Path, text: str, places: str) -> None:
    path = tmp_path / "p.vta"
    path.write_text(text)
    result = vta("diff", path)
    assert result.exit_code == 1
    assert result.stderr == (
        f"error: {path}: no engine runs it: FINISH must be the last instruction, and is at: {places}\n"
    )


def test_how_launches_ended_and_whether_a_recording_did_is_a_difference(tmp_path: Path) -> None:
    """A launch that is refused before it begins has no times that could tell it from another."""
    good, bad, cut = tmp_path / "good", tmp_path / "bad", tmp_path / "cut"
    program = assemble("load.inp x=1 dram=0x100\nfinish")
    for path, words in ((good, program), (bad, replace(program, instructions=program.instructions[:1], origins=()))):
        session = Session(program.config, "tsim")
        session.device.debug_mode(DeviceDebug.SKIP_EXEC)
        with recording(session, path), contextlib.suppress(DeviceError):
            session.run_program(words)
    result = vta("diff", good, bad)
    assert result.exit_code == 1
    assert "the first finished" in result.stdout
    assert "the second failed: " in result.stdout
    cut.write_bytes(good.read_bytes()[:-1])
    result = vta("diff", good, cut)
    assert (result.exit_code, result.stdout) == (
        1,
        f"{good} (the first) and {cut} (the second): the recording of the second was cut off, the other was not\n",
    )
    result = vta("diff", cut, cut)
    assert (result.exit_code, result.stdout) == (
        0,
        f"{cut} and {cut} hold the same launches at the same times, and both recordings were cut off\n",
    )

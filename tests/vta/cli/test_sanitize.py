"""``vta run --sanitize`` on programs and scripts."""

from pathlib import Path

from typer.testing import CliRunner, Result

from vta.cli.app import app

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
EXAMPLE = EXAMPLES / "add_three.vta"


def vta(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_a_good_program_runs_with_notes_on_its_numbers() -> None:
    result = vta("run", EXAMPLE, "--sanitize")
    assert result.exit_code == 0, result.output
    note = "STORE cuts ACC element 0, row 0, lane 0: -509 becomes 3 (and 767 more)"
    assert result.stdout.startswith(f"{EXAMPLE}: note: instruction 3: {note}\nC: int8[64, 16]\n")


def test_a_program_with_errors_does_not_run(tmp_path: Path) -> None:
    bad = tmp_path / "bad.vta"
    bad.write_text(EXAMPLE.read_text().replace("x=64", "x=60", 1))
    result = vta("run", bad, "--sanitize")
    assert result.exit_code == 1
    assert result.stdout.startswith(
        f"{bad}: error: instruction 2: ALU reads ACC elements 60 to 63, which nothing has written\n"
    )
    assert "C: " not in result.stdout


def test_every_launch_of_a_script_is_checked() -> None:
    script = EXAMPLES / "vector_add.py"
    result = vta("run", script, "--sanitize", "--trace", "-")
    assert result.exit_code == 0, result.output
    assert "launch 0: 8 instructions" in result.stdout
    assert result.stdout.endswith(f"{script}: 1 launch sanitized, no errors\n")


SCRIPT = """\
import vta
from isa.instructions import MemoryId
session = vta.get_env().session
block = session.memory.alloc(4096)
with session.program():
    for sram in ({first}, 4):
        session.queue.store_buffer_2d(sram, MemoryId.OUT, block, 0, x_size=1, y_size=1, x_stride=1)
        session.queue.synchronize()
"""


def test_errors_in_a_script_are_counted_and_told(tmp_path: Path) -> None:
    script = tmp_path / "bad.py"
    script.write_text(SCRIPT.format(first=3))
    result = vta("run", script, "--sanitize")
    assert result.exit_code == 1, result.output
    assert result.stdout.splitlines() == [
        "launch 0: error: instruction 0 (from VTAStoreBuffer2D): STORE reads ACC element 3, which nothing has written",
        "launch 1: error: instruction 0 (from VTAStoreBuffer2D): STORE reads ACC element 4, which nothing has written",
        f"{script}: 2 launches sanitized, 2 errors",
    ]


def test_what_was_told_of_one_launch_of_a_program_is_not_told_of_the_next(tmp_path: Path) -> None:
    script = tmp_path / "bad.py"
    script.write_text(SCRIPT.format(first=4))
    result = vta("run", script, "--sanitize")
    assert result.stdout.endswith(f"{script}: 2 launches sanitized, 1 error\n")


def test_the_launches_of_a_capsule_are_checked_before_it_is_replayed(tmp_path: Path) -> None:
    good, bad, script = tmp_path / "good.capsule", tmp_path / "bad.capsule", tmp_path / "bad.py"
    assert vta("run", EXAMPLE, "--capsule", good).exit_code == 0
    result = vta("run", good, "--sanitize")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"{good}: note: instruction 3: STORE cuts ACC element 0")
    script.write_text(SCRIPT.format(first=3))
    vta("run", script, "--capsule", bad)
    result = vta("run", bad, "--sanitize")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"{bad}, launch {number}: error: instruction 0 (from VTAStoreBuffer2D): STORE reads ACC element {element}, "
        "which nothing has written"
        for number, element in enumerate((3, 4))
    ]

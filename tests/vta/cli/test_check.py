"""``vta check``: what it prints, and how much of it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from vta.cli.app import app

STORES = "".join(f"store dram={0x400 + i} x=1 sram={i}\n" for i in range(25))
TEXT = f".output C address=0x4000 type=int8 shape=4096\n.text\n{STORES}finish\n"


@pytest.mark.parametrize(("limit", "lines"), [((), 22), (("--limit", "3"), 5), (("--limit", "0"), 26)])
def test_only_some_findings_are_printed_and_all_are_counted(tmp_path: Path, limit: tuple[str, ...], lines: int) -> None:
    program = tmp_path / "many.vta"
    program.write_text(TEXT)
    result = CliRunner().invoke(app, ["check", str(program), *limit])
    printed = result.stdout.splitlines()
    assert (result.exit_code, len(printed)) == (1, lines)
    assert printed[0] == f"{program}: error: instruction 0: STORE reads ACC element 0, which nothing has written"
    assert printed[-1] == f"{program}: 26 instructions, 25 errors"
    if lines < 26:
        assert printed[-2] == f"{program}: ... and {27 - lines} more findings (--limit 0 prints them all)"


EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def vta(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_a_script_is_checked_launch_by_launch() -> None:
    script = EXAMPLES / "vector_add.py"
    result = vta("check", script)
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(f"{script}: 8 instructions, no errors\n")


def test_the_launches_of_a_capsule_can_be_checked_compared_and_printed(tmp_path: Path) -> None:
    capsule, text = tmp_path / "add.capsule", tmp_path / "add.vta"
    script = EXAMPLES / "vector_add.py"
    assert vta("run", script, "--capsule", capsule).exit_code == 0
    assert vta("check", capsule).stdout == f"{capsule}: 8 instructions, no errors\n"
    assert vta("diff", capsule, "--engines", "reference,sim").exit_code == 0
    assert vta("disasm", capsule, "-o", text).exit_code == 0
    assert vta("diff", capsule, text).stdout == f"{capsule} and {text} do the same; the same instructions\n"
    assert vta("disasm", capsule, "--launch", "2").stderr == (
        f"error: {capsule}: launch 2 is asked for, and there is 1\n"
    )

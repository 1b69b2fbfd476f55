"""``vta check``: what it prints, and how much of it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

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
        assert printed[-2] == f"{program}: ... and {27 - lines} more (--limit 0 prints them all)"

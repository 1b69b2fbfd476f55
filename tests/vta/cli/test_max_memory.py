"""``--max-memory``: files that take much more memory than they have are refused, until whoever trusts them says so."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from isa.text.assembler import assemble_file
from runtime.session import Session
from vta.cli.app import app
from vta.inspect.trace import recording

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

BOMB = ".data A type=int8 shape=120000000 zeros\n.text\nfinish\n"


def vta(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def bomb(tmp_path: Path) -> Path:
    path = tmp_path / "bomb.vta"
    path.write_text(BOMB)
    return path


@pytest.mark.parametrize("command", ["run", "check", "disasm", "asm", "diff", "debug"])
def test_a_file_that_takes_too_much_is_refused_by_every_command(bomb: Path, command: str) -> None:
    result = vta(command, bomb)
    assert (result.exit_code, result.stderr) == (
        1,
        f"error: {bomb}:1: A would take 343.3 MiB of memory, and the limit is 256 MiB (for a file of {len(BOMB)} "
        "bytes); raise it (--max-memory) if you trust the file\n",
    )


def test_the_limit_is_what_was_asked_for(bomb: Path) -> None:
    assert vta("check", bomb, "--max-memory", "1G").exit_code == 0
    assert "the limit is 1 KiB (as was asked for)" in vta("check", bomb, "--max-memory", "1024").stderr
    assert vta("check", bomb, "--max-memory", "400MiB").exit_code == 0


@pytest.mark.parametrize("size", ["x", "-1", "1.5G", "1P", "", "9" * 30])
def test_what_is_no_size_is_refused(bomb: Path, size: str) -> None:
    result = vta("check", bomb, "--max-memory", size)
    assert result.exit_code == 2
    said = " ".join(result.stderr.replace("│", " ").split())
    assert f"{size!r} is no size such as 512M, 4G or a number of bytes" in said


def test_traces_and_capsules_have_the_limit_too(tmp_path: Path) -> None:
    trace, capsule = tmp_path / "t", tmp_path / "c"
    program = EXAMPLES / "add_three.vta"
    assert vta("run", program, "--record", trace, "--capsule", capsule).exit_code == 0
    for command in (
        ("trace", trace),
        ("trace", trace, "--html", tmp_path / "h"),
        ("trace", trace, "--perfetto", tmp_path / "p"),
        ("explain", trace),
        ("diff", trace, trace),
        ("run", capsule),
        ("run", capsule, "--sanitize"),
        ("reduce", capsule, "-o", tmp_path / "r"),
        ("disasm", capsule),
    ):
        result = vta(*command, "--max-memory", "100")
        assert result.exit_code == 1, command
        assert "of memory, and the limit is 100 bytes" in result.stderr
    assert not list(tmp_path.glob("[hpr]"))


def test_a_page_of_many_launches_has_a_limit_of_its_own(tmp_path: Path) -> None:
    trace, program = tmp_path / "t", assemble_file(EXAMPLES / "add_three.vta")
    session = Session(program.config, "sim")
    with recording(session, trace):
        for _ in range(10):
            session.run_program(program)
    assert vta("trace", trace, "--max-memory", "25K").exit_code == 0
    result = vta("trace", trace, "--html", tmp_path / "page", "--max-memory", "25K")
    assert result.stderr == (
        f"error: {trace}: launch 4 on the page would take 5.8 KiB of memory, and the limit is 25 KiB, less the 23 KiB "
        "that other parts took (as was asked for); raise it (--max-memory) if you trust the file\n"
    )
    assert vta("trace", trace, "--html", tmp_path / "page", "--max-memory", "75K").exit_code == 0

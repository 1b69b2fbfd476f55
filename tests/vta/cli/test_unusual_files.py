"""Odd files as inputs, outputs that must not be replaced, names that are not text, streams that are gone."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from isa.program_file import load_program
from isa.text.assembler import assemble_file
from vta.cli.app import app

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "add_three.vta"

PROGRAMS = "a .vta or binary program, a capsule or a .py script"


def vta(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "vta.cli", *map(str, arguments)]


def process(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), cwd=ROOT, text=True, check=False, **options)


def test_a_program_is_read_from_a_pipe(tmp_path: Path) -> None:
    binary = tmp_path / "add.vtab"
    vta("asm", EXAMPLE, "-o", binary)
    for source in (EXAMPLE, binary):
        with source.open("rb") as file:
            cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
        result = process("check", "/dev/stdin", stdin=cat.stdout, capture_output=True)
        cat.communicate()
        assert (result.returncode, result.stdout) == (0, "/dev/stdin: 5 instructions, no errors\n")


def test_asm_writes_into_a_pipe_and_does_not_replace_it(tmp_path: Path) -> None:
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    assert vta("asm", EXAMPLE, "-o", pipe).exit_code == 0
    reader.join()
    assert pipe.is_fifo()
    (tmp_path / "copy.vtab").write_bytes(received[0])
    assert load_program(tmp_path / "copy.vtab") == assemble_file(EXAMPLE)


def test_asm_follows_a_link_and_leaves_it_a_link(tmp_path: Path) -> None:
    link = tmp_path / "link.vtab"
    link.symlink_to("program.vtab")
    assert vta("asm", EXAMPLE, "-o", link).exit_code == 0
    assert link.is_symlink()
    assert load_program(tmp_path / "program.vtab") == assemble_file(EXAMPLE)


def test_asm_does_not_overwrite_its_source(tmp_path: Path) -> None:
    for name in ("text.vta", "text.vtab"):
        source = tmp_path / name
        source.write_text("finish\n")
        result = vta("asm", source, *(["-o", source] if name == "text.vta" else []))
        assert result.exit_code == 1
        assert result.stderr == f"error: {source}: this is the text itself; name another file with --output\n"
        assert source.read_text() == "finish\n"


def test_asm_of_a_binary_says_that_it_is_one(tmp_path: Path) -> None:
    binary = tmp_path / "add.vtab"
    vta("asm", EXAMPLE, "-o", binary)
    result = vta("asm", binary, "-o", tmp_path / "again.vtab")
    assert result.exit_code == 1
    assert result.stderr == f"error: {binary}: expected text, found a program that is assembled already\n"


def test_text_may_begin_with_a_byte_order_mark_and_have_any_line_ends(tmp_path: Path) -> None:
    source = tmp_path / "windows.vta"
    for ends in (b"\r\n", b"\r"):
        source.write_bytes(b"\xef\xbb\xbf" + EXAMPLE.read_bytes().replace(b"\n", ends))
        assert assemble_file(source) == assemble_file(EXAMPLE)


@pytest.mark.parametrize("arguments", [["run"], ["lower"]], ids=["run", "lower"])
def test_a_folder_or_nothing_is_no_input(tmp_path: Path, arguments: list[str]) -> None:
    missing = vta(*arguments, tmp_path / "none.py")
    assert missing.exit_code == 1
    assert missing.stderr.startswith(f"error: {tmp_path / 'none.py'}: no such file; expected ")
    folder = vta(*arguments, tmp_path)
    assert folder.exit_code == 1
    assert folder.stderr.startswith(f"error: {tmp_path}: this is a folder; expected ")


@pytest.mark.parametrize("command", ["check", "disasm"])
def test_a_file_that_is_not_there_is_named_with_what_was_expected(tmp_path: Path, command: str) -> None:
    none = tmp_path / "none"
    assert vta(command, none).stderr == f"error: {none}: no such file; expected {PROGRAMS}\n"
    assert vta(command, tmp_path).stderr == f"error: {tmp_path}: this is a folder; expected {PROGRAMS}\n"


def test_an_output_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    target = tmp_path / "none" / "x"
    assert (
        vta("asm", EXAMPLE, "-o", target).stderr == f"error: {target}: cannot be written: No such file or directory\n"
    )
    assert vta("disasm", EXAMPLE, "-o", target).stderr == f"error: {target}: No such file or directory\n"
    assert vta("run", EXAMPLE, "--trace", target).stderr == (
        f"error: {target}: there is no folder {target.parent}; create it, or name another file\n"
    )


def test_lower_refuses_a_program(tmp_path: Path) -> None:
    result = vta("lower", EXAMPLE)
    assert result.stderr == f"error: {EXAMPLE}: only scripts are lowered; `vta disasm` prints a program\n"


def test_a_number_without_end_in_a_configuration_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"LOG_BATCH": ' + "9" * 5000 + "}")
    assert vta("config", "check", path).stderr == f"error: {path}: a number has too many digits\n"


def test_a_configuration_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + (ROOT / "config" / "vta_config.json").read_bytes())
    assert vta("config", "check", path).exit_code == 0


def test_messages_print_what_looks_like_markup_as_it_is(tmp_path: Path) -> None:
    name = r"[bold]a\[x]:smile:[/]".replace("/", "")
    result = vta("check", tmp_path / name)
    assert result.stderr == f"error: {tmp_path / name}: no such file; expected {PROGRAMS}\n"


def test_a_name_that_is_no_text_is_printed_with_escapes(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/x\xff.vta"
    Path(os.fsdecode(name)).write_text("finish\n")
    result = subprocess.run(
        [*map(os.fsencode, command("check")), name],
        cwd=ROOT,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
    )
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout == os.fsencode(tmp_path) + b"/x\\udcff.vta: 1 instruction, no errors\n"


@pytest.mark.parametrize("arguments", [["disasm"], ["run", "--stats"]], ids=["disasm", "run"])
def test_a_closed_output_is_no_traceback(arguments: list[str]) -> None:
    shell = f'exec "$0" -m vta.cli {" ".join(arguments)} "$1" >&-'
    result = subprocess.run(
        ["sh", "-c", shell, sys.executable, str(EXAMPLE)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_a_reader_that_leaves_early_is_no_traceback(tmp_path: Path) -> None:
    long = tmp_path / "long.vta"
    long.write_text(".text\n" + "nop.load\n" * 20_000 + "finish\n")
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # or Python loses it
    writer = subprocess.Popen(
        command("disasm", long), cwd=ROOT, env=buffered, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert writer.stdout is not None
    assert writer.stderr is not None
    writer.stdout.readline()
    writer.stdout.close()
    assert writer.stderr.read() == b""
    writer.stderr.close()
    assert writer.wait() == 1


def test_an_interrupt_ends_a_program_inside_a_single_instruction(tmp_path: Path) -> None:
    endless = tmp_path / "endless.vta"
    micro_ops = "dst=0 src=0 wgt=0\ndst=1 src=1 wgt=1\n" * 4096
    gemm = "gemm uop=0:8192 iter=16383,16383\n"  # 2^41 tensor operations
    endless.write_text(
        f".output A type=int8 shape=16\n.uop\n{micro_ops}.text\nload.uop dram=uops x=8192\n{gemm}finish\n"
    )
    trace = tmp_path / "trace"
    os.mkfifo(trace)
    runner = subprocess.Popen(
        command("run", endless, "--trace", trace),
        cwd=ROOT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    trace.read_text()  # it is written just before the program runs
    for _ in range(600):
        runner.send_signal(signal.SIGINT)
        try:
            assert runner.wait(timeout=0.1) in (-signal.SIGINT, 130)
            return
        except subprocess.TimeoutExpired:
            continue
    runner.kill()
    pytest.fail("the program could not be interrupted")

"""Ctrl-C at any time ends a command without a traceback, and leaves no file half-written or without a name."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.turns import few

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

LONG = """
.data A type=int32 shape=64,16
    arange -512
.output C type=int8 shape=64,16
.uop
    dst=0 src=0
.text
    load.uop dram=uops x=1
    load.acc dram=A x=64
{body}
    alu.add uop=0:1 iter=1,64 dst=0,1 src=0,1 imm=3 push_next
    store dram=C x=64 pop_prev push_prev
    finish pop_next
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program that takes hours on every device, and one of very many instructions."""
    made = tmp_path_factory.mktemp("long")
    heavy = "    alu.add uop=0:1 iter=16383,16383 imm=3\n" * 500
    (made / "heavy.vta").write_text(LONG.format(body=heavy))
    many = "    alu.add uop=0:1 iter=64,2 imm=3\n" * 400_000
    (made / "many.vta").write_text(LONG.format(body=many))
    return made


@pytest.fixture(scope="module", autouse=True)
def signals() -> Iterator[None]:
    """Signals as a terminal's commands have them: what a shell starts in the background ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


ENDED = (130, -signal.SIGINT)
"""Exit codes, the same to a shell: Python ends by the signal if it came while code was made from text."""


def interrupted(
    words: list[str], folder: Path, *, after: float, signals: signal.Signals = signal.SIGINT
) -> tuple[int, str]:
    """Start a command, interrupt it after some seconds, and return its exit code and what it said."""
    process = subprocess.Popen(
        [sys.executable, "-m", "vta.cli", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(after)
    os.killpg(process.pid, signals)
    try:
        _, said = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        pytest.fail(f"{' '.join(words)} does not hear of it")
    return process.returncode, said


def odd_files(folder: Path) -> list[str]:
    known = ("heavy.vta", "many.vta", "new.trace")
    return [path.name for path in folder.iterdir() if path.name not in known]


@pytest.mark.parametrize(
    "words",
    few(
        [
            ["run", "heavy.vta", "--no-check"],
            ["run", "heavy.vta", "--target", "reference", "--no-check"],
            ["run", "heavy.vta", "--target", "tsim", "--record", "new.trace", "--no-check"],
            ["run", "heavy.vta", "--sanitize"],
            ["check", "many.vta"],
            ["asm", "many.vta", "-o", "new.vtab"],
            ["diff", "heavy.vta", "--engines", "reference,sim"],
            ["debug", "heavy.vta", "--commands", "continue"],
        ]
    ),
    ids=lambda words: " ".join(words),
)
def test_a_long_command_hears_of_ctrl_c(folder: Path, words: list[str]) -> None:
    code, said = interrupted(words, folder, after=3)
    assert code in ENDED
    assert "Traceback" not in said
    assert odd_files(folder) == []


@pytest.mark.parametrize("after", [0.05, 0.2, 0.5])
def test_ctrl_c_while_the_command_loads_is_no_traceback(folder: Path, after: float) -> None:
    """Before modules of the command load, behind the package and what shows its errors, it is Python's own to tell."""
    code, said = interrupted(["run", "heavy.vta"], folder, after=after)
    assert code in (*ENDED, 1)
    first = {"__init__", "uncaught", "own_packages"}
    assert "Traceback" not in said or set(re.findall(r".*/vta/(.+)\.py", said)) <= first


def test_a_process_that_is_killed_leaves_whole_files_or_none(folder: Path) -> None:
    for after in (1.5, 3.0):
        code, _ = interrupted(["asm", "many.vta", "-o", "new.vtab"], folder, after=after, signals=signal.SIGKILL)
        assert code in (-signal.SIGKILL, 0)
        if (folder / "new.vtab").exists():
            check = [sys.executable, "-m", "vta.cli", "disasm", "new.vtab", "-o", os.devnull]
            assert subprocess.run(check, cwd=folder, check=False, capture_output=True).returncode == 0
            (folder / "new.vtab").unlink()
        assert odd_files(folder) == []

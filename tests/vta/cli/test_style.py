"""Colours: on a terminal and nowhere else; the text is the same with and without them."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.color import ColorSystem

from tests.support.turns import few
from vta.cli.style import painted, painter

ROOT = Path(__file__).resolve().parents[3]
CODE = re.compile(r"\x1b\[[0-9;]*m")


def parts(text: str) -> dict[str, str]:
    """Return what is painted of a text, with its codes."""
    found = re.findall(r"\x1b\[([0-9;]+)m(.*?)\x1b\[0m", painted(text, ColorSystem.STANDARD))
    return {shown: codes for codes, shown in found}


def on_terminal(*command: str, **variables: str) -> bytes:
    """Run the command line on a terminal of its own."""
    leader, follower = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **variables}
    process = subprocess.Popen(
        [sys.executable, "-m", "vta.cli", *command], cwd=ROOT, env=environment, stdin=follower, stdout=follower,
        stderr=follower,
    )  # fmt: skip
    os.close(follower)
    shown = b""
    try:
        while more := os.read(leader, 65536):
            shown += more
    except OSError:  # Linux says so at the end
        pass
    process.wait()
    os.close(leader)
    return shown.replace(b"\r\n", b"\n")


def test_instructions_have_the_colour_of_what_they_do() -> None:
    line = "    5  gemm uop=1:2 iter=16,1 dst=1,0 wgt=1,0 pop_prev push_next  ; C_buf (matrix_multiply.py:31)"
    assert parts(line) == {
        "    5": "1",
        "gemm": "1;32",
        **dict.fromkeys(("uop=", "iter=", "dst=", "wgt="), "2"),
        **dict.fromkeys(("pop_prev", "push_next"), "36"),
        "  ; C_buf (matrix_multiply.py:31)": "2;3",
    }
    for text, name, codes in (
        ("load.inp sram=0 dram=0x100", "load.inp", "1;34"),
        ("alu.shr uop=0:1", "alu.shr", "1;91"),
        ("store sram=0 dram=0x200", "store", "1;35"),
        ("    4  finish pop_next", "finish", "1"),
    ):
        assert parts(text)[name] == codes


def test_verdicts_and_places_have_theirs() -> None:
    text = "early.vta: error: instruction 6 (from A_buf (m.py:25)): LOAD INP writes what instruction 5 (GEMM) may read"
    assert parts(text) == {
        "early.vta": "1",
        "error:": "1;31",
        "instruction 6": "1",
        "A_buf (m.py:25)": "2;3",
        "LOAD": "1;34",
        "instruction 5": "1",
        "GEMM": "1;32",
    }
    assert parts("a.vta: 56 instructions, no errors") == {"a.vta": "1", "no errors": "1;32"}
    assert parts("a.vta: 56 instructions, 15 errors") == {"a.vta": "1", "15 errors": "1;31"}
    assert parts("note: reference, sim agree on 5 instructions") == {"note:": "1;33", "agree on 5 instructions": "1;32"}


def test_words_of_a_sentence_have_none() -> None:
    for text in ("the store of a load", "finish what is begun", "0 errors", "2 instructions", "a gemm and an alu"):
        assert painted(text) == text


def test_without_a_terminal_nothing_is_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert painter()("error: gemm uop=0:1") == "error: gemm uop=0:1"
    assert painter(err=True)("error: gemm uop=0:1") == "error: gemm uop=0:1"


@pytest.mark.parametrize(
    "command",
    few(
        [
            ("run", "examples/add_three.vta", "--trace", "-"),
            ("check", "examples/add_three.vta"),
            ("debug", "examples/add_three.vta", "--commands", "goto 3; where; queues; list"),
            ("diff", "examples/add_three.vta", "--engines", "reference,sim"),
            ("check", "no.vta"),
        ]
    ),
    ids=" ".join,
)
def test_a_terminal_shows_the_same_text_in_colours(command: tuple[str, ...]) -> None:
    shown = on_terminal(*command).decode()
    assert CODE.search(shown)
    plain = on_terminal(*command, NO_COLOR="1").decode()
    assert CODE.sub("", shown) == plain
    assert not CODE.search(plain)

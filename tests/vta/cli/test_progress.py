"""The line on the terminal: share, rate and time left; none for short work, and none anywhere else."""

import io
import logging
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hw.sim.run import compiling
from isa.check.checker import check
from isa.check.sanitizer import sanitize
from isa.program import Program
from isa.progress import LOGGER, counted, tell, told
from isa.text.assembler import assemble
from vta import get_env
from vta.cli.progress import ProgressLine, TerminalConsole, shown_progress
from vta.inspect.debug.debugger import Debugger
from vta.inspect.diff.differ import diff_engines, engines_by_name
from vta.topi import Conv2d
from vta.topi.core.operator import compile as compile_operator

ROOT = Path(__file__).resolve().parents[3]


class Terminal:
    """A terminal in memory, with a clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0
        self.text = io.StringIO()
        console = TerminalConsole(file=self.text, force_terminal=True, width=140, color_system=None)
        self.line = ProgressLine(console, clock=lambda: self.now, refreshing=False)

    def at(self, now: float, done: int, total: int | None = 200, note: str = "", what: str = "launch 0") -> str:
        """Return the line that stands after this was said at that time."""
        self.now = now
        tell(what, done, total, "instructions", note=note)
        lines = re.split(r"[\r\n]|\x1b\[[0-9;?]*[A-Za-z]", self.text.getvalue())
        return " ".join(next((line for line in reversed(lines) if line.strip()), "").split())


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made, logger = Terminal(), logging.getLogger(LOGGER)
    logger.addHandler(made.line)
    logger.setLevel(logging.DEBUG)
    yield made
    logger.removeHandler(made.line)
    logger.setLevel(logging.NOTSET)
    made.line.close()


def without_bar(line: str) -> str:
    return re.sub(r"[━╸╺ ]{3,}", " ", line)


def test_work_of_less_than_a_second_is_silent(terminal: Terminal) -> None:
    assert terminal.at(0.0, 1) == ""
    assert terminal.at(0.9, 150) == ""
    told("launch 0")
    assert terminal.text.getvalue() == ""


def test_the_line_says_share_rate_and_what_is_left(terminal: Terminal) -> None:
    terminal.at(0.0, 0)
    assert without_bar(terminal.at(1.5, 30)) == "launch 0 15 %, 30 of 200 instructions 0:00:01"
    line = without_bar(terminal.at(4.0, 50, note="1,234,567 cycles"))
    assert line == "launch 0, 1,234,567 cycles 25 %, 50 of 200 instructions 12 a second, 12 s left 0:00:04"
    assert "2 min 30 s left" in without_bar(terminal.at(50.0, 50))
    assert "0.1 a minute, 55 h 00 min left" in without_bar(terminal.at(2000.0, 2))


def test_what_has_no_total_has_no_share(terminal: Terminal) -> None:
    terminal.at(0.0, 0, None)
    assert without_bar(terminal.at(3.0, 3000, None)) == "launch 0 3,000 instructions 1,000 a second 0:00:03"


def test_the_line_goes_when_the_work_is_over_and_the_cursor_was_never_away(terminal: Terminal) -> None:
    terminal.at(0.0, 0)
    terminal.at(5.0, 50)
    told("launch 0")
    assert terminal.text.getvalue().rstrip("\r").endswith("\x1b[2K")
    terminal.at(9.0, 0, what="launch 1")
    assert "launch 1" not in terminal.text.getvalue()


def test_two_works_have_a_line_each(terminal: Terminal) -> None:
    terminal.at(0.0, 0, what="searching")
    terminal.at(0.0, 0, what="launch 0")
    terminal.at(3.0, 5, what="searching")
    terminal.at(3.0, 7, what="launch 0")
    told("searching")
    assert "launch 0" in terminal.at(4.0, 8)


def test_names_are_shown_as_a_terminal_may_have_them(terminal: Terminal) -> None:
    terminal.at(0.0, 0, what="searching tiles for [bold]\x1b[2J")
    terminal.at(3.0, 1, what="searching tiles for [bold]\x1b[2J")
    assert r"searching tiles for [bold]\x1b[2J" in terminal.text.getvalue()


def test_other_records_are_none_of_its_business(terminal: Terminal) -> None:
    logging.getLogger(LOGGER).debug("anything")
    assert terminal.text.getvalue() == ""


def test_a_compilation_is_shown_at_once_with_its_stages() -> None:
    terminal, logger = Terminal(), logging.getLogger("hw.sim.progress")
    logger.addHandler(terminal.line)
    logger.setLevel(logging.DEBUG)
    try:
        with compiling._stages() as stage:
            for number, name in enumerate(("elaborating", "translating", "making machine code")):
                stage(number)
                shown = " ".join(terminal.text.getvalue().split())
                assert f"compiling the hardware, {name} " in shown
                assert f"{100 * number // 3} %, {number} of 3 stages" in shown.replace("67 %", "66 %")
        assert terminal.text.getvalue().rstrip("\r").endswith("\x1b[2K")
    finally:
        logger.removeHandler(terminal.line)
        logger.setLevel(logging.NOTSET)


def test_nothing_is_shown_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress():
        assert not logging.getLogger(LOGGER).isEnabledFor(logging.DEBUG)
        list(counted(range(3), "working"))
    assert capsys.readouterr() == ("", "")


SLOW = """
import sys, time
from isa.progress import counted
from vta.cli.progress import shown_progress
with shown_progress():
    for _ in counted(range(16), "working"):
        time.sleep(0.1)
    print("done")
"""


def run(script: str, *, stderr: int) -> str:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, stderr=stderr, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def read_all(descriptor: int) -> str:
    shown = b""
    try:
        while more := os.read(descriptor, 65536):
            shown += more
    except OSError:  # Linux says so at the end
        pass
    return shown.decode()


def test_the_line_is_on_stderr_and_the_results_are_as_without() -> None:
    leader, follower = pty.openpty()
    assert run(SLOW, stderr=follower) == "done\n"
    os.close(follower)
    shown = read_all(leader)
    os.close(leader)
    assert re.search(r"working .* \d+ %, \d+ of 16 instructions", shown)
    assert "\x1b[?25l" not in shown
    reader, writer = os.pipe()
    assert run(SLOW, stderr=writer) == "done\n"
    os.close(writer)
    with os.fdopen(reader) as file:
        assert file.read() == ""


def debug(program: Program) -> None:
    debugger = Debugger(program, io.StringIO(), io.StringIO(), prompts=False)
    debugger.onecmd("continue")
    debugger.onecmd("goto 2")


def search(_: Program) -> None:
    env = get_env()
    layer = Conv2d(batch=1, in_channels=16, height=8, width=8, out_channels=16, kernel=(3, 3), padding=(1, 1, 1, 1))
    compile_operator(layer, env)


@pytest.mark.parametrize(
    ("work", "what"),
    [
        (check, ["checking"]),
        (sanitize, ["sanitizing"]),
        (lambda program: diff_engines(program, engines_by_name(program, ["reference", "sim"])), ["comparing engines"]),
        (debug, ["executing", "executing"]),
        (search, ["searching tiles"]),
    ],
    ids=["check", "sanitize", "diff", "debug", "search"],
)
def test_long_work_says_how_far_it_has_come(
    caplog: pytest.LogCaptureFixture, work: Callable[[Program], object], what: list[str]
) -> None:
    program = assemble((ROOT / "examples" / "add_three.vta").read_text())
    with caplog.at_level(logging.DEBUG, LOGGER):
        work(program)
    begun = [text for text in caplog.messages if ": 0 " in text]
    assert all(text.startswith(name) for text, name in zip(begun, what, strict=False))
    assert len(begun) >= len(what)
    assert caplog.messages[-1].endswith(": over")

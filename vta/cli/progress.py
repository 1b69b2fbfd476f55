"""A line on the terminal that says how far long work has come: its share, its rate, the time that is left.

Whatever works says so by ``isa.progress`` (the simulation of hardware by a logger of its own), and this shows it on
stderr if that is a terminal, and nothing anywhere else. The line goes when the work is over. Tests:
tests/vta/cli/test_progress.py.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from isa.printable import in_one_line
from isa.progress import LOGGER

__all__ = ["ProgressLine", "TerminalConsole", "shown_progress"]

_LOGGERS = (LOGGER, "hw.sim.progress")

_PATIENCE = 1.0
"""Seconds that work may take in silence."""

_SETTLED = 2.0
"""Seconds of work after which its rate says how long it takes."""


class TerminalConsole(Console):
    """A console that leaves the cursor where it is: a process that is killed could not show it again."""

    def show_cursor(self, show: bool = True) -> bool:  # noqa: ARG002
        """Do nothing."""
        return False


class _Share(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Return how much is done, in percent and in numbers."""
        count = f"{int(task.completed):,}"
        if task.total is None:
            return Text(f"{count} {task.fields['unit']}" if task.completed else "")
        return Text(f"{task.percentage:.0f} %, {count} of {int(task.total):,} {task.fields['unit']}")


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Return how many units are done in a second, and how long the rest will take."""
        elapsed, done = task.elapsed or 0.0, task.completed - task.fields["first"]
        if elapsed < _SETTLED or done <= 0:
            return Text("")
        rate = done / elapsed
        text = _rate_text(rate)
        if task.total is None:
            return Text(text)
        return Text(f"{text}, {_duration((task.total - task.completed) / rate)} left")


def _rate_text(rate: float) -> str:
    if rate >= 10:
        return f"{rate:,.0f} a second"
    return f"{rate:.1f} a second" if rate >= 0.1 else f"{60 * rate:.1f} a minute"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


class ProgressLine(logging.Handler):
    """Shows the records of ``isa.progress`` in lines that change, one for each work that is under way.

    ``clock`` gives seconds; without ``refreshing``, lines change only when something is said.
    """

    def __init__(
        self, console: Console, *, clock: Callable[[], float] = time.monotonic, refreshing: bool = True
    ) -> None:
        super().__init__(logging.DEBUG)
        self._console = console
        self._clock = clock
        self._refreshing = refreshing
        self._began: dict[str, tuple[float, int]] = {}
        self._tasks: dict[str, TaskID] = {}
        self._lines: Progress | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take in what a record says; others than those of ``isa.progress`` are none of its business."""
        what = getattr(record, "what", None)
        if not isinstance(what, str):
            return
        fields = vars(record)
        if not fields["busy"]:
            self._end(what)
            return
        now = self._clock()
        began, first = self._began.setdefault(what, (now, fields["done"]))
        if now - began < _PATIENCE and not fields.get("slow", False):
            return
        if what not in self._tasks:
            self._begin(what, began, first)
        assert self._lines is not None
        name = in_one_line(f"{what}, {fields['note']}" if fields["note"] else what)
        self._lines.update(
            self._tasks[what], description=name, completed=fields["done"], total=fields["total"], unit=fields["unit"],
            refresh=True,
        )  # fmt: skip

    def close(self) -> None:
        """Take the lines off the terminal."""
        if self._lines is not None:
            self._lines.stop()
        self._lines = None
        self._tasks.clear()
        self._began.clear()
        super().close()

    def _begin(self, what: str, began: float, first: int) -> None:
        if self._lines is None:
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(24),
                _Share(),
                _Rate(),
                TimeElapsedColumn(),
            )
            self._lines = Progress(
                *columns, console=self._console, transient=True, auto_refresh=self._refreshing, get_time=self._clock
            )
            self._lines.start()
        self._tasks[what] = task = self._lines.add_task(in_one_line(what), total=None, unit="", first=first)
        self._lines.tasks[self._lines.task_ids.index(task)].start_time = began

    def _end(self, what: str) -> None:
        self._began.pop(what, None)
        task = self._tasks.pop(what, None)
        if task is None or self._lines is None:
            return
        self._lines.remove_task(task)
        if not self._tasks:
            self._lines.stop()
            self._lines = None


@contextmanager
def shown_progress() -> Iterator[None]:
    """Show how far the work inside has come, if stderr is a terminal."""
    console = TerminalConsole(stderr=True, highlight=False)
    if not console.is_terminal:
        yield
        return
    line, loggers = ProgressLine(console), [logging.getLogger(name) for name in _LOGGERS]
    before = [(logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.addHandler(line)
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, (level, propagate) in zip(loggers, before, strict=True):
            logger.removeHandler(line)
            logger.setLevel(level)
            logger.propagate = propagate
        line.close()

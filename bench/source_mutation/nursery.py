"""A process that has imported the tests once, and tries each mutant in a fork of itself.

    python -m bench.source_mutation.nursery TASK

``TASK`` is a file of JSON: ``tests`` (paths), ``mutants`` (lists of module, number, line and function, as in
``changes``), ``answer``, the file that gets a line of JSON for each, and ``measured``. First every test that
``measured`` does not know runs as the source is, in a fork, to see how long it takes and which functions of ours it
calls; a mutant is then tried by those that call its function, the quickest first, until one fails or they have taken
``MOST_SECONDS``. With ``named`` (module -> files and folders of tests) nothing is measured before: a mutant is tried by
these, those first that were quick for mutants before it, and a test that fails is run as the source is, too, so that
none counts that fails anyway.
``bench.source_mutants`` runs this in a copy of the tree.
Tests: tests/bench/test_source_mutants.py.
"""

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from bench.source_mutation.changes import mutant
from bench.source_mutation.swap import swap_in

__all__ = ["MOST_SECONDS", "Nursery"]

MOST_SECONDS = 8.0
"""Processor time of the tests that try one mutant; those that would take longer altogether are left out."""

_LONGEST_MEASURED = 2 * MOST_SECONDS
"""Seconds of the processor after which a test is not measured further: watching it doubles them, about."""

_LONGEST = 15.0
"""Seconds of the processor that a test may take which was not measured, here as well as with a mutant."""
_PATIENCE = 900.0
"""Seconds by the clock of any test: one that waits for ever computes nothing, and a busy machine is no failure."""
_COMPILERS = ("hw/sim/", "runtime/native/")
"""Where code is made that the cache keeps by digests of these sources: their mutants start with an empty one."""
_COMPILING = 45.0
"""Seconds of the processor that a test may take longer with an empty cache."""
_MEMORY = 4 << 30
"""Bytes that a fork may have in memory; addresses are not counted, of which every device reserves billions."""
_PACKAGES = ("isa", "runtime", "vta", "hw")


@dataclass(frozen=True, slots=True)
class _Measured:
    """One test: its seconds, by the clock and of the processor, and the functions that it calls.

    A function is a file and the line on which its code begins. A test that fails here though nothing is changed judges
    nothing, and one that takes too long tries nothing: they are said to call nothing.
    """

    seconds: float
    computed: float
    calls: frozenset[tuple[str, int]]


@dataclass(slots=True, eq=False)
class Nursery:
    """A plugin of pytest that takes the place of its loop over the tests."""

    root: Path
    mutants: Sequence[tuple[str, int, int, Sequence[Any] | None]]
    answer: Path
    measured: Path
    named: Mapping[str, Sequence[str]] | None = None
    failed: bool = False
    known: dict[str, _Measured] = field(default_factory=dict)
    fine: dict[str, bool] = field(default_factory=dict)
    took: dict[str, float] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests as they are, then the mutants."""
        if session.testsfailed:
            raise session.Interrupted("the tests cannot be collected")
        items = list(session.items)
        self._read()
        unknown = [item for item in items if item.nodeid not in self.known]
        if self.named is None and unknown:
            if (status := _in_fork(lambda: self._measure(unknown))) != 0:
                said = self.measured.read_text() if self.measured.exists() else ""
                raise session.Interrupted(f"the tests cannot be measured ({status}): {said[-300:]}")
            self._read()
        kept = Path(os.environ["XDG_CACHE_HOME"])
        with self.answer.open("w") as answer:
            for module, number, line, function in self.mutants:
                tried = self._tried(items, kept, module, number, function)
                answer.write(json.dumps([module, number, line, *tried]) + "\n")
                answer.flush()
        return True

    def _read(self) -> None:
        """Read what was measured, if anything was."""
        for line in self.measured.read_text().splitlines() if self.measured.exists() else ():
            name, seconds, computed, calls = json.loads(line)
            self.known[name] = _Measured(seconds, computed, frozenset((file, first) for file, first in calls))

    def _measure(self, items: Sequence[pytest.Item]) -> int:
        """Write how long each test takes and what it calls; return 1 if more than a tenth of them fail."""
        failures = 0
        found = set[tuple[str, int]]()
        root = f"{self.root}/"
        watched = tuple(f"{root}{name}/" for name in _PACKAGES)

        def watch(frame: FrameType, _event: str, _argument: object) -> None:
            code = frame.f_code
            if code.co_filename.startswith(watched):
                found.add((code.co_filename.removeprefix(root), code.co_firstlineno))

        signal.signal(signal.SIGPROF, _give_up)
        with self.measured.open("a") as lines:
            for at, item in enumerate(items):
                found.clear()
                begin, computed = time.monotonic(), time.process_time()
                signal.setitimer(signal.ITIMER_PROF, _LONGEST_MEASURED)
                threading.settrace(watch)
                sys.settrace(watch)
                self._run(item, items[at + 1 : at + 2])
                sys.settrace(None)
                signal.setitimer(signal.ITIMER_PROF, 0)
                taken = time.monotonic() - begin, time.process_time() - computed
                lines.write(json.dumps([item.nodeid, *taken, [] if self.failed else sorted(found)]) + "\n")
                failures += self.failed and taken[1] < _LONGEST_MEASURED
                self.failed = False
        return int(failures * 10 > len(items))

    def _run(self, item: pytest.Item, following: Sequence[pytest.Item]) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following[0] if following else None)

    def _tried(
        self, items: Sequence[pytest.Item], kept: Path, module: str, number: int, function: Sequence[Any] | None
    ) -> tuple[str, list[str]]:
        """Return what became of a mutant, and the tests that call its function, the quickest first."""
        path = str(self.root / module)
        if self.named is None:
            calling = self._calling(items, module, None if function is None else int(function[1]))
        else:
            named = [item for item in items if item.nodeid.startswith(tuple(self.named[module]))]
            calling = sorted(
                (item for item in named if self.fine.get(item.nodeid, True)),
                key=lambda item: self.took.get(item.nodeid, 0.0),
            )
        names = [item.nodeid for item in calling]
        if function is None or not names:
            return ("at import" if function is None else "not called"), names
        changed = mutant(Path(path).read_text(encoding="utf-8"), number)
        cache = kept.with_name("cache-of-a-fork")
        shutil.rmtree(cache, ignore_errors=True)
        compiles = module.startswith(_COMPILERS)
        if kept.exists() and not compiles:
            shutil.copytree(kept, cache, copy_function=os.link)

        under_way = kept.with_name("test-under-way")
        under_way.write_text("")

        def grow() -> int:
            os.environ["XDG_CACHE_HOME"] = str(cache)
            if not swap_in(changed, path):
                return 3
            for at, item in enumerate(calling):
                begin = time.process_time()
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.setitimer(signal.ITIMER_PROF, self._longest(item) + _COMPILING * compiles)
                signal.setitimer(signal.ITIMER_REAL, _PATIENCE)
                self._run(item, calling[at + 1 : at + 2])
                with under_way.open("a") as done:
                    done.write(f"{time.process_time() - begin}\n")
                if self.failed:
                    return 1
            return 0

        status = _in_fork(grow)
        took = [float(line) for line in under_way.read_text().splitlines()]
        self.took.update((item.nodeid, seconds) for item, seconds in zip(calling, took, strict=False))
        last = calling[min(len(took) - (status == 1), len(calling) - 1)]
        if status in (1, 2) and self.named is not None and not self._fine(last):
            return self._tried(items, kept, module, number, function)  # without that test
        return {0: "survived", 3: "not swapped"}.get(status, "killed"), names

    def _longest(self, item: pytest.Item) -> float:
        """Return the seconds of the processor after which a test that tries a mutant is taken for an endless one."""
        known = self.known.get(item.nodeid)
        return _LONGEST if known is None else 10 * known.computed + 10

    def _fine(self, item: pytest.Item) -> bool:
        """Return whether a test passes as the source is."""

        def once() -> int:
            signal.setitimer(signal.ITIMER_PROF, _LONGEST)
            self._run(item, [])
            return int(self.failed)

        if item.nodeid not in self.fine:
            self.fine[item.nodeid] = _in_fork(once) == 0
        return self.fine[item.nodeid]

    def _calling(self, items: Sequence[pytest.Item], module: str, line: int | None) -> list[pytest.Item]:
        """Return the tests that call the function on a line of a module (any for None), the quickest first."""
        found = [
            (self.known[item.nodeid].computed, number, item)
            for number, item in enumerate(items)
            if any(file == module and line in (None, first) for file, first in self.known[item.nodeid].calls)
        ]
        ends = accumulate(computed for computed, _, _ in sorted(found))
        return [item for (_, _, item), end in zip(sorted(found), ends, strict=True) if end <= MOST_SECONDS]


class _TooLong(BaseException):
    """Ends a test that is too long to try mutants."""


def _give_up(_number: int, _frame: FrameType | None) -> None:
    raise _TooLong


def _in_fork(action: Callable[[], int]) -> int:
    """Return what an action returns in a fork of this process, 2 if it dies."""
    child = os.fork()
    if child == 0:
        status = 2
        with suppress(BaseException):
            os.setsid()
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            status = action()
        os._exit(status)
    pause = 0.001
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None and _resident(child) < _MEMORY:
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it started, and itself if it takes too much
    _, how = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(how) if os.WIFEXITED(how) else 2


def _resident(process: int) -> int:
    """Return the bytes that a process has in memory, none if it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def main(words: Iterable[str]) -> int:
    """Try the mutants of a task."""
    [name] = words
    task = json.loads(Path(name).read_text())
    nursery = Nursery(Path.cwd(), task["mutants"], Path(task["answer"]), Path(task["measured"]), task["named"])
    return pytest.main(["-q", "-s", "-n", "0", "-p", "no:cacheprovider", *task["tests"]], plugins=[nursery])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

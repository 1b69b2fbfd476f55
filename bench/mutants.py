"""Damaged files of every format, each in a process of its own: is any of them a crash, a traceback, a hang or a bomb?

    python -m bench.mutants --seed 1 --count 700
    python -m bench.mutants --seed 1 --formats trace,capsule --count 300
    python -m bench.mutants --seed 1 --only trace:17 --keep here

Mutant ``i`` of a format depends on the seed, the format and ``i`` alone (``bench.mutations``), so ``--only`` makes it
again, and ``--keep`` leaves the file. Each goes through every command that reads such a file (``_COMMANDS``); a command
may take 10 seconds of processor time (with all that it starts) and 1 GB. A mutant may be accepted or refused; it is
wrong if a process is killed by a signal, ends in an exception that is not the one sentence of an error, takes longer or
takes more, or prints what a terminal would obey. How busy the computer is changes nothing; only what waits for two
minutes without working is wrong, too. Printed are every wrong one, as soon as it is found, and counts by format with
the slowest and the largest; the exit status says if one is wrong.

Programs that a mutation has made long are not run, only checked: what they were asked to do takes its time. Tests:
tests/bench/test_mutants.py.
"""

import argparse
import io
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import runtime.devices.functional
import vta.cli.app
import vta.codegen
import vta.relay.backend.session
from bench.mutations import FORMATS, Format
from isa.errors import VTAError
from isa.extents import loop_steps
from isa.instructions import Alu, Gemm
from isa.program import Program

__all__ = ["LOADED", "Verdict", "judge", "main"]

LOADED = (runtime.devices.functional, vta.cli.app, vta.codegen, vta.relay.backend.session)
"""What a child would have to load by itself, every time."""

_SECONDS = 10.0
"""Processor time that a command may take."""
_PATIENCE = 120.0
"""Seconds of the clock after which a process that took less processor time than that is taken to hang."""
_BYTES = 1 << 30
_MOST_STEPS = 20_000_000
"""Tensor operations of a program that is run: a second of the functional simulator."""
_MOST_STEPS_OF_NUMPY = 200_000
"""Tensor operations of a program that is run on the reference interpreter."""

Action = Callable[[Path], None]


@dataclass(slots=True)
class Verdict:
    """What came of one mutant: ``accepted`` by any command or refused by all, and what is ``wrong``, if anything."""

    name: str
    accepted: bool = False
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0
    nbytes: int = 0


def _command(*words: str) -> Action:
    """Return what runs ``vta`` with these words, FILE standing for the mutant and OUT for a file beside it."""

    def action(path: Path) -> None:
        from vta.cli.app import main as vta

        vta([{"FILE": str(path), "OUT": str(path.with_suffix(".out"))}.get(word, word) for word in words])

    action.__doc__ = " ".join(words)
    return action


def _if_short(most: int, *words: str) -> Action:
    """Return a command that is done for programs of at most ``most`` tensor operations."""
    command = _command(*words)

    def action(path: Path) -> None:
        from vta.cli.programs import programs_of

        if sum(map(_steps, programs_of(path, None))) <= most:
            command(path)

    action.__doc__ = command.__doc__
    return action


def _steps(program: Program) -> int:
    return sum(loop_steps(each) for each in program.instructions if isinstance(each, Gemm | Alu))


def _load_module(path: Path) -> None:
    """load and link the module"""
    from vta.codegen import load_module

    module = load_module(path)
    print(repr(module))
    _ = module.linked


_PROGRAM = (
    _command("check", "FILE"),
    _command("disasm", "FILE"),
    _if_short(_MOST_STEPS, "run", "FILE"),
    _if_short(_MOST_STEPS_OF_NUMPY, "run", "FILE", "--sanitize", "--target", "reference"),
    _if_short(
        _MOST_STEPS_OF_NUMPY, "debug", "FILE", "--commands", "step 3; where; list; back; queues; continue; findings"
    ),
)
_COMMANDS: Mapping[str, Sequence[Action]] = {
    "configuration": (_command("config", "check", "FILE"), _command("config", "show", "--config", "FILE")),
    "assembly": (*_PROGRAM, _command("asm", "FILE", "-o", "OUT")),
    "program": (*_PROGRAM, _if_short(_MOST_STEPS_OF_NUMPY, "diff", "FILE", "--engines", "reference,sim")),
    "trace": (
        _command("trace", "FILE"),
        _command("trace", "FILE", "--calls", "--module", "compute"),
        _command("trace", "FILE", "--classic"),
        _command("trace", "FILE", "--perfetto", "OUT"),
        _command("trace", "FILE", "--html", "OUT"),
        _command("explain", "FILE"),
        _command("diff", "FILE", "FILE"),
    ),
    "capsule": (
        _command("check", "FILE"),
        _command("disasm", "FILE", "--launch", "1"),
        _if_short(_MOST_STEPS, "run", "FILE"),
        _if_short(_MOST_STEPS_OF_NUMPY, "diff", "FILE", "FILE", "--launch", "1"),
    ),
    "network": (_command("run", "FILE"),),
    "onnx": (_command("run", "FILE"), _command("explain", "FILE")),
    "module": (_load_module,),
}


# ---- one mutant


def judge(name: str, path: Path, actions: Sequence[Action]) -> Verdict:
    """Do every action on a file, each in a process of its own, and return what came of it."""
    verdict = Verdict(name)
    for action in actions:
        _watch(verdict, action, path)
    return verdict


def _watch(verdict: Verdict, action: Action, path: Path) -> None:
    said = path.with_suffix(".said")
    begin = time.monotonic()
    shared = _resident()  # a child begins with the pages of its parent
    child = os.fork()
    if not child:
        os.setsid()  # what it starts is known by its session
        _child(action, path, said)
    ended, status, usage = 0, 0, None
    limit, pause = "", 0.002
    while not ended:
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
        taken = _taken(child, shared)
        ended, status, usage = os.wait4(child, os.WNOHANG)
        verdict.nbytes = max(verdict.nbytes, taken.nbytes)
        if not ended and not limit:
            limit = _exceeded(taken, time.monotonic() - begin)
            if limit:
                _kill(child)
    assert usage is not None
    seconds = usage.ru_utime + usage.ru_stime
    verdict.seconds = max(verdict.seconds, seconds)
    wrong = limit or _wrong(status, said) or _exceeded(_Taken(seconds, (usage.ru_maxrss << 10) - shared), 0.0)
    if wrong:
        verdict.wrong.append(f"{(action.__doc__ or '').strip()}: {wrong}")
    verdict.accepted |= status == 0


@dataclass(frozen=True, slots=True)
class _Taken:
    """What the processes of one session have taken so far: processor time in seconds, memory in bytes."""

    seconds: float
    nbytes: int


def _exceeded(taken: _Taken, elapsed: float) -> str:
    """Return what was exceeded, or an empty text."""
    if taken.seconds > _SECONDS:
        return f"more than {_SECONDS:.0f} s of processor time"
    if taken.nbytes > _BYTES:
        return f"more than {_BYTES >> 20} MiB"
    return f"hangs: {taken.seconds:.1f} s of processor time in {_PATIENCE:.0f} s" if elapsed > _PATIENCE else ""


def _kill(session: int) -> None:
    try:
        os.killpg(session, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(session, signal.SIGKILL)  # it is not yet the leader of its own


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _taken(session: int, shared: int) -> _Taken:
    """Return what the processes of a session have taken, each at its most, with those of theirs that have ended.

    Not counted is what its leader shares with this process, which it was forked from.
    """
    seconds, nbytes = 0.0, 0
    for process in _processes(session):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            status = Path(f"/proc/{process}/status").read_text()
            seconds += sum(map(int, fields[11:15])) / _TICKS
            nbytes += max(0, (int(status.split("VmHWM:")[1].split()[0]) << 10) - (shared if process == session else 0))
        except (OSError, IndexError):
            continue  # it has ended
    return _Taken(seconds, nbytes)


_TICKS = os.sysconf("SC_CLK_TCK")


def _processes(session: int) -> Iterator[int]:
    """Yield the process that leads a session, and those that it and they have started."""
    yield session
    try:
        children = Path(f"/proc/{session}/task/{session}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from _processes(int(child))


def _wrong(status: int, said: Path) -> str:
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    text = said.read_text("utf-8", "backslashreplace") if said.exists() else ""
    code = os.WEXITSTATUS(status)
    if code not in (0, 1, 2) or "Traceback (most recent call last)" in text:
        return f"exit status {code}: {text.strip()[-1500:]}"
    odd = next((letter for letter in text if not letter.isprintable() and letter not in "\n\t"), None)
    return "" if odd is None else f"prints {odd!r}"


def _child(action: Action, path: Path, said: Path) -> None:
    """Do an action in a process of its own, which this ends."""
    code = 3
    text = io.StringIO()
    try:
        with redirect_stdout(text), redirect_stderr(text):
            try:
                action(path)
                code = 0
            except SystemExit as exit_:
                code = exit_.code if isinstance(exit_.code, int) else 0
            except VTAError as error:
                print(f"error: {error!s:.0}")  # what a message may hold is for the command line to make printable
                code = 1
            except BaseException:
                traceback.print_exc()
        said.write_text(text.getvalue(), "utf-8", "surrogatepass")
    except BaseException:
        code = 4
    finally:
        os._exit(code)


# ---- all of them


def _mutants(made: Format, name: str, seed: int, chosen: Sequence[int]) -> Iterator[tuple[str, bytes]]:
    seeds = made.seeds()
    for index in chosen:
        rng = random.Random(f"{seed} {name} {index}")
        yield f"{name}:{index}", made.mutate(rng, rng.choice(seeds))


def _round(name: str, arguments: argparse.Namespace, chosen: Sequence[int]) -> list[Verdict]:
    made, verdicts = FORMATS[name], []
    with tempfile.TemporaryDirectory() as folder:
        for label, data in _mutants(made, name, arguments.seed, chosen):
            path = Path(arguments.keep or folder, label.replace(":", "-") + made.suffix)
            path.write_bytes(data)
            verdicts.append(judge(label, path, _COMMANDS[name]))
            for text in verdicts[-1].wrong:
                print(f"  {label}: {text}", flush=True)
            if not arguments.keep:
                path.unlink()
    return verdicts


def _report(name: str, verdicts: Sequence[Verdict]) -> None:
    counts = Counter("wrong" if v.wrong else "accepted" if v.accepted else "refused" for v in verdicts)
    slowest, largest = max(v.seconds for v in verdicts), max(v.nbytes for v in verdicts)
    print(
        f"{name:14} {len(verdicts):6,} mutants: {counts['refused']:,} refused, {counts['accepted']:,} accepted by a "
        f"command, {counts['wrong']:,} wrong; at most {slowest:.1f} s and {largest >> 20} MiB",
        flush=True,
    )


def main(words: Sequence[str] | None = None) -> int:
    """Make mutants, judge them, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100, help="mutants of each format")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--formats", default=",".join(FORMATS), help="names with commas between them")
    parser.add_argument("--only", metavar="FORMAT:N", help="one mutant")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the files there")
    arguments = parser.parse_args(words)
    os.environ["NO_COLOR"] = "1"
    names = arguments.formats.split(",")
    chosen = range(arguments.first, arguments.first + arguments.count)
    if arguments.only:
        name, _, index = arguments.only.partition(":")
        names, chosen = [name], range(int(index), int(index) + 1)
    unknown = [name for name in names if name not in FORMATS]
    if unknown:
        parser.error(f"no format {unknown[0]!r}; there are {', '.join(FORMATS)}")
    wrong = 0
    for name in names:
        verdicts = _round(name, arguments, chosen)
        _report(name, verdicts)
        wrong += sum(bool(verdict.wrong) for verdict in verdicts)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

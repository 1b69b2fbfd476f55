"""Every command in surroundings that are not what it hopes for: does it end in one sentence, and leave nothing behind?

    python -m bench.environments
    python -m bench.environments --commands run,trace --environments "full disk,reader gone"

Surroundings are a folder that cannot be written to, no home or one that is read-only, temporary folders with a blank in
the name or that are not there, a full disk, a full, closed or abandoned stdout, a closed stderr, an ASCII locale, and
narrow or dumb terminals. A command is wrong if it ends in a traceback, by a signal, with another exit code than 0, 1 or
2, with 0 although its output was lost, or leaves a file that has not the whole of what belongs in it. Printed is a line
for each that is wrong and the count; the exit status says if there is one. Tests: tests/bench/test_environments.py.
"""

import argparse
import ctypes
import os
import pty
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["COMMANDS", "ENVIRONMENTS", "Environment", "main", "prepared", "verdict"]

ROOT = Path(__file__).resolve().parent.parent

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "run": ("run", "add.vta", "--stats"),
    "run --json": ("run", "add.vta", "--json"),
    "run --record": ("run", "add.vta", "--target", "tsim", "--record", "new.trace"),
    "run --save": ("run", "add.vta", "--save", "new.npz"),
    "run --capsule": ("run", "add.vta", "--capsule", "new.capsule"),
    "run --vcd": ("run", "add.vta", "--target", "tsim", "--vcd", "new.vcd"),
    "run --trace": ("run", "gemm.py", "--trace", "new.txt"),
    "run stuck": ("run", "stuck.vta"),
    "run script": ("run", "gemm.py", "--sanitize"),
    "asm": ("asm", "add.vta", "-o", "new.vtab"),
    "disasm": ("disasm", "add.vtab"),
    "lower": ("lower", "gemm.py"),
    "check": ("check", "add.vta"),
    "diff": ("diff", "add.vta", "--engines", "reference,sim"),
    "debug": ("debug", "add.vta", "--commands", "step 2; list"),
    "trace": ("trace", "whole.trace"),
    "trace --html": ("trace", "whole.trace", "--html", "new.html"),
    "trace --perfetto": ("trace", "whole.trace", "--perfetto", "new.json"),
    "explain": ("explain", "whole.trace"),
    "config show": ("config", "show"),
    "config init": ("config", "init", "new_config.json"),
    "examples": ("examples", "--copy", "new_examples"),
    "operators": ("operators",),
    "doctor": ("doctor",),
    "verilog": ("verilog", "-o", "new.v"),
    "help": ("run", "--help"),
}
"""Name -> words; what they write is called ``new...``."""

_STUCK = ".text\n    nop.compute pop_prev\n    finish\n"


def _as_anybody() -> None:
    """Let permissions hold for the superuser, too: without CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH after exec."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2):
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))


@dataclass(frozen=True, slots=True)
class Environment:
    """Surroundings: what changes in the variables, before the program begins, and about its output.

    ``output`` is where stdout goes: ``pipe``, ``full``, ``closed``, ``gone`` (nobody reads), ``errors closed``, or
    ``terminal``. None as a variable means that it is not set.
    """

    variables: Mapping[str, str | None] = field(default_factory=dict)
    before: Callable[[], None] = _as_anybody
    output: str = "pipe"
    read_only: bool = False
    small: bool = False


ENVIRONMENTS: Mapping[str, Environment] = {
    "as usual": Environment(),
    "read-only folder": Environment(read_only=True),
    "no home": Environment({"HOME": None, "XDG_CACHE_HOME": None, "XDG_STATE_HOME": None}),
    "home read-only": Environment({"HOME": "{fixed}", "XDG_CACHE_HOME": None, "XDG_STATE_HOME": None}),
    "blank in TMPDIR": Environment({"TMPDIR": "{with blank}"}),
    "no TMPDIR": Environment({"TMPDIR": "/nonexistent/folder"}),
    "full disk": Environment(before=_small_files, small=True),
    "stdout full": Environment(output="full"),
    "stdout closed": Environment(output="closed"),
    "reader gone": Environment(output="gone"),
    "stderr closed": Environment(output="errors closed"),
    "ASCII": Environment({"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LANG": None}),
    "narrow": Environment({"COLUMNS": "8", "LINES": "2"}),
    "narrow terminal": Environment({"COLUMNS": None, "TERM": "xterm-256color"}, output="terminal"),
    "dumb terminal": Environment({"TERM": "dumb"}, output="terminal"),
}


@dataclass(frozen=True, slots=True)
class _Ended:
    code: int
    text: str
    errors: str


def prepared(folder: Path) -> None:
    """Write what commands read into a folder."""
    shutil.copy(ROOT / "examples" / "add_three.vta", folder / "add.vta")
    shutil.copy(ROOT / "examples" / "matrix_multiply.py", folder / "gemm.py")
    (folder / "stuck.vta").write_text(_STUCK)
    for words in (
        ("asm", "add.vta", "-o", "add.vtab"),
        ("run", "add.vta", "--target", "tsim", "--record", "whole.trace"),
    ):
        subprocess.run([sys.executable, "-m", "vta.cli", *words], cwd=folder, check=True, capture_output=True)


def verdict(words: Sequence[str], environment: Environment, source: Path) -> str:
    """Return what is wrong with a command in these surroundings, or an empty text; ``source`` was ``prepared``."""
    with tempfile.TemporaryDirectory() as scratch:
        work, fixed, blank = (Path(scratch, name) for name in ("work", "fixed", "with blank"))
        shutil.copytree(source, work)
        fixed.mkdir()
        blank.mkdir()
        before = set(work.rglob("*"))
        fixed.chmod(0o555)
        if environment.read_only:
            work.chmod(0o555)
        try:
            ended = _run(words, environment, work, {"{fixed}": str(fixed), "{with blank}": str(blank)})
        finally:
            work.chmod(0o755)
            fixed.chmod(0o755)
        left = sorted(path.relative_to(work).as_posix() for path in set(work.rglob("*")) - before)
        return _wrong(ended, environment, left)


def _wrong(ended: _Ended, environment: Environment, left: Sequence[str]) -> str:
    text = ended.text + ended.errors
    if "Traceback (most recent call last)" in text or "Exception ignored" in text:
        return f"a traceback: {text[-600:]}"
    if ended.code not in (0, 1, 2):
        return f"exit status {ended.code}: {text[-300:]}"
    if ended.code == 0 and environment.output == "full":
        return "its output was lost, and the exit status is 0"
    odd = [name for name in left if not name.startswith("new") and "__pycache__" not in name]
    if odd:
        return f"it left {', '.join(odd)}"
    failed = ended.code == 1 and environment.output in ("pipe", "terminal") and not environment.read_only
    if failed and environment.small and not text.strip():
        return "it failed without a word"
    return ""


def _run(words: Sequence[str], environment: Environment, folder: Path, places: Mapping[str, str]) -> _Ended:
    variables = dict(os.environ) | {"PYTHONDONTWRITEBYTECODE": "1"}
    for name, value in environment.variables.items():
        variables.pop(name, None)
        if value is not None:
            variables[name] = places.get(value, value)
    command = [sys.executable, "-m", "vta.cli", *words]
    if environment.output in ("closed", "errors closed"):
        close = ">&-" if environment.output == "closed" else "2>&-"
        command = ["sh", "-c", f'exec "$@" {close}', "sh", *command]
    with _opened(environment.output) as (stdout, collect):
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            preexec_fn=environment.before,
        )
        text = collect(process)
        errors = process.communicate(timeout=300)[1]
    return _Ended(process.returncode, text, errors.decode("utf-8", "replace"))


Collect = Callable[["subprocess.Popen[bytes]"], str]


class _opened:  # noqa: N801  # a context, used as a function
    """Where stdout of a process goes, and what collects it."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._close: list[int] = []

    def __enter__(self) -> tuple[int, Collect]:
        match self._kind:
            case "full":
                self._close = [os.open("/dev/full", os.O_WRONLY)]
                return self._close[0], lambda _: ""
            case "gone":
                reader, writer = os.pipe()
                os.close(reader)
                self._close = [writer]
                return writer, lambda _: ""
            case "terminal":
                reader, writer = pty.openpty()
                self._close = [reader]
                return writer, lambda _: _read_terminal(reader, writer)
            case _:
                return subprocess.PIPE, _read_pipe

    def __exit__(self, *_: object) -> None:
        for each in self._close:
            os.close(each)


def _read_pipe(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout is not None
    return process.stdout.read().decode("utf-8", "replace")


def _read_terminal(reader: int, writer: int) -> str:
    os.close(writer)
    pieces = []
    while True:
        try:
            piece = os.read(reader, 65536)
        except OSError:  # the last writer has gone
            break
        if not piece:
            break
        pieces.append(piece)
    return b"".join(pieces).decode("utf-8", "replace")


def _all(commands: Sequence[str], environments: Sequence[str], source: Path) -> Iterator[tuple[str, str, str]]:
    for environment in environments:
        for command in commands:
            yield environment, command, verdict(COMMANDS[command], ENVIRONMENTS[environment], source)


def main(words: Sequence[str] | None = None) -> int:
    """Run commands in environments, print what is wrong, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.environments", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--commands", default=",".join(COMMANDS), help="names with commas between them")
    parser.add_argument("--environments", default=",".join(ENVIRONMENTS), help="names with commas between them")
    arguments = parser.parse_args(words)
    commands, environments = arguments.commands.split(","), arguments.environments.split(",")
    for name, known in [(c, COMMANDS) for c in commands] + [(e, ENVIRONMENTS) for e in environments]:
        if name not in known:
            parser.error(f"no {name!r}; there are {', '.join(known)}")
    count = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        prepared(Path(folder))
        for environment, command, text in _all(commands, environments, Path(folder)):
            count += 1
            if text:
                wrong += 1
                print(f"{environment}, {command}: {text}", flush=True)
    print(f"{count} commands in {len(environments)} environments, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

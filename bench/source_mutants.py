"""Mutation testing: small changes of a package's source, and whether its tests notice them.

    python -m bench.source_mutants isa --count 150 --seed 1
    python -m bench.source_mutants isa/layout.py isa/encoding.py --count 40

``--count`` mutants are drawn from all that the modules have (``bench/source_mutation/changes.py`` says which), each
with one change. First a process that has imported the tests of the folder tries them in forks of itself, each by the
tests that call the changed function. What lives through that, and what is changed outside of functions, is written to a
copy of the tree, and its tests run in a process of their own: those that the module's docstring names, and those that
call into it if they did not try it yet. Only what passes these as well is a survivor. Tests that call a function and
would together take more than some seconds of a processor are left out, the slowest first, so that a score is rather too
low than too high.
Printed are survivors and the score of each module. ``--measured`` keeps what was measured of the tests for another run;
with ``--named`` nothing is measured, and only the tests that docstrings name are run, which is quicker for few mutants.
Tests: tests/bench/test_source_mutants.py.
"""

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.source_mutation.changes import drawn, mutant

__all__ = ["COPIED", "first_tests", "main", "named_tests"]

ROOT = Path(__file__).resolve().parent.parent
COPIED = (
    "isa", "runtime", "vta", "hw", "tests", "bench", "docs", "config", "examples", "pyproject.toml", "README.md",
    "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "hatch_build.py",
)  # fmt: skip
"""What tests may look at."""
_MOST_SECONDS = 1200
"""Of the tests of a mutant in a process of their own."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one mutant."""

    module: str
    number: int
    killed: bool


def named_tests(module: Path) -> list[str]:
    """Return the files and folders of tests that a module's docstring names."""
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    named = re.findall(r"tests/[\w/*]*[\w*](?:\.py)?", text)
    found = (path.relative_to(ROOT).as_posix() for name in named for path in sorted(ROOT.glob(name)))
    return list(dict.fromkeys(found))


def first_tests(name: str) -> list[str]:
    """Return the tests that try mutants of a folder or of a module first: its mirror, or those that are named."""
    path = ROOT / name
    if path.is_dir():
        return [f"tests/{name.strip('/')}"]
    return named_tests(path) or [f"tests/{Path(name).parent.as_posix()}"]


def _modules(names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        path = ROOT / name
        yield from (sorted(path.rglob("*.py")) if path.is_dir() else [path])


def _share_cache(folder: Path) -> None:
    """Let tests in a copy of the tree find what tests compiled here: it is kept by digests of the sources."""
    for variable, home, here, name in (
        ("XDG_CACHE_HOME", ".cache", "cache", "sim"),
        ("XDG_STATE_HOME", ".local/state", "state", "cache.secret"),
    ):
        kept = Path(os.environ.get(variable) or Path.home() / home, "vta-toolchain", name)
        made = folder / here / "vta-toolchain"
        made.mkdir(parents=True, mode=0o700)
        if kept.is_dir():
            shutil.copytree(kept, made / name)
        elif kept.is_file():
            shutil.copy2(kept, made / name)


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of tests in a copy of the tree: nothing of what they compile is kept elsewhere."""
    return {
        **os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1",
        "XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state"),
    }  # fmt: skip


def _passes(folder: Path, tests: Sequence[str]) -> bool:
    """Return whether tests pass in a copy of the tree; of the cache they have a copy, whose keys know all sources."""
    listed = folder / "tests-of-a-mutant"
    listed.write_text("\n".join(tests))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", f"@{listed}"]
    with tempfile.TemporaryDirectory(dir=folder) as made:
        cache = Path(made) / "cache"
        shutil.copytree(folder / "cache", cache, copy_function=os.link)
        environment = {**_environment(folder), "XDG_CACHE_HOME": str(cache)}
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_MOST_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return False
    if "ERROR: file or directory not found" in done.stderr:  # of tests that were not copied, which says nothing
        raise SystemExit(f"{' '.join(tests)}: {done.stderr[-2000:]}")
    return done.returncode == 0


_Tried = tuple[str, int, int, str, list[str]]
"""A mutant's module, number and line, what became of it, and the tests that call it."""


def _hatched(
    folder: Path,
    tests: Sequence[str],
    chosen: Sequence[tuple[str, int, int, object]],
    measured: Path,
    named: Mapping[str, Sequence[str]] | None,
) -> Iterator[_Tried]:
    """Let the nursery try the mutants; yield its answers."""
    task, answer = folder / "task.json", folder / "answer.json"
    told = {"tests": tests, "mutants": chosen, "answer": str(answer), "measured": str(measured), "named": named}
    task.write_text(json.dumps(told))
    done = subprocess.run(
        [sys.executable, "-m", "bench.source_mutation.nursery", str(task)],
        cwd=folder, env=_environment(folder), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode or not answer.exists():
        raise SystemExit(f"{' '.join(tests)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    for line in answer.read_text().splitlines():
        module, number, place, state, calling = json.loads(line)
        yield module, number, place, state, calling


def _survives(folder: Path, module: str, number: int, calling: Sequence[str]) -> bool:
    """Return whether a mutant passes the tests that its docstring names, and others; print it if so."""
    source = (ROOT / module).read_text(encoding="utf-8")
    made = mutant(source, number)
    (folder / module).write_text(made.source, encoding="utf-8")
    try:
        lives = all(not tests or _passes(folder, tests) for tests in (named_tests(ROOT / module), calling))
    finally:
        (folder / module).write_text(source, encoding="utf-8")
    if lives:
        change = f"{made.before!r} became {made.after!r}"
        print(f"  {module}:{made.line}: {change} (#{number}), and no test of it fails", flush=True)
    return lives


def _judge(folder: Path, options: argparse.Namespace) -> Iterator[Outcome]:
    """Try all mutants of a run."""
    chosen = [
        (path.relative_to(ROOT).as_posix(), place.number, place.line, place.function)
        for path, place in drawn(list(_modules(options.modules)), count=options.count, seed=options.seed)
    ]
    tests = options.tests or list(dict.fromkeys(each for name in options.modules for each in first_tests(name)))
    named = {module: first_tests(module) for module, _, _, _ in chosen} if options.named else None
    if named is not None and not options.tests:
        tests = sorted({each for names in named.values() for each in names})
    measured = Path(options.measured).resolve() if options.measured else folder / "measured"
    for module, number, _, state, calling in _hatched(folder, tests, chosen, measured, named):
        others = [] if state == "survived" or options.named else calling
        yield Outcome(module, number, state == "killed" or not _survives(folder, module, number, others))


def main(words: Sequence[str] | None = None) -> int:
    """Judge modules, and return the exit status: 1 if a mutant survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", help="files, or folders of them")
    parser.add_argument("--count", type=int, default=100, help="mutants, of all modules together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--measured", metavar="FILE", help="what is known of the tests; written if it is not there")
    parser.add_argument("--named", action="store_true", help="only the tests that docstrings name, without measuring")
    parser.add_argument("--tests", nargs="+", help="what tries them first, instead of the folder's own tests")
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)
        _share_cache(folder)
        outcomes = list(_judge(folder, options))
    for module in sorted({each.module for each in outcomes}):
        own = [each.killed for each in outcomes if each.module == module]
        print(f"{module:52} {sum(own):3} of {len(own):3}")
    killed = sum(each.killed for each in outcomes)
    print(f"{killed} of {len(outcomes)} killed ({100 * killed / max(1, len(outcomes)):.1f} %), seed {options.seed}")
    return 0 if killed == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Coverage-guided fuzzing of everything that is parsed, with atheris (libFuzzer for Python), a process a format.

    python -m bench.coverage_fuzz --seconds 300
    python -m bench.coverage_fuzz --seconds 60 --formats assembly,messages
    python -m bench.coverage_fuzz --seconds 600 --keep

Inputs start from the seeds of ``bench.mutations`` and from ``tests/bench/corpus``; half of the new ones are made by the
mutators of ``bench.mutations``, which seal files anew behind their checksums, and half by libFuzzer. A find is an input
that ends in anything but a return or a ``VTAError``, takes 10 seconds or 1 GB. It is written to
``tests/bench/finds/FORMAT``, where ``tests/bench/test_fuzz_corpus.py`` tries it for ever. ``--keep`` adds to the corpus
what reaches lines that nothing in it reaches. The seconds are shared out among the formats.
"""

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from isa.errors import VTAError

__all__ = ["CORPUS", "FINDS", "lines_of", "main"]

TESTS = Path(__file__).resolve().parent.parent / "tests" / "bench"
CORPUS, FINDS = TESTS / "corpus", TESTS / "finds"
NAMES = (
    "configuration", "assembly", "program", "trace", "capsule", "network", "onnx", "module", "relay", "messages",
    "records",
)  # fmt: skip

_LONGEST = 1 << 16
"""Bytes of an input; a seed that is longer would be cut off, and so damaged from the start."""
_LONGEST_KEPT = 6000
"""Bytes of an input that is kept in the corpus."""
_MOST_KEPT = 12
"""Inputs that a format gets in one go."""


def _run(name: str, seconds: int, folder: Path) -> tuple[int, str, list[Path]]:
    """Fuzz a format in a process of its own; return how many inputs were tried, what was said, and the finds."""
    from bench.parsers import ALL_FORMATS

    corpus, artefacts = folder / name, folder / f"{name}-finds"
    corpus.mkdir()
    artefacts.mkdir()
    kept = [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]
    for number, data in enumerate([*ALL_FORMATS[name].seeds(), *kept]):
        assert len(data) <= _LONGEST, f"seed {number} of {name} has {len(data)} bytes"
        (corpus / f"seed{number}").write_bytes(data)
    command = [
        sys.executable, "-m", "bench.fuzz_child", name, str(corpus), f"-max_total_time={seconds}",
        "-timeout=10", "-rss_limit_mb=1024", f"-max_len={_LONGEST}", f"-artifact_prefix={artefacts}/", "-seed=1",
        "-print_final_stats=1", "-len_control=0",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    said = done.stderr + done.stdout
    tried = re.search(r"number_of_executed_units: (\d+)|Done (\d+) runs", said)
    return int((tried[1] or tried[2]) if tried else 0), said, sorted(artefacts.iterdir())


def lines_of(name: str, data: bytes) -> set[tuple[str, int]]:
    """Return the lines of the packages that reading an input reaches."""
    from bench.parsers import PARSERS

    root, found = str(TESTS.parent.parent), set[tuple[str, int]]()

    def watch(frame: FrameType, event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        if not file.startswith(root):
            return None
        if event == "line":
            found.add((file, frame.f_lineno))
        return watch

    sys.settrace(watch)
    try:
        with suppress(VTAError):
            PARSERS[name](data)
    finally:
        sys.settrace(None)
    return found


def _chosen(name: str, folder: Path) -> Iterator[bytes]:
    """Yield what reaches lines that neither the seeds nor the corpus reach, the most of them first."""
    from bench.parsers import ALL_FORMATS

    kept = [path.read_bytes() for path in (CORPUS / name).glob("*")]
    reached = set[tuple[str, int]]().union(*(lines_of(name, data) for data in [*ALL_FORMATS[name].seeds(), *kept]))
    candidates = [path.read_bytes() for path in (folder / name).iterdir() if path.stat().st_size <= _LONGEST_KEPT]
    lines = [(lines_of(name, data) - reached, data) for data in candidates]
    for _ in range(_MOST_KEPT):
        best, data = max(lines, key=lambda each: (len(each[0]), -len(each[1])), default=(set(), b""))
        if not best:
            return
        yield data
        lines = [(left - best, other) for left, other in lines]


def main(words: Sequence[str] | None = None) -> int:
    """Fuzz, and return the exit status: 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--formats", default=",".join(NAMES))
    parser.add_argument("--keep", action="store_true", help="add to the corpus")
    options = parser.parse_args(words)
    names = options.formats.split(",")
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        parser.error(f"no format {unknown[0]!r}; there are {', '.join(NAMES)}")
    total = found = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in names:
            tried, said, finds = _run(name, max(1, options.seconds // len(names)), folder)
            total, found = total + tried, found + len(finds)
            covered = re.findall(r"cov: (\d+)", said)
            print(f"{name:14} {tried:8,} inputs, {covered[-1] if covered else 0} edges, {len(finds)} finds", flush=True)
            if not tried and not finds:
                print(said[-2000:])
                return 1
            for path in finds:
                place = FINDS / name
                place.mkdir(parents=True, exist_ok=True)
                (place / path.name[:40]).write_bytes(path.read_bytes())
                print(f"  {place / path.name[:40]}\n" + "\n".join(said.splitlines()[-40:]))
            if options.keep:
                (CORPUS / name).mkdir(parents=True, exist_ok=True)
                for data in _chosen(name, folder):
                    (CORPUS / name / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    print(f"{total:,} inputs, {found} finds")
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        traceback.print_exc(limit=0)
        sys.exit(130)

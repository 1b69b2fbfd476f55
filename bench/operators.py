"""Compare random operators of the library, on the accelerator, with numpy.

    python -m bench.operators --seed 1 --count 1000
    python -m bench.operators --seed 1 --count 100 --engine tsim
    python -m bench.operators --seed 1 --count 300 --check

Instances take turns with the five configurations of ``tests/support/configs.py`` and, within one, with the kinds of
``tests/support/compiler/random_operators.py``; ``--config`` and ``--kind`` choose. Instance ``i`` depends on the seed,
these choices and ``i`` alone, so ``--only i`` runs it again. All failing instances are printed as the constructor calls
that make them, with a smaller one that fails too, and the exit status is 1. With ``--check``, it fails, too, if the
checker or the sanitizer finds an error in one of its launches.
"""

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from tests.support.compiler.random_operators import KINDS, Draw, draw, outcome, shrunk
from tests.support.configs import CONFIGS

_CHUNK = 5


@dataclass(frozen=True, slots=True)
class Result:
    """How an instance did: ``failure`` is "" if the engine gave what numpy gives."""

    kind: str
    failure: str
    seconds: float


def run(index: int, *, choice: Draw, engine: str, shrink: bool, checked: bool) -> Result:
    """Check instance ``index``."""
    start = time.perf_counter()
    instance = draw(choice, index)
    told = partial(outcome, config=instance.config, seed=index, engine=engine, checked=checked)
    problem = told(instance.operator)
    if not problem:
        return Result(instance.kind, "", time.perf_counter() - start)
    lines = [f"{index}: {instance.config}, {instance.operator!r}", f"    {problem}"]
    if shrink:
        small = shrunk(instance.operator, lambda operator: bool(told(operator)))
        lines += [f"    smaller: {small!r}", f"    {told(small)}"]
    return Result(instance.kind, "\n".join(lines), time.perf_counter() - start)


def _report(results: list[Result], engine: str) -> None:
    for kind in KINDS:
        mine = [result for result in results if result.kind == kind]
        if mine:
            failed = sum(bool(result.failure) for result in mine)
            seconds = sum(result.seconds for result in mine)
            print(f"{kind:18s} {len(mine):6d} instances, {failed} differ, {1000 * seconds / len(mine):.0f} ms each")
    failed = sum(bool(result.failure) for result in results)
    print(f"{len(results)} instances on {engine}: {len(results) - failed} equal numpy")


def _positive(text: str) -> int:
    """Read an option that counts something: none of it would be a success that shows nothing."""
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=_positive, default=1000, help="how many instances, default 1000")
    parser.add_argument("--only", type=int, help="run this one instance")
    parser.add_argument("--engine", choices=["sim", "tsim", "reference"], default="sim")
    parser.add_argument("--config", action="append", choices=list(CONFIGS), help="default: all")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="default: all")
    parser.add_argument("--check", action="store_true", help="check and sanitize every launch, too")
    parser.add_argument("--no-shrink", action="store_true", help="do not look for smaller failing instances")
    parser.add_argument("--jobs", type=_positive, default=os.cpu_count())
    arguments = parser.parse_args()
    choice = Draw(arguments.seed, tuple(arguments.config or CONFIGS), tuple(arguments.kind or KINDS))
    indices = range(arguments.count) if arguments.only is None else [arguments.only]
    checked = {"shrink": not arguments.no_shrink, "checked": arguments.check}
    check = partial(run, choice=choice, engine=arguments.engine, **checked)
    results = []
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(check, indices, chunksize=_CHUNK):
            results.append(result)
            if result.failure:
                print(result.failure, flush=True)
    _report(results, arguments.engine)
    return 1 if any(result.failure for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())

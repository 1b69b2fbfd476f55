"""Plant faults in compiled streams and count which of them the checker and the differ find, and where.

    python -m bench.faults --seed 1 --faults 1000
    python -m bench.faults --seed 1 --faults 1000 --legal
    python -m bench.faults --seed 1 --faults 200 --engine all

The streams are the recorded ones, and with ``--schedules`` those of random schedules on every configuration. Tokens
dropped, added and moved, instructions swapped, indices out of bounds, loads without work; with ``--legal``,
addresses, strides, factors and micro-ops that are shifted in bounds. A fault is found at the right instruction if the
first finding names it (or the other end of its token), or the first difference is there; the differ compares with the
unmodified program, and alone judges what is shifted. Planted changes after which
every order of execution gives the original's memory are no faults and are drawn again.

With ``--engine``, the reference interpreter has an operation patched, or one expression is changed in the source of
the functional simulator's emitters or of the hardware (``all`` is half of the faults, a third and the rest). Random
programs run on it and on an engine that is right, and the differ must name the first instruction after which the two
machines differ. A faulty core takes ten seconds to compile; of the hardware, 27 faults take turns.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache

import numpy as np

from isa.program import Program
from tests.support.compiler.compiled_programs import compiled_programs
from tests.support.faults.engine_fault_verdict import ENGINES, judge_engine_faults
from tests.support.faults.fault_verdict import Outcome, judge
from tests.support.faults.seeded_faults import BROKEN, LEGAL, plant
from tests.support.golden.golden import case_names, load_case
from tests.support.golden.golden_program import golden_program

_LONGEST = 450
"""Instructions of the longest stream that faults are planted in."""

_MOCK = ("gemm_unittest", "alu_unittest")


Streams = Sequence[tuple[str, Program]]


@cache
def recorded_streams() -> Streams:
    """Return the recorded streams that are not too long, with random buffers where none were recorded."""
    found = []
    for folder, name in case_names():
        if name.endswith(_MOCK) or len(load_case(folder, name).words) > _LONGEST:
            continue
        found.append((f"{folder}/{name}", golden_program(load_case(folder, name))))
    return tuple(found)


def scheduled_streams(seeds: range) -> Streams:
    """Return the launches of random schedules that are not too long."""
    found = [entry for seed in seeds for entry in compiled_programs(seed)]
    return [entry for entry in found if len(entry[1].instructions) <= _LONGEST]


def run(
    streams: Streams, seed: int, count: int, kinds: tuple[str, ...], *, verbose: bool
) -> dict[str, Counter[Outcome]]:
    """Plant ``count`` faults in ``streams``; return the outcomes by kind."""
    table: dict[str, Counter[Outcome]] = defaultdict(Counter)
    drawn = 0
    while sum(sum(row.values()) - row[Outcome.HARMLESS] for row in table.values()) < count:
        rng = np.random.default_rng([seed, drawn])
        name, program = streams[int(rng.integers(len(streams)))]
        fault = plant(rng, program, kinds)
        verdict = judge(fault, program, by_checker=kinds is not LEGAL)
        table[fault.kind][verdict.outcome] += 1
        if verbose and verdict.outcome in (Outcome.MISPLACED, Outcome.MISSED):
            sites = sorted(fault.sites)
            print(f"draw {drawn}: {name}: {fault.text}, sites {sites}\n  {verdict.outcome.value}: {verdict.text}")
        drawn += 1
    return table


def right_share(table: dict[str, Counter[Outcome]]) -> float:
    """Return the share of faults that were found at the right instruction."""
    total = Counter[Outcome]()
    for row in table.values():
        total.update(row)
    right = total[Outcome.CHECKED] + total[Outcome.DIFFED]
    return right / (sum(total.values()) - total[Outcome.HARMLESS])


def _engine_faults(engine: str, seed: int, count: int) -> int:
    parts = {"reference": count // 2, "sim": count // 3} if engine == "all" else {engine: count}
    if engine == "all":
        parts["tsim"] = count - sum(parts.values())
    total = Counter[bool]()
    for name, share in parts.items():
        verdicts, wrong = judge_engine_faults(name, seed, share)
        print(*wrong, sep="\n", end="\n" if wrong else "")
        print(f"{name}: {verdicts[True]} of {share} faults at the right instruction", flush=True)
        total += verdicts
    right = total[True] / total.total()
    print(f"the differ names the right instruction for {total[True]} of {count} faults: {100 * right:.2f} %")
    return 0 if right >= 0.99 else 1


def main() -> int:
    """Run the command line; return 1 if fewer than 99 % were found at the right instruction."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--legal", action="store_true", help="plant faults that leave a legal program")
    parser.add_argument("--schedules", type=int, default=0, help="plant them in so many random schedules' streams")
    parser.add_argument("--engine", choices=["all", *ENGINES], help="plant faults in an engine instead")
    parser.add_argument("--verbose", action="store_true", help="print every fault that was not found where it is")
    arguments = parser.parse_args()
    if arguments.engine:
        return _engine_faults(arguments.engine, arguments.seed, arguments.faults)
    streams = scheduled_streams(range(arguments.schedules)) if arguments.schedules else recorded_streams()
    kinds = LEGAL if arguments.legal else BROKEN
    table = run(streams, arguments.seed, arguments.faults, kinds, verbose=arguments.verbose)
    for kind in sorted(table):
        row = table[kind]
        print(f"{kind}: " + ", ".join(f"{row[outcome]} {outcome.value}" for outcome in Outcome if row[outcome]))
    share = right_share(table)
    print(f"found at the right instruction: {100 * share:.2f} %")
    return 0 if share >= 0.99 else 1


if __name__ == "__main__":
    sys.exit(main())

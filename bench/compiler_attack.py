"""Attack the compiler: random te programs and random operators, compared with plain numpy.

    python -m bench.compiler_attack --programs 3000 --operators 1700 --seed 7

Program and operator ``i`` depend on the seed and ``i`` alone, so ``--only i`` runs one again. numpy is the benchmark's
own (``bench/attack_programs.py``, ``bench/attack_operators.py``), not the library's. What is refused is counted by its
sentence; a wrong number, or an exception that is no error of ours, is printed, and the exit status is 1. Expressions of
the host at every level of optimisation have a command of their own, ``python -m bench.host_fuzz``.
"""

import argparse
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

import vta
from bench import attack_operators, attack_programs
from bench.attack_programs import Program
from isa.errors import VTAError
from tests.support.compiler.random_operators import Draw, draw, environment, random_arrays
from vta.topi.core.operator import compile  # noqa: A004  # what it does

__all__ = ["Tally", "attack", "main", "one_operator", "one_program"]


@dataclass(slots=True)
class Tally:
    """What became of the cases: how many were right, refusals by sentence, and what is wrong."""

    right: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def lines(self, what: str) -> Iterable[str]:
        """Yield the report."""
        refused = sum(self.refused.values())
        yield f"{what}: {self.right} right, {refused} refused, {len(self.wrong)} wrong"
        for sentence, count in self.refused.most_common():
            yield f"    {count:5d} refused: {sentence}"
        yield from self.wrong


def attack(indices: Iterable[int], case: Callable[[int], str | None]) -> Tally:
    """Run cases; ``case`` returns what is wrong, and raises an error of ours for what is refused."""
    tally = Tally()
    for index in indices:
        try:
            problem = case(index)
        except VTAError as error:
            tally.refused[_sentence(error)] += 1
        except Exception:  # whatever else it is, a user would see a traceback
            tally.wrong.append(f"{index}: {traceback.format_exc()}")
        else:
            tally.right += problem is None
            tally.wrong += [] if problem is None else [f"{index}: {problem}"]
    return tally


def _sentence(error: VTAError) -> str:
    """Return the sentence without what differs from case to case."""
    text = re.sub(r"'[^']*'", "'...'", str(error).splitlines()[0])
    text = re.sub(r"\([\w.]+\.py:\d+\)|attack_programs\.py:\d+", "(...)", text)
    return re.sub(r"-?\d+", "N", text)[:160]


def one_program(seed: int, index: int) -> str | None:
    """Return what is wrong with program ``index``."""
    program = attack_programs.random_program(Random(f"{seed} {index}"), index)
    return _difference(_run(program), program.expected, program.text)


def _run(program: Program) -> np.ndarray[Any, Any]:
    on_device = program.target == "vta"
    target = vta.get_env().target if on_device else "llvm"
    module = vta.build(program.schedule, list(program.args), target=target)
    place = (vta.nd.ext_dev(),) if on_device else ()
    found = vta.nd.array(np.full(program.expected.shape, 77, program.expected.dtype), *place)
    module(*(vta.nd.array(value, *place) for value in program.inputs), found)
    result: np.ndarray[Any, Any] = found.numpy()
    return result


def one_operator(seed: int, index: int) -> str | None:
    """Return what is wrong with operator ``index``."""
    instance = draw(Draw(seed, kinds=attack_operators.KINDS), index)
    operator = instance.operator
    if not attack_operators.known(operator):
        operator = replace(operator, epilogue=())  # type: ignore[type-var]  # all are dataclasses that have one
    env = environment(instance.config)
    arrays = random_arrays(np.random.default_rng([seed, index, 1]), operator, env)
    expected = attack_operators.expected(operator, list(arrays))
    return _difference(compile(operator, env)(*arrays), expected, f"{instance.config}, {operator!r}")


def _difference(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], text: str) -> str | None:
    if found.shape != expected.shape:
        return f"{text}: shape {found.shape}, not {expected.shape}"
    places = np.argwhere(found != expected)
    if not len(places):
        return None
    at = tuple(places[0])
    return f"{text}: {len(places)} of {found.size} numbers are wrong; {at} is {found[at]}, not {expected[at]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--operators", type=int, default=170)
    parser.add_argument("--only", type=int, help="run the program and the operator of this number alone")
    given = parser.parse_args(arguments)
    failed = False
    for what, count, case in (("programs", given.programs, one_program), ("operators", given.operators, one_operator)):
        if not count:
            continue
        indices = range(count) if given.only is None else [given.only]
        tally = attack(indices, lambda index, case=case: case(given.seed, index))  # type: ignore[misc]  # bound now
        print("\n".join(tally.lines(what)), flush=True)
        failed |= bool(tally.wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

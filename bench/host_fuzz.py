"""Compare compiled host programs with the TIR interpreter, at every level of optimisation.

    python -m bench.host_fuzz --seed 1 --programs 500
    python -m bench.host_fuzz --seed 1 --programs 1000 --kind tir

Program ``i`` depends on the seed, ``i`` and its kind alone, so ``--only i`` runs it again. Kinds take turns, or one is
asked for: ``loops`` are nests whose indices wrap (``tests/support/compiler/random_loops.py``), compiled as they are;
``te`` are tensor expressions under a random schedule with vectors, unrolled and parallel loops (however short, on three
threads), ``tir`` ones under random steps of ``tir.Schedule``, both after all passes of the host, compared with numpy.
``sums`` are small matrix products under many such steps, run by the interpreter as they are and compared with numpy:
no code is made of them, and they take a tenth of the time; only ``--kind sums`` draws them. The first difference is
printed with the program, and the exit status is 1.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import numpy as np

from isa.config import VTAConfig
from runtime.native.thread_pool import set_threads
from tests.support.compiler.host_programs import lowered_step_by_step, marked, random_function
from tests.support.compiler.random_block_schedules import random_block_schedule, random_sum_step
from tests.support.compiler.random_loops import random_loops
from tests.support.compiler.te_programs import Program, random_product, random_program
from tests.support.runtime.host_call import run_on
from vta import te
from vta.codegen.host import emit_host
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import InterpreterError, run_func
from vta.tir.verify import verify

LEVELS = (0, 1, 2, 3)

_THREADS = 3

_GUARD = 64
"""Elements before and after the output, which nothing may touch."""


KINDS = ("loops", "te", "tir", "sums")

_SMALL = (1, 1, 2, 3, 5)
_STEPS = 12


def difference(seed: int, index: int, levels: Sequence[int] = LEVELS, kind: str | None = None) -> str | None:
    """Return where program ``index`` gives other numbers than it should, None if nowhere."""
    rng = Random(f"{seed} {index}")
    match kind or ("te" if index % 3 == 2 else "tir" if index % 6 == 4 else "loops"):
        case "te":
            return _scheduled(rng, levels)
        case "tir":
            return _blocks(rng, levels)
        case "sums":
            return _sums(rng)
        case _:
            return _nest(rng, levels)


def _nest(rng: Random, levels: Sequence[int]) -> str | None:
    program = random_loops(rng)
    expected = program.output.copy()
    run_func(program.func, [*program.inputs, expected, program.unknown])
    host = emit_host([program.func], VTAConfig())
    for level in levels:
        found, output = _guarded(program.output)
        failure = run_on(host, "program", [*program.inputs, output, program.unknown], level=level)
        if (what := failure or _wrong(found, expected)) is not None:
            return f"level {level}: {what}; s is {program.unknown}\n{program.func}"
    return None


def _scheduled(rng: Random, levels: Sequence[int]) -> str | None:
    program, func = random_function(rng)
    return _compiled(program, marked(rng, func), levels)


def _blocks(rng: Random, levels: Sequence[int]) -> str | None:
    program = random_program(rng)
    func = te.create_prim_func([*(tensor for tensor, _ in program.inputs), program.output])
    sch, _ = random_block_schedule(rng, replace(func, name="program"))
    return _compiled(program, sch.func, levels)


def _sums(rng: Random) -> str | None:
    program = random_product(rng, _SMALL)
    func = te.create_prim_func([*(tensor for tensor, _ in program.inputs), program.output])
    sch, _ = random_block_schedule(rng, replace(func, name="program"), _STEPS, random_sum_step)
    found, output = _guarded(np.full(program.expected.shape, 12345, np.int32))
    try:
        run_func(verify(sch.func), [*(value for _, value in program.inputs), output])
    except InterpreterError as error:
        return f"interpreted: {error}\n{sch.func}"
    what = _wrong(found, program.expected.ravel())
    return None if what is None else f"interpreted: {what}\n{sch.func}"


def _compiled(program: Program, func: PrimFunc, levels: Sequence[int]) -> str | None:
    *_, (_, func) = lowered_step_by_step(func, VTAConfig())
    host = emit_host([func], VTAConfig(), least_parallel_work=0)
    inputs = [np.ascontiguousarray(value) for _, value in program.inputs]
    for level in levels:
        found, output = _guarded(np.full(program.expected.shape, 12345, np.int32))
        failure = run_on(host, "program", [*inputs, output], level=level)
        if (what := failure or _wrong(found, program.expected.ravel())) is not None:
            return f"level {level}: {what}\n{func}"
    return None


def _guarded(initial: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return memory with guards, and the array of the shape and contents of ``initial`` between them."""
    memory = np.full(initial.size + 2 * _GUARD, -559038737, np.int32)
    inside = memory[_GUARD : _GUARD + initial.size]
    inside[:] = initial.ravel()
    return memory, inside.reshape(initial.shape)


def _wrong(memory: np.ndarray, expected: np.ndarray) -> str | None:
    before, inside, after = memory[:_GUARD], memory[_GUARD:-_GUARD], memory[-_GUARD:]
    if not (np.all(before == before[0]) and np.all(after == before[0])):
        return "wrote beside the output"
    wrong = np.flatnonzero(inside != expected)
    if not len(wrong):
        return None
    at = wrong[0]
    return f"{len(wrong)} of {len(inside)} numbers are wrong; element {at} is {inside[at]}, not {expected[at]}"


def _differences(arguments: argparse.Namespace) -> Iterator[tuple[int, str | None]]:
    indices = range(arguments.programs) if arguments.only is None else (arguments.only,)
    for index in indices:
        yield index, difference(arguments.seed, index, arguments.levels, arguments.kind)


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--kind", choices=KINDS, help="programs of this kind alone")
    parser.add_argument("--only", type=int, help="run this one program")
    parser.add_argument("--levels", type=int, nargs="+", choices=LEVELS, default=LEVELS)
    arguments = parser.parse_args()
    set_threads(_THREADS)
    start, count = time.perf_counter(), 0
    for index, found in _differences(arguments):
        if found is not None:
            print(f"seed {arguments.seed}, program {index}: {found}")
            return 1
        count += 1
    where = "interpreted" if arguments.kind == "sums" else f"at levels {', '.join(map(str, arguments.levels))}"
    print(f"seed {arguments.seed}: {count} programs agree {where}, {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())

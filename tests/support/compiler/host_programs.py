"""Random programs of the host, for the passes that every function goes through, and what each of them leaves.

All randomness comes from the ``random.Random`` that is passed in.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np

from isa.config import VTAConfig
from tests.support.compiler.te_programs import Program, random_program, random_schedule
from tests.support.runtime.host_call import call_host
from vta.passes.pipelines import PIPELINE, PassScope
from vta.te import schedule_to_func
from vta.tir.dtype import INT32, INT64
from vta.tir.expr import Cast, IntImm, Var
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.stmt import For, ForKind, Stmt
from vta.tir.traverse import map_stmt, substitute
from vta.tir.verify import verify

__all__ = ["check_native", "check_result", "lowered_step_by_step", "marked", "random_function", "widened"]

_UNROLLED = 4
"""Iterations of a loop that is marked as unrolled, at most: nests of them multiply."""


def random_function(rng: Random) -> tuple[Program, PrimFunc]:
    """Return a program and its function under a random schedule, not lowered yet."""
    program = random_program(rng)
    schedule = random_schedule(rng, program)
    return program, schedule_to_func(schedule, [*(t for t, _ in program.inputs), program.output], "program")


def marked(
    rng: Random, func: PrimFunc, kinds: tuple[ForKind, ...] = (ForKind.VECTORIZED, ForKind.UNROLLED)
) -> PrimFunc:
    """Return ``func`` with some of its loops marked, whether or not their iterations depend on each other."""

    def mark(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For) or stmt.kind is not ForKind.SERIAL or rng.random() < 0.5:
            return stmt
        kind = rng.choice(kinds)
        short = isinstance(stmt.extent, IntImm) and stmt.extent.value <= _UNROLLED
        return stmt if kind is ForKind.UNROLLED and not short else replace(stmt, kind=kind)

    return replace(func, body=map_stmt(func.body, mark))


def widened(rng: Random, func: PrimFunc) -> PrimFunc:
    """Return ``func`` with some of its loops counting with 64 bits."""

    def widen(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For) or rng.random() < 0.5:
            return stmt
        var = Var(stmt.loop_var.name, INT64)
        body = substitute(stmt.body, {stmt.loop_var: Cast(INT32, var)})
        return replace(stmt, loop_var=var, min=Cast(INT64, stmt.min), extent=Cast(INT64, stmt.extent), body=body)

    return replace(func, body=map_stmt(func.body, widen))


def lowered_step_by_step(func: PrimFunc, config: VTAConfig) -> Iterator[tuple[str, PrimFunc]]:
    """Yield each generic pass's name and the well-formed function that it leaves."""
    for entry in PIPELINE:
        if entry.scope is PassScope.ANY:
            func = verify(entry.func(func, config))
            yield entry.name, func


def check_result(program: Program, func: PrimFunc, where: str) -> None:
    """Run ``func`` in the interpreter and compare its output."""
    result = np.full(program.expected.shape, 12345, np.int32)
    run_func(func, [*(v for _, v in program.inputs), result])
    assert np.array_equal(result, program.expected), f"{where}:\n{func}"


def check_native(program: Program, func: PrimFunc, where: str) -> None:
    """Run the machine code of ``func`` between guards and compare its output."""
    size = program.expected.size
    memory = np.full(size + 64, 12345, np.int32)
    result = memory[32 : 32 + size].reshape(program.expected.shape)
    inputs = [np.ascontiguousarray(v) for _, v in program.inputs]
    assert call_host(func, *inputs, result) is None
    assert np.array_equal(result, program.expected), f"{where}:\n{func}"
    assert np.all(memory[:32] == 12345), where
    assert np.all(memory[32 + size :] == 12345), where

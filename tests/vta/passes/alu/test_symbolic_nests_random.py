"""Random loop nests whose ends, guards and pads only the caller knows, through every generic pass, for many sizes."""

from random import Random

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.compiler.host_programs import lowered_step_by_step
from tests.support.compiler.tir_build import buffer
from vta.tir import ops
from vta.tir.dtype import HANDLE
from vta.tir.expr import Expr, Var, const
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import compile_func
from vta.tir.stmt import BufferStore, For, ForKind, IfThenElse, Stmt, seq

SIZE = 512
N, M = Var("n"), Var("m")
IN, OUT = buffer("data", [SIZE]), buffer("out", [SIZE])
SIZES = [(0, 0), (1, 3), (4, 4), (5, 17), (16, 9), (23, 2), (-2, 5)]


class Nest:
    """A nest of up to three loops around stores that are guarded wherever they could miss."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.loops: list[Var] = []

    def end(self) -> Expr:
        """Return a size, some of it unknown, no larger than 23."""
        return self.rng.choice([N, M, const(self.rng.randint(1, 9)), (N + 3) // 4, ops.min(N, M), ops.max(M - 2, 0)])

    def place(self) -> Expr:
        """Return a sum of the loops' variables, each times a small number."""
        total: Expr = const(self.rng.randint(-3, 20))
        for var in self.loops:
            total = total + var * self.rng.choice([1, 1, 2, 4, -1])
        return total

    def condition(self) -> Expr:
        """Return a comparison of such a sum with a size; often marked as likely."""
        a, b = self.place(), self.rng.choice([N, M + 1, const(self.rng.randint(0, 30))])
        compared = self.rng.choice([a < b, a <= b, a > b, a >= b])
        return ops.likely(compared) if self.rng.random() < 0.7 else compared

    def value(self) -> Expr:
        place = self.place()
        inside = ops.all(place >= 0, place < SIZE)
        read = ops.if_then_else(inside, IN.load(place), -1)
        if self.rng.random() < 0.5:
            read = ops.if_then_else(ops.all(self.condition(), self.condition()), read, self.place())
        return read * 3 + self.place()

    def store(self) -> Stmt:
        place = self.place()
        guarded: Stmt = BufferStore(OUT, OUT.load(place) + self.value(), (place,))
        guarded = IfThenElse(ops.likely(ops.all(place >= 0, place < SIZE)), guarded)
        if self.rng.random() < 0.5:
            other = self.store() if self.rng.random() < 0.2 else None
            guarded = IfThenElse(self.condition(), guarded, other)
        return guarded

    def stmt(self, depth: int) -> Stmt:
        if depth == 0:
            return self.store()
        body: list[Stmt] = []
        var = Var(f"i{len(self.loops)}")
        low: Expr = const(self.rng.choice([0, 0, 0, -2, 3]))
        extent, kind = self.end(), self.rng.choice([ForKind.SERIAL, ForKind.SERIAL, ForKind.VECTORIZED])
        self.loops.append(var)
        body.append(self.stmt(depth - 1))
        if self.rng.random() < 0.2:
            body.append(self.store())
        self.loops.pop()
        loop: Stmt = For(var, low, extent, seq(body), kind)
        return IfThenElse(self.condition(), loop) if self.rng.random() < 0.2 else loop

    def function(self) -> PrimFunc:
        data, out = Var("data", HANDLE), Var("out", HANDLE)
        body = self.stmt(self.rng.randint(1, 3))
        return PrimFunc("nest", (data, out, N, M), body, {data: IN, out: OUT})


def results(func: PrimFunc) -> list[np.ndarray]:
    """Return what ``func`` leaves for each of the sizes."""
    compiled, found = compile_func(func), []
    for n, m in SIZES:
        data, out = np.arange(SIZE, dtype=np.int32) * 7 % 101, np.zeros(SIZE, np.int32)
        compiled(data, out, n, m)
        found.append(out)
    return found


def check(seed: int) -> None:
    func = Nest(seed).function()
    truth, last = results(func), func
    for name, after in lowered_step_by_step(func, VTAConfig()):
        if after.body is not last.body:
            for size, expected, found in zip(SIZES, truth, results(after), strict=True):
                assert np.array_equal(found, expected), f"seed {seed}, n and m {size}, after {name}:\n{func}\n{after}"
        last = after


@pytest.mark.parametrize("first", range(0, 24, 8))
def test_no_pass_changes_what_a_nest_with_unknown_ends_computes(first: int) -> None:
    for seed in range(first, first + 8):
        check(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 5000, 500))
def test_no_pass_changes_what_very_many_nests_compute(first: int) -> None:
    for seed in range(first, first + 500):
        check(seed)


def test_the_nests_are_split_and_guarded_loops_lose_their_tests() -> None:
    """Otherwise the tests above would say nothing."""
    split = 0
    for seed in range(20):
        steps = dict(lowered_step_by_step(Nest(seed).function(), VTAConfig()))
        split += str(steps["LoopPartition"]).count("for (") > str(steps["NarrowDataType"]).count("for (")
    assert split > 6

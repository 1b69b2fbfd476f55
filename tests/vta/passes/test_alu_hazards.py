"""Reductions and overlapping operands: iterations have the effect that they have in order."""

from collections.abc import Callable

import pytest

from tests.support.alu_model import Kernel, kernels_of
from tests.support.alu_stage import MAX, accumulator, check, refusal, stage
from tests.support.tir_build import block, loop, store
from vta.tir import ops
from vta.tir.buffer import Buffer
from vta.tir.expr import Expr, Var
from vta.tir.stmt import Stmt


def test_an_accumulation_runs_in_one_kernel() -> None:
    acc = accumulator(64)
    i, r, k = Var("i"), Var("r"), Var("k")
    at, src = i * 16 + k, r * 64 + i * 16 + k + 160
    body = loop(i, 4, loop(r, 5, loop(k, 16, store(acc, ops.max(acc.load(at), acc.load(src)), at))))
    lowered = check(acc, stage(body))
    assert kernels_of(lowered.body) == [Kernel(((4, 1, 1, 0), (5, 0, 4, 0)), ((1, 0, 0, 10, 0, MAX, 0, 0),))]


@pytest.mark.parametrize(
    "update",
    [
        lambda c, a: c + a * 3,
        lambda c, a: c - a,
        lambda c, a: a - c,
        lambda c, a: (c + a) >> 1,
        lambda c, a: c * a + 1,
        lambda _, a: a,
        lambda c, _: c + 50000,
        lambda c, a: c << (ops.max(ops.min(a, 1), 0)),
        lambda c, _: ops.min(c, 100000),
    ],
)
def test_a_reduction_keeps_the_order_of_its_steps(update: Callable[[Expr, Expr], Expr]) -> None:
    acc = accumulator(64)
    i, r, k = Var("i"), Var("r"), Var("k")
    at, src = i * 16 + k, r * 64 + i * 16 + k + 160
    check(acc, stage(loop(i, 4, loop(r, 5, loop(k, 16, store(acc, update(acc.load(at), acc.load(src)), at))))))


def test_an_initialisation_and_its_reduction_may_share_a_loop() -> None:
    acc = accumulator(64)
    i, j, r, k = Var("i"), Var("j"), Var("r"), Var("k")
    at, src = i * 16 + k, r * 64 + i * 16 + k + 160
    init = loop(j, 16, store(acc, 0, i * 16 + j))
    update = loop(r, 5, loop(k, 16, store(acc, acc.load(at) + acc.load(src), at)))
    check(acc, stage(loop(i, 4, block(init, update))))


def test_a_prefix_sum_reads_what_the_iteration_before_wrote() -> None:
    acc = accumulator(16)
    i, k = Var("i"), Var("k")
    check(
        acc,
        stage(loop(i, 7, loop(k, 16, store(acc, acc.load(i * 16 + k + 16) + acc.load(i * 16 + k), i * 16 + k + 16)))),
    )


def test_an_operand_that_overlaps_the_result_is_refused() -> None:
    def shifted(acc: Buffer) -> Stmt:
        i, k = Var("i"), Var("k")
        return loop(i, 4, loop(k, 16, store(acc, acc.load(i * 16 + k + 16) * 2 + 1, i * 16 + k)))

    assert refusal(shifted) == (
        "the function: ALU stage into 'acc': expected operands that are the result's own elements, or other memory, "
        "got 'acc', which may overlap the result; write to another buffer, in a stage of its own"
    )

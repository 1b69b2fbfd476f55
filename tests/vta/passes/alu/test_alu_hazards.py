"""Reductions and overlapping operands: iterations have the effect that they have in order."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.compiler.tir_build import block, loop, store, when
from tests.support.hw.alu_stage import ADD, MAX, MUL, accumulator, check, refusal, stage
from tests.support.isa.alu_model import Kernel, kernels_of
from vta.arith.simplify import Analyzer
from vta.passes.alu.expression import AluError
from vta.passes.alu.sequence import _Touched
from vta.tir import ops
from vta.tir.buffer import Buffer
from vta.tir.expr import Expr, Var, const
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


def test_a_reduction_inside_of_the_lanes_is_two_kernels() -> None:
    acc = accumulator(64)
    i, k, r = Var("i"), Var("k"), Var("r")
    at = i * 16 + k
    init = store(acc, 0, at)
    update = loop(r, 5, store(acc, acc.load(at) + acc.load(r * 64 + at + 160), at))
    lowered = check(acc, stage(loop(i, 4, loop(k, 16, block(init, update)))))
    assert kernels_of(lowered.body) == [
        Kernel(((4, 1, 1, 0),), ((1, 0, 0, 0, 0, MUL, 1, 0),)),
        Kernel(((4, 1, 1, 0), (5, 0, 4, 0)), ((1, 0, 0, 10, 0, ADD, 0, 0),)),
    ]


def _same(nest: Stmt, _: object) -> Stmt:
    return nest


def test_statements_that_feed_each_other_across_iterations_stay_together() -> None:
    acc = accumulator(64)
    i, k = Var("i"), Var("k")
    at = i * 16 + k
    first = store(acc, acc.load(at + 480) + 1, at)
    second = store(acc, acc.load(at) * 3, at + 496)
    for pair in (block(first, second), block(second, first)):
        check(acc, stage(loop(i, 4, loop(k, 16, first)), loop(i, 4, loop(k, 16, second))))
        together = loop(i, 4, loop(k, 16, pair))
        sentence = refusal(partial(_same, together))
        assert "got stores of which one may touch, in an iteration of the loops around them" in sentence
    lanes = Var("l")
    inner = loop(lanes, 16, store(acc, acc.load(i * 16 + lanes) * 3, i * 16 + lanes + 496))
    check(acc, stage(loop(i, 4, block(loop(k, 16, first), inner))))


def test_a_shared_result_with_different_blocks_stays_on_the_host() -> None:
    acc = accumulator(64)
    i, j, k, m = Var("i"), Var("j"), Var("k"), Var("m")
    small = loop(k, 16, store(acc, 1, i * 32 + k))
    large = loop(j, 2, loop(m, 16, store(acc, acc.load(i * 32 + j * 16 + m) + 5, i * 32 + j * 16 + m)))
    check(acc, stage(loop(i, 4, block(small, large))))


def test_a_tail_keeps_operands_apart() -> None:
    acc = accumulator(64)
    o, p, i, j, k = Var("o"), Var("p"), Var("i"), Var("j"), Var("k")
    row, column = o * 4 + i, p * 2 + j
    at = row * 48 + column * 16 + k
    update = when(ops.likely(column < 3), loop(k, 16, store(acc, ops.max(acc.load(at) * 3, 5), at + 480)))
    body = loop(o, 3, loop(p, 2, loop(i, 4, when(ops.likely(row < 10), loop(j, 2, update)))))
    check(acc, stage(body))


def test_elements_that_are_stored_twice_keep_the_order_of_their_stores() -> None:
    acc = accumulator(64)
    i, j, k = Var("i"), Var("j"), Var("k")
    at = i * 16 + j * 16 + k
    value = acc.load(ops.floordiv(j, 2) * 16 + i * 64 + k + 320) * 3
    check(acc, stage(loop(i, 4, loop(j, 4, loop(k, 16, store(acc, value, at))))))


def test_elements_of_a_fused_loop_that_are_stored_twice_are_refused() -> None:
    def fused(acc: Buffer) -> Stmt:
        f, i = Var("f"), Var("i")
        return loop(f, 128, loop(i, 4, store(acc, acc.load(f + 512) * 3, f + i * 16)))

    assert refusal(fused) == (
        "the function: ALU stage into 'acc': expected loops that can run one after the other, got a loop over lanes "
        "that goes on to elements which are stored more than once; keep the axes of lanes and the others apart (no "
        "fuse)"
    )


def test_a_prefix_sum_reads_what_the_iteration_before_wrote() -> None:
    acc = accumulator(16)
    i, k = Var("i"), Var("k")
    check(
        acc,
        stage(loop(i, 7, loop(k, 16, store(acc, acc.load(i * 16 + k + 16) + acc.load(i * 16 + k), i * 16 + k + 16)))),
    )


@st.composite
def nests(draw: st.DrawFn) -> Callable[[Buffer], Stmt]:
    """A random nest: loops in any order around the lanes, strides of all kinds, conditions, one or two operands."""
    extents = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    strides = st.lists(st.sampled_from([0, 1, 1, 2, 3, 4, -1]), min_size=len(extents), max_size=len(extents))
    places = [(draw(strides), draw(st.sampled_from([12, 12, 20, 40]))) for _ in range(3)]
    if draw(st.booleans()):
        places[1] = places[0]
    form = draw(st.integers(0, 6))
    bound = draw(st.sampled_from([None, 1, 2, 5]))
    inside = draw(st.integers(0, len(extents)))

    def make(acc: Buffer) -> Stmt:
        variables = [Var(f"v{n}") for n in range(len(extents))]
        k = Var("k")
        indices = [
            sum((v * (s * 16) for v, s in zip(variables, steps, strict=True)), start=k + base * 16)
            for steps, base in places
        ]
        a, b = acc.load(indices[1]), acc.load(indices[2])
        values = [a + b, a * 3, a - b, ops.max(a, b), (a + 5) >> 1, b, a + variables[0] * 7]
        stmt: Stmt = store(acc, values[form], indices[0])
        if bound is not None:
            stmt = when(ops.likely(sum(variables[1:], start=variables[0] * 2) < bound), stmt)
        for depth in range(len(extents), -1, -1):
            if depth == inside:
                stmt = loop(k, 16, stmt)
            if depth > 0:
                stmt = loop(variables[depth - 1], extents[depth - 1], stmt)
        return stmt

    return make


@settings(max_examples=150, deadline=None)
@given(nests())
def test_random_nests_are_exact_or_refused(make: Callable[[Buffer], Stmt]) -> None:
    acc = accumulator(80)
    refused = None
    try:
        check(acc, stage(make(acc)))
    except AluError as error:
        refused = error
    assert refused is None or "may overlap the result" in str(refused)


def test_an_operand_that_overlaps_the_result_is_refused() -> None:
    def shifted(acc: Buffer) -> Stmt:
        i, k = Var("i"), Var("k")
        return loop(i, 4, loop(k, 16, store(acc, acc.load(i * 16 + k + 16) * 2 + 1, i * 16 + k)))

    assert refusal(shifted) == (
        "the function: ALU stage into 'acc': expected operands that are the result's own elements, or other memory, "
        "got 'acc', which may overlap the result; write to another buffer, in a stage of its own"
    )


def test_iterations_of_two_loops_that_store_one_place_keep_their_order() -> None:
    """Rows of four elements, three apart: the last of one is the first of the next one."""
    acc = accumulator(64)
    i, j, k, m = Var("i"), Var("j"), Var("k"), Var("m")
    start = loop(m, 16, store(acc, 7, j * 48 + i * 16 + m))
    at = j * 48 + i * 16 + k
    update = loop(k, 16, store(acc, acc.load(at) + acc.load(j * 64 + i * 16 + k + 320), at))
    check(acc, stage(loop(j, 2, loop(i, 4, block(start, update)))))


def test_a_loop_of_the_host_that_moves_the_result_leaves_the_others_to_the_kernel() -> None:
    acc = accumulator(64)
    i, j, k = Var("i"), Var("j"), Var("k")
    at = i * 48 + j * 16 + k
    body = loop(i, 4, loop(j, 3, loop(k, 16, store(acc, acc.load(at) + j * 900, at))))
    lowered = check(acc, stage(body))
    assert [kernel.loops for kernel in kernels_of(lowered.body)] == [((4, 3, 3, 0),)] * 3


def test_what_is_touched_over_all_iterations_ends_where_the_loops_do() -> None:
    loops = [loop("i", 4, block()), loop("j", 3, block(), low=2)]
    simple = Analyzer().simplify
    for steps, first, last in (((16, -16), 5 - 64, 8 + 48 - 32), ((-16, 16), 5 - 48 + 32, 8 + 64), ((0, 0), 5, 8)):
        ends = _Touched(steps, const(5), 3).ends(loops)
        assert [simple(end) for end in ends] == [const(first), const(last)]

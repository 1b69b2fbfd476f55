"""VectorizeLoop: what becomes vectors, what stays a loop, and that both compute the same."""

import re

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import alloc, block, buffer, call, function, loop, on, pragma, store, when
from vta.arith.simplify import Analyzer
from vta.passes.host.lanes import lanes_are_private
from vta.passes.host.vectorize_loop import vectorize_loop
from vta.tir import ops
from vta.tir.buffer import Buffer
from vta.tir.dtype import BOOL, DType
from vta.tir.expr import Broadcast, BufferLoad, Call, Expr, Let, Ramp, Select, StringImm, Var, const
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.printer import to_text
from vta.tir.stmt import AssertStmt, AttrStmt, BufferStore, Evaluate, For, ForKind, LetStmt, Stmt
from vta.tir.structural import require_equal
from vta.tir.traverse import walk
from vta.tir.verify import verify

N = 160
A, B, C = buffer("A", [N]), buffer("B", [N]), buffer("C", [N])
VECTOR = ForKind.VECTORIZED
i, j, n, x = Var("i"), Var("j"), Var("n"), Var("x")


def vectorized(body: Stmt, *params: Buffer) -> PrimFunc:
    return verify(vectorize_loop(verify(function(body, *(params or (A, B, C)))), VTAConfig()))


def check(body: Stmt, *, vectors: bool) -> PrimFunc:
    """Both programs leave the same memory; ``vectors`` says whether the second one has any."""
    after = vectorized(body)
    rng = np.random.default_rng(3)
    first = [rng.integers(-9, 9, N).astype(np.int32) for _ in range(3)]
    second = [array.copy() for array in first]
    run_func(function(body, A, B, C), first)
    run_func(after, second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(isinstance(node, Ramp) for node in walk(after.body)) is vectors
    assert not any(isinstance(node, For) and node.kind is VECTOR for node in walk(after.body))
    return after


def text(body: Stmt) -> str:
    return without_declarations(to_text(vectorized(body).body))


def without_declarations(printed: str) -> str:
    """Return a printed statement without what its buffers are."""
    return re.sub(r": Buffer\([^]]*], \[]\)", "", printed).strip()


def test_a_loop_becomes_one_operation() -> None:
    place = n * 16 + i
    body = loop(i, 16, store(A, B.load(place) + 1, place), kind=VECTOR)
    ramp = Ramp(n * 16, const(1), 16)
    expected = BufferStore(A, BufferLoad(B, (ramp,)) + Broadcast(const(1), 16), (ramp,))
    require_equal(vectorize_loop(function(body, A, B), VTAConfig()).body, expected)


def test_a_long_loop_becomes_a_loop_over_vectors_and_a_rest() -> None:
    after = check(loop(i, 140, store(A, B.load(i), i + 3), kind=VECTOR, low=5), vectors=True)
    assert without_declarations(to_text(after.body)).splitlines() == [
        "for (i: int32, 0, 2) {",
        "  A[ramp(((i*64) + 8), 1, 64)] = B[ramp(((i*64) + 5), 1, 64)]",
        "}",
        "A[ramp(136, 1, 12)] = B[ramp(133, 1, 12)]",
    ]


def test_a_rest_of_one_is_a_scalar() -> None:
    body = loop(i, 65, store(A, B.load(i), i), kind=VECTOR)
    check(body, vectors=True)
    assert text(body).splitlines()[-1] == "A[64] = B[64]"


def test_loops_of_one_or_no_iteration() -> None:
    assert text(loop(i, 1, store(A, B.load(i), i), kind=VECTOR, low=4)) == "A[4] = B[4]"
    assert text(loop(i, 0, store(A, B.load(i), i), kind=VECTOR)) == "0"


SCALE = const(3)
GOOD: dict[str, Stmt] = {
    "a fixed element": store(A, B.load(7) * C.load(i), i),
    "the lane itself": store(A, i * i + 5 - i, i),
    "division and remainder": store(A, i // 3 + i % 5 + ops.truncdiv(i, 4), i),
    "conversions": store(A, (B.load(i).astype("int8") + const(100, "int8")).astype("int32"), i),
    "minimum and maximum": store(A, ops.max(ops.min(B.load(i), 3), i), i),
    "shifts": store(A, (B.load(i) << 3) >> (i % 4), i),
    "choice between elements": store(A, ops.if_then_else(B.load(i) > 2, B.load(i), C.load(i + 1)), i),
    "select": store(A, Select(ops.all(B.load(i) > 2, i < 9), i, B.load(i)), i),
    "scalar choice": store(A, ops.if_then_else(B.load(3) > 2, B.load(i), i), i),
    "negation of a condition": store(A, Select(~(B.load(i) > 2), const(1), const(0)), i),
    "in place": store(A, A.load(i) * 2 + 1, i),
    "an inner loop": loop(j, 4, store(A, B.load(i + 4 * j), j * 32 + i)),
    "a sum over an inner loop": block(store(A, 0, i), loop(j, 4, store(A, A.load(i) + B.load(i + j * 32), i))),
    "several statements": block(store(A, B.load(i), i), store(C, A.load(i) + 1, i), store(A, C.load(i), i)),
    "a let": LetStmt(Var("x"), i * 2, store(A, i, i)),
    "a scalar let": LetStmt(Var("y"), B.load(0), store(A, i, i)),
    "a constant minus the lane": store(A, 5 - i, i),
    "sums and products of lanes": store(A, (i + i * 3) * 2 - (7 + i), i),
    "a guarded read up to the last element": store(A, ops.if_then_else(B.load(i) > 2, B.load(i + N - 32), 0), i),
    "a guarded division by a constant": store(A, ops.if_then_else(B.load(i) > 2, B.load(i) // 3, 0), i),
    "two conditions": store(A, Select(ops.any(B.load(i) > 2, B.load(i + 128) > 3), i, 0), i),
    "a pragma": AttrStmt(None, "pragma_x", SCALE, store(A, i, i)),
    "a condition of the outside": when(B.load(0) > 0, store(A, i, i), store(A, i + 1, i)),
    "an assertion": AssertStmt(const(1, BOOL), "never", store(A, i, i)),
    "a let of memory": LetStmt(x, B.load(i), block(store(B, 0, i), store(A, x * x, i))),
    "a condition of the lane beside others": block(when(B.load(i) < i, store(A, 7, i)), store(B, i, i)),
    "a let in a condition of the lane": LetStmt(x, i * 2, block(when(x < 9, store(A, x, i)), store(B, i, i))),
    "nothing": block(store(A, i, i), loop(j, 3, Evaluate(const(0)))),
}  # fmt: skip


@pytest.mark.parametrize("case", GOOD)
def test_independent_iterations_become_vectors(case: str) -> None:
    check(loop(i, 32, GOOD[case], kind=VECTOR), vectors=True)


def test_variables_of_a_let_are_replaced_by_their_vectors() -> None:
    body = LetStmt(x, i * 2 + 1, store(A, Let(j, x + 1, j * x), i))
    after = check(loop(i, 8, body, kind=VECTOR), vectors=True)
    assert not any(isinstance(node, LetStmt | Let) for node in walk(after.body))


BAD: dict[str, Stmt] = {
    "reversed reads": store(A, B.load(31 - i), i),
    "strided stores": store(A, B.load(i * 2) - i, i * 4 + 1),
    "inner loops within an element": loop(j, 4, store(A, A.load(i * 4 + j) * 3 + j, i * 4 + j)),
    "a sum into one place": store(A, A.load(0) + B.load(i), 0),
    "the element before": store(A, A.load(i) + 1, i + 1),
    "the element behind": store(A, A.load(i + 1), i),
    "another place of the same buffer": block(store(A, B.load(i), i), store(C, A.load(i + 1), i)),
    "overlapping windows": loop(j, 4, store(A, A.load(i + j) * 2 + i, i + j)),
    "an inner loop beyond the stride": loop(j, 5, store(A, A.load(i * 4 + j) * 3 + j, i * 4 + j)),
    "strides that differ": block(store(A, B.load(i), i), store(A, B.load(i), i * 2)),
    "a place that memory names": store(A, i, ops.max(B.load(i) // 100, 0) + i),
    "a place behind a let": LetStmt(x, i + 1, store(A, i, x)),
    "a place that is not linear": store(A, i, i * i % 128),
    "a condition of the lane": when(B.load(i) > 0, store(A, i, i)),
    "an inner loop of the lane": loop(j, i, store(A, i, i)),
    "a read that may be outside": store(A, ops.if_then_else(i < 4, B.load(i * 40), 0), i),
    "a division that may be by zero": store(A, ops.if_then_else((B.load(i) != 0).asexpr(), 100 // B.load(i), 0), i),
    "a guarded read beyond the last element": store(
        A, ops.if_then_else(i < 31, B.load(i + N - 31), 0), i
    ),
    "a guarded read before the first element": store(A, ops.if_then_else(i > 0, B.load(i - 1), 0), i),
    "a second condition that reads beyond": store(A, Select(ops.all(i < 31, B.load(i + N - 31) > 0), i, 0), i),
    "a second condition that may fail": store(A, Select(ops.any(B.load(i) == 0, 9 // B.load(i) > 0), i, 0), i),
    "a condition that guards a read": store(A, ops.if_then_else(ops.all(i < 4, B.load(i * 40) > 0), 1, 0), i),
    "a temporary": alloc(buffer("T", [4]), store(A, i, i)),
    "backwards": store(A, i, 31 - i),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_iterations_that_depend_on_each_other_or_lie_apart_stay_a_loop(case: str) -> None:
    check(loop(i, 32, BAD[case], kind=VECTOR), vectors=False)


def loops(stmt: Stmt) -> list[tuple[str, ForKind]]:
    return [(node.loop_var.name, node.kind) for node in walk(stmt) if isinstance(node, For)]


@pytest.mark.parametrize(
    "stmt",
    [
        on(2, loop(i, 8, store(A, i, i), kind=VECTOR)),
        pragma("alu", loop(i, 8, store(A, i, i), kind=VECTOR)),
        loop(i, 8, pragma("alu", store(A, i, i)), kind=VECTOR),
        loop(i, 8, call("f", i), kind=VECTOR),
        loop(i, 8, store(A, Call(DType("int32"), call("f").value.op, (StringImm("f"), i)), i), kind=VECTOR),
        loop(i, 8, store(A, call("f").value, i), kind=VECTOR),
        loop(i, n, store(A, i, i), kind=VECTOR),
    ],
)
def test_other_work_and_unknown_extents_stay_loops(stmt: Stmt) -> None:
    assert loops(vectorize_loop(function(stmt, A), VTAConfig()).body) == [("i", ForKind.SERIAL)]


def test_the_inner_one_of_two_marked_loops_becomes_vectors() -> None:
    inner = loop(j, 16, store(A, B.load(i * 16 + j), i * 16 + j), kind=VECTOR)
    after = check(loop(i, 4, inner, kind=VECTOR), vectors=True)
    assert loops(after.body) == [("i", ForKind.SERIAL)]


def test_what_is_not_marked_stays_the_same_object() -> None:
    body = loop(i, 4, store(A, i, i))
    assert vectorize_loop(function(body, A), VTAConfig()).body is body


def test_indices_of_64_bits_stay_ramps() -> None:
    def wide(expr: Expr) -> Expr:
        return expr.astype("int64")

    assert text(loop(i, 4, store(A, i, wide(i) + 2), kind=VECTOR)) == "A[ramp(2i64, 1i64, 4)] = ramp(0, 1, 4)"


def test_a_condition_of_no_lane_chooses_once_for_all() -> None:
    body = loop(i, 16, store(A, Select(B.load(3) > 2, const(1), const(0)), i), kind=VECTOR)
    assert text(body) == "A[ramp(0, 1, 16)] = broadcast(select((B[3] > 2), 1, 0), 16)"


@pytest.mark.parametrize(
    ("index", "extent", "low", "private"),
    [
        (i * 4 + j, 4, 0, True),
        (i * 4 + j, 5, 0, False),
        (i * 4 + j, 3, 1, True),
        (i * 4 + j, 4, 1, False),
        (i * 4 + j, 2, -1, False),
        (i * 4 - j, 2, 0, False),
        (i * 4 - j, 4, -3, True),
        (i * 4 + j, n, 0, False),
        (i * 4 + j * n, 4, 0, False),
        (i * 4 + j * 32, n, 0, True),
        (i * 4 + j * 16, 4, 0, False),
        (i * 4 + j * 64, 9, 5, True),
        (j * 4, 4, 0, False),
        (0 - i, 4, 0, False),
        (i * n, 4, 0, False),
    ],
)
def test_lanes_are_private_where_loops_inside_stay_within_the_stride(
    index: Expr, extent: int | Expr, low: int, private: bool
) -> None:
    around = loop(i, 8, loop(j, extent, store(A, 1, index), low=low))
    assert lanes_are_private(around, 8, Analyzer()) is private
    assert lanes_are_private(loop(i, 8, loop(j, extent, store(B, A.load(index), i), low=low)), 8, Analyzer())


def test_a_condition_of_no_lane_may_guard_a_read() -> None:
    body = store(A, Select(j > 2, B.load(i + j * 40), i), i)
    after = vectorized(loop(j, 9, loop(i, 16, body, kind=VECTOR)))
    assert loops(after.body) == [("j", ForKind.SERIAL)]
    guarded = store(A, Select(i > 2, B.load(i + j * 40), i), i)
    after = vectorized(loop(j, 9, loop(i, 16, guarded, kind=VECTOR)))
    assert loops(after.body) == [("j", ForKind.SERIAL), ("i", ForKind.SERIAL)]


def test_an_operation_on_what_is_the_same_for_all_lanes_is_done_once() -> None:
    body = store(A, Let(x, B.load(0) + 1, x << 3) + i, i)
    assert text(loop(i, 16, body, kind=VECTOR)) == (
        "A[ramp(0, 1, 16)] = ramp(@tir.shift_left((B[0] + 1), 3, dtype=int32), 1, 16)"
    )

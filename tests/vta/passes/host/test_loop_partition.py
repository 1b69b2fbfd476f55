"""LoopPartition: which iterations lose their conditions, and that nothing else changes."""

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import block, buffer, call, function, loop, on, pragma, store, when
from vta.passes.host.loop_partition import loop_partition
from vta.tir import ops
from vta.tir.buffer import Buffer
from vta.tir.dtype import DType
from vta.tir.expr import Builtin, Call, Expr, IntImm, Select, Var, const
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.printer import to_text
from vta.tir.stmt import For, ForKind, IfThenElse, LetStmt, Stmt
from vta.tir.structural import require_equal
from vta.tir.traverse import walk
from vta.tir.verify import verify

A, B = buffer("A", [130]), buffer("B", [130])


def partitioned(body: Stmt, *params: Buffer) -> PrimFunc:
    return verify(loop_partition(verify(function(body, *params)), VTAConfig()))


def conditions(stmt: Stmt) -> list[str]:
    choice = (Builtin.IF_THEN_ELSE, Builtin.LIKELY)
    return [
        to_text(node.condition if isinstance(node, IfThenElse) else node)
        for node in walk(stmt)
        if isinstance(node, IfThenElse | Select) or (isinstance(node, Call) and node.op in choice)
    ]


def extents(stmt: Stmt) -> list[str]:
    return [f"{node.min}+{node.extent}" for node in walk(stmt) if isinstance(node, For)]


def tail_of_a_split(kind: ForKind = ForKind.SERIAL) -> Stmt:
    i, j = Var("i.outer"), Var("i.inner")
    place = i * 16 + j
    return loop(i, 9, loop(j, 16, when(ops.likely(place < 130), store(B, A.load(place), place)), kind=kind))


@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.VECTORIZED, ForKind.PARALLEL])
def test_the_tail_of_a_split_is_a_loop_of_its_own(kind: ForKind) -> None:
    i, j, k = Var("i.outer"), Var("i.inner"), Var("i.inner")
    whole = loop(i, 8, loop(j, 16, store(B, A.load(i * 16 + j), i * 16 + j), kind=kind))
    tail = loop(k, 2, store(B, A.load(k + 128), k + 128), kind=kind)
    require_equal(partitioned(tail_of_a_split(kind), A, B).body, block(whole, tail))


def test_an_unrolled_loop_is_not_split_itself() -> None:
    body = partitioned(tail_of_a_split(ForKind.UNROLLED), A, B).body
    assert extents(body) == ["0+8", "0+16", "0+16"]
    assert len(conditions(body)) == 2  # the last round's condition, and its mark


def test_padding_loses_its_conditions_inside() -> None:
    y, x = Var("y"), Var("x")
    P, Q = buffer("P", [64]), buffer("Q", [100])
    inside = ops.all(y >= 1, y < 9, x >= 1, x < 9)
    body = loop(y, 10, loop(x, 10, store(Q, ops.if_then_else(inside, P.load(y * 8 + x - 9), -3), y * 10 + x)))
    func = partitioned(body, P, Q)
    assert conditions(func.body) == []
    assert extents(func.body) == ["0+10", "1+8", "1+8", "0+10"]
    data, padded = np.arange(64, dtype=np.int32), np.zeros(100, np.int32)
    run_func(func, [data, padded])
    np.testing.assert_array_equal(padded.reshape(10, 10), np.pad(data.reshape(8, 8), 1, constant_values=-3))


@pytest.mark.parametrize("n", [0, 1, 5, 8, 9, 16, 40])
@pytest.mark.parametrize("low", [-3, 0, 2, 7, 12])
def test_symbolic_ends_run_over_the_same_iterations_in_order(n: int, low: int) -> None:
    size, start, i = Var("n"), Var("low"), Var("i")
    trace = buffer("trace", [64])
    inside = ops.likely(ops.all(i >= start, i < start + 4))
    body = loop(i, size, store(trace, Select(inside, i * 100, -i), i))
    before = PrimFunc("f", (trace_handle := Var("t", DType("handle")), size, start), body, {trace_handle: trace})
    after = verify(loop_partition(verify(before), VTAConfig()))
    assert len(extents(after.body)) == 3
    assert len(conditions(after.body)) == 2 * 2
    first, second = np.zeros(64, np.int32), np.zeros(64, np.int32)
    run_func(before, [first, n, low])
    run_func(after, [second, n, low])
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(("more", "split"), [(0, True), (1, False)])
def test_a_loop_of_as_many_nodes_as_are_worth_it_is_split(more: int, split: bool) -> None:
    i = Var("i")

    def made(values: int) -> For:
        return loop(i, 16, when(ops.likely(i < 9), block(store(B, sum([A.load(0)] * values, i), i), store(B, 1, 0))))

    size, step = nodes(made(1)), nodes(made(2)) - nodes(made(1))
    fits = made(1 + (1024 - size) // step)
    assert 1024 - step < nodes(fits) <= 1024
    body = made(1 + (1024 - size) // step + more)
    assert (loop_partition(function(body, A, B), VTAConfig()).body is not body) is split


def nodes(stmt: Stmt) -> int:
    return sum(1 for _ in walk(stmt))


def test_loops_are_split_three_deep() -> None:
    variables = [Var(f"v{k}") for k in range(4)]
    value = sum((ops.if_then_else(v < 1, 1, 0) for v in variables), start=const(0))
    body: Stmt = store(B, value, 0)
    for v in reversed(variables):
        body = loop(v, 4, body)
    found = partitioned(body, B).body
    assert extents(found).count("0+4") == 8  # the fourth loop, in each of what the three around it became
    assert len(conditions(found)) == 8


def untouched() -> dict[str, Stmt]:
    i, j, n = Var("i"), Var("j"), Var("n")
    plain = store(B, A.load(i), i)
    return {
        "symbolic and not likely": loop(i, n, when(i < 4, plain)),
        "a condition that depends on memory": loop(i, 16, when(i < A.load(0), plain)),
        "not linear": loop(i, 16, when(i * i < 9, plain)),
        "either of two": loop(i, 16, when(ops.any(i < 3, i > 12), plain)),
        "never for all inner iterations": loop(i, 4, loop(j, n, when(i + j < 3, plain))),
        "variable factor": loop(i, 4, loop(j, 4, when(ops.likely(i + j * n < 3), plain))),
        "a scaled variable of the loop": loop(i, 4, when(ops.likely(i * n < 3), plain)),
        "the accelerator's work": loop(i, 16, when(ops.likely(i < 9), on(2, "gemm"))),
        "inside of the accelerator's work": on(2, loop(i, 16, when(ops.likely(i < 9), plain))),
        "an ALU stage": pragma("alu", loop(i, 16, when(ops.likely(i < 9), plain))),
        "a let inside": loop(i, 16, LetStmt(j, A.load(0), when(ops.likely(i + j < 9), store(B, j, i)))),
        "another type": loop(i, 16, when(ops.likely(i.astype("int8") + const(1, "int8") < const(9, "int8")), plain)),
        "a call": loop(i, 16, when(ops.likely(i < 9), call("f", i))),
        "a large body": loop(i, 16, when(ops.likely(i < 9), block(*[store(B, k, i + k) for k in range(400)]))),
        "no condition": loop(i, 16, plain),
    }


@pytest.mark.parametrize("case", untouched())
def test_what_cannot_gain_stays_the_same_object(case: str) -> None:
    body = untouched()[case]
    assert loop_partition(function(body, A, B), VTAConfig()).body is body


def test_conditions_that_exclude_each_other_are_taken_one_after_the_other() -> None:
    i = Var("i")
    first, last = ops.if_then_else(i < 3, 1, 0), ops.if_then_else(i >= 12, 1, 0)
    func = partitioned(loop(i, 16, store(B, first + last * 2, i)), B)
    assert conditions(func.body) == []
    assert extents(func.body) == ["0+3", "3+9", "12+4"]


def test_a_variable_that_may_wrap_is_left_alone() -> None:
    i = Var("i", DType("int8"))
    eight = [const(value, "int8") for value in (0, 100)]
    body = For(i, eight[0], eight[1], when(ops.likely(i + i < 90), store(B, 1, i.astype("int32"))))
    assert loop_partition(function(body, B), VTAConfig()).body is body


def test_copies_define_variables_of_their_own() -> None:
    i, j = Var("i"), Var("j")
    C = buffer("C", [64])
    body = loop(i, 8, loop(j, 8, store(C, ops.if_then_else(i >= 2, j, i), i * 8 + j)))
    loops = [node.loop_var for node in walk(partitioned(body, C).body) if isinstance(node, For)]
    assert len(loops) == len(set(map(id, loops))) == 4


def test_indices_of_64_bits_are_split_as_well() -> None:
    i = Var("i", DType("int64"))

    def number(value: int) -> Expr:
        return IntImm(value, DType("int64"))

    body = For(i, number(0), number(16), when(ops.likely(i < 9), store(B, A.load(i), i)))
    func = partitioned(body, A, B)
    assert conditions(func.body) == []
    assert extents(func.body) == ["0i64+9i64"]

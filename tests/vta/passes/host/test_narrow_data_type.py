"""NarrowDataType: 64-bit indices become 32-bit ones where that changes nothing. BR-095: int64 shapes and indices."""

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from tests.support.compiler.run_schedule import run_schedule
from tests.support.compiler.tir_build import buffer, function, loop, store, when
from tests.support.configs import CONFIGS
from vta import te
from vta.passes.host.narrow_data_type import narrow_data_type, narrow_to
from vta.tir import ops
from vta.tir.dtype import DType
from vta.tir.expr import Broadcast, Cast, Expr, IntImm, Ramp, Var
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.stmt import For, LetStmt, Stmt
from vta.tir.traverse import walk
from vta.tir.verify import verify

INT64 = DType("int64")
A = buffer("A", [64])


def wide(value: int) -> Expr:
    return IntImm(value, INT64)


def narrowed(body: Stmt, *params: Var) -> Stmt:
    func = function(body, A)
    func = PrimFunc(func.name, (*func.params, *params), body, func.buffer_map)
    return verify(narrow_data_type(verify(func), VTAConfig())).body


def wide_parts(stmt: Stmt) -> list[str]:
    kinds = (Var, Cast)
    return [str(node) for node in walk(stmt) if isinstance(node, kinds) and node.dtype == INT64]


def long_loop(var: Var, extent: Expr, *body: Stmt, low: int = 0) -> For:
    return For(var, wide(low), extent, *body)


def test_br_095_a_loop_of_64_bits_and_its_indices_get_32() -> None:
    i, j = Var("i", INT64), Var("j")
    place = i * 16 + j.astype("int64")
    body = long_loop(i, wide(4), loop(j, 16, when(place < wide(60), store(A, (place % 7).astype("int32"), place))))
    after = narrowed(body)
    assert wide_parts(after) == []
    first, second = np.zeros(64, np.int32), np.zeros(64, np.int32)
    run_func(function(body, A), [first])
    run_func(function(after, A), [second])
    np.testing.assert_array_equal(first, second)
    assert second[59] == 59 % 7
    assert second[60] == 0


def test_a_value_that_may_not_fit_keeps_64_bits() -> None:
    i = Var("i", INT64)
    square = i * 100_000 * i
    after = narrowed(long_loop(i, wide(1000), store(A, (square // 1_000_000_000).astype("int32"), i % 64)))
    assert [node.loop_var.dtype for node in walk(after) if isinstance(node, For)] == ["int32"]
    assert any("100000" in part for part in map(str, walk(after)))
    truth, result = np.zeros(64, np.int32), np.zeros(64, np.int32)
    for n in range(1000):
        truth[n % 64] = n * 100_000 * n // 1_000_000_000
    run_func(function(after, A), [result])
    np.testing.assert_array_equal(result, truth)


def test_loops_of_unknown_or_large_ends_stay() -> None:
    n, i = Var("n", INT64), Var("i", INT64)
    for extent, params in ((n, [n]), (wide(1 << 40), [])):
        body = long_loop(i, extent, when(i < wide(9), store(A, 1, i)))
        after = narrowed(body, *params)
        assert isinstance(after, For)
        assert after.loop_var is i


def test_a_known_range_of_a_let_is_used() -> None:
    x, i = Var("x", INT64), Var("i", INT64)
    body = long_loop(i, wide(4), LetStmt(x, ops.min(i, wide(3)), store(A, 1, x + i)))
    result = np.zeros(64, np.int32)
    run_func(function(narrowed(body), A), [result])
    assert result[:8].tolist() == [1, 0, 1, 0, 1, 0, 1, 0]


def test_a_function_without_64_bit_indices_is_the_same_object() -> None:
    func = function(loop("i", 4, store(A, 1, 0)), A)
    assert narrow_data_type(func, VTAConfig()) is func


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_br_095_a_kernel_of_the_accelerator_with_numpy_sizes_and_64_bit_indices(config: VTAConfig) -> None:
    with vta.Environment(config) as env:
        shape = (np.int64(4), np.int64(3), env.BATCH, env.BLOCK_OUT)
        x = te.placeholder(shape, "int32", "x")
        k = te.reduce_axis((0, np.int64(2)), "k")
        load = te.compute(shape, lambda *i: x(*(index.astype("int64") for index in i)), "load")
        row = te.compute((4, 2, *shape[2:]), lambda o, p, b, c: te.sum(load[o, p.astype("int64") + k, b, c], k), "row")
        out = te.compute(row.shape, lambda *i: row(*i).astype(env.out_dtype), "out")
        s = te.create_schedule(out.op)
        for stage in (load, row):
            s[stage].set_scope(env.acc_scope)
        s[row].pragma(s[row].op.axis[0], env.alu)
        outer, inner = s[out].split(out.op.axis[0], factor=np.int32(3))
        s[row].compute_at(s[out], outer)
        s[load].compute_at(s[out], outer)
        s[load].pragma(s[load].op.axis[0], env.dma_copy)
        s[out].pragma(inner, env.dma_copy)
    values = np.random.default_rng(9).integers(-50, 50, tuple(map(int, shape))).astype(np.int32)
    outcome = run_schedule(s, [x, out], [values], config)
    np.testing.assert_array_equal(outcome.output, (values[:, :2] + values[:, 1:]).astype(np.int8))


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_an_index_that_was_narrower_keeps_its_value(dtype: str) -> None:
    i = Var("i")
    index = (i * 100).astype(dtype).astype("int64")
    for place in (index % 64, index // 64 + 3):
        body = loop(i, 9, store(A, i + 1, ops.max(place, wide(0))))
        first, second = np.zeros(64, np.int32), np.zeros(64, np.int32)
        run_func(function(body, A), [first])
        run_func(function(narrowed(body), A), [second])
        np.testing.assert_array_equal(first, second)


def test_numbers_beyond_32_bits_stay_as_wide_as_they_are() -> None:
    i = Var("i", INT64)
    for number in ((1 << 31) - 1, 1 << 31, -(1 << 31), -(1 << 31) - 1, 1 << 40):
        value = ((i + wide(number)) // wide(3)) % wide(1000)
        body = long_loop(i, wide(9), store(A, value.astype("int32"), i))
        result = np.zeros(64, np.int32)
        run_func(function(narrowed(body), A), [result])
        assert result[:9].tolist() == [(n + number) // 3 % 1000 for n in range(9)]


def test_comparisons_of_what_was_widened_are_of_32_bits() -> None:
    i = Var("i", INT64)
    after = narrowed(long_loop(i, wide(9), when(i + wide(3) < wide(8), store(A, 1, i))))
    assert wide_parts(after) == []
    after = narrowed(long_loop(i, wide(9), when(i < wide(1 << 31), store(A, 1, i))))
    assert wide_parts(after) != []


def test_other_widths_and_loops_that_need_more() -> None:
    def loops(extent: int, width: str) -> list[str]:
        i, j = Var("i", INT64), Var("j", INT64)
        body = long_loop(i, wide(extent), long_loop(j, wide(extent), store(A, 1, i * extent + j)))
        done = verify(narrow_to(verify(function(body, A)), DType(width)))
        return [str(node.loop_var.dtype) for node in walk(done.body) if isinstance(node, For)]

    assert loops(2, "int16") == ["int16"] * 2
    assert loops(1 << 8, "int16") == ["int64"] * 2
    assert loops(1 << 15, "int32") == ["int32"] * 2
    assert loops(1 << 16, "int32") == ["int64"] * 2


def test_vectors_of_wide_indices_get_narrow() -> None:
    i = Var("i", INT64)
    body = long_loop(i, wide(4), A.vstore(Ramp(i * 4, wide(1), 4).base, Broadcast(IntImm(1), 4)))
    assert wide_parts(narrowed(body)) == []

"""Programs run by the interpreter give what numpy gives, and what is undefined is an error that says where."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from isa.origin import Origin
from tests.support.compiler.tir_eval import SMALL, Domain, X, Y, Z, domains, evaluate, integers
from vta.tir import expr as tir
from vta.tir import ops
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import FLOAT32, HANDLE, DType
from vta.tir.expr import Builtin, Call, Expr, IntImm, IterKind, IterVar, PointerType, Range, StringImm, Var, const
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import InterpreterError, compile_func, run_func
from vta.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrKey,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    seq,
)

i, j, k = Var("i"), Var("j"), Var("k")


def func(body: Stmt, *buffers: Buffer, sizes: tuple[Var, ...] = ()) -> PrimFunc:
    params = tuple(Var(f"{b.name}_handle", HANDLE) for b in buffers)
    return PrimFunc("main", (*params, *sizes), body, dict(zip(params, buffers, strict=True)))


def loop(var: Var, extent: object, body: Stmt, kind: ForKind = ForKind.SERIAL) -> Stmt:
    return For(var, const(0), tir.convert(extent), body, kind)


def store(buffer: Buffer, value: object, *indices: object) -> Stmt:
    return BufferStore(buffer, tir.convert(value, buffer.dtype), tuple(tir.convert(index) for index in indices))


def evaluated(expr: Expr) -> object:
    """The value of an expression without variables."""
    out = decl_buffer((1,), str(expr.dtype), "out")
    result = np.zeros(1, dtype="bool" if expr.dtype == "bool" else str(expr.dtype))
    run_func(func(store(out, expr, 0), out), [result])
    return result[0]


def matmul(size: int) -> tuple[PrimFunc, Buffer]:
    a, b, c = (decl_buffer((size, size), d, name) for d, name in (("int8", "a"), ("int8", "b"), ("int32", "c")))
    product = a.load(i, k).astype("int32") * b.load(j, k).astype("int32")
    body = seq([store(c, 0, i, j), loop(k, size, store(c, c.load(i, j) + product, i, j))])
    return func(loop(i, size, loop(j, size, body)), a, b, c), c


def test_a_matrix_product_equals_numpys() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-128, 128, (24, 24)).astype(np.int8) for _ in range(2))
    c = np.zeros((24, 24), np.int32)
    run_func(matmul(24)[0], [a, b, c])
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.T.astype(np.int32))


def test_arguments_may_be_given_by_name() -> None:
    a, c = np.ones((2, 2), np.int8), np.zeros((2, 2), np.int32)
    run_func(matmul(2)[0], {"a": a, "b_handle": a, "c": c})
    np.testing.assert_array_equal(c, np.full((2, 2), 2))


def test_realised_and_allocated_memory_give_the_same() -> None:
    x, y = decl_buffer((4, 8), "int32", "x"), decl_buffer((4, 8), "int32", "y")
    row = decl_buffer((4, 8), "int32", "row", scope="local.acc_buffer")
    fill, drain = store(row, x.load(i, j) * 2, i, j), store(y, row.load(i, j) + 1, i, j)
    region = (Range(i, const(1)), Range(const(0), const(8)))
    realised = loop(i, 4, BufferRealize(row, region, seq([loop(j, 8, fill), loop(j, 8, drain)])))
    memory = Var("flat", HANDLE, PointerType(DType("int32"), "local.acc_buffer"))
    flat = Buffer("flat", memory, DType("int32"), (const(8),))
    steps = seq([loop(j, 8, store(flat, x.load(i, j) * 2, j)), loop(j, 8, store(y, flat.load(j) + 1, i, j))])
    allocated = loop(i, 4, Allocate(memory, DType("int32"), (const(8),), steps))
    data = np.arange(32, dtype=np.int32).reshape(4, 8)
    for body in (realised, allocated):
        result = np.zeros((4, 8), np.int32)
        run_func(func(body, x, y), [data, result])
        np.testing.assert_array_equal(result, data * 2 + 1)


def test_a_realised_argument_is_the_argument_itself() -> None:
    y = decl_buffer((4,), "int32", "y")
    body = BufferRealize(y, (Range(const(0), const(4)),), loop(i, 4, store(y, i * i, i)))
    result = np.zeros(4, np.int32)
    run_func(func(body, y), [result])
    assert result.tolist() == [0, 1, 4, 9]


def test_flattened_functions_take_arrays_of_the_declared_shape() -> None:
    data = Var("x", HANDLE, PointerType(DType("int32")))
    flat, declared = (Buffer("x", data, DType("int32"), s) for s in ((const(6),), (const(2), const(3))))
    param = Var("x", HANDLE)
    program = PrimFunc("main", (param,), loop(i, 6, store(flat, i, i)), {param: flat}, {}, {param: declared})
    for shape in ((2, 3), (6,)):
        result = np.zeros(shape, np.int32)
        run_func(program, [result])
        assert result.reshape(-1).tolist() == [0, 1, 2, 3, 4, 5]


def test_symbolic_sizes_come_from_parameters_or_shapes() -> None:
    n, m = Var("n"), Var("m")
    x = decl_buffer((n, m), "int32", "x")
    body = loop(i, n, loop(j, m, store(x, i * m + j, i, j)))
    for sizes, rest in (((), []), ((n,), [np.int32(3)])):
        result = np.zeros((3, 5), np.int32)
        run_func(func(body, x, sizes=sizes), [result, *rest])
        np.testing.assert_array_equal(result, np.arange(15).reshape(3, 5))


def test_virtual_threads_run_one_after_the_other() -> None:
    x = decl_buffer((2, 4), "int32", "x")
    thread = IterVar(None, Var("cthread"), IterKind.THREAD_INDEX, "cthread")
    body = AttrStmt(thread, AttrKey.VIRTUAL_THREAD, const(2), loop(i, 4, store(x, thread * 10 + i, thread, i)))
    result = np.zeros((2, 4), np.int32)
    run_func(func(body, x), [result])
    assert result.tolist() == [[0, 1, 2, 3], [10, 11, 12, 13]]


def test_pragmas_and_scopes_are_transparent() -> None:
    x = decl_buffer((4,), "int32", "x")
    axis = IterVar(None, Var("vta"), IterKind.THREAD_INDEX, "vta")
    body = AttrStmt(axis, AttrKey.COPROC_SCOPE, const(2), loop(i, 4, store(x, i, i)))
    result = np.zeros(4, np.int32)
    run_func(func(AttrStmt(IterVar(None, i), "pragma_alu", const(1), body), x), [result])
    assert result.tolist() == [0, 1, 2, 3]


def test_a_bound_view_is_a_window_of_its_target() -> None:
    x = decl_buffer((3, 4, 8), "int32", "x")
    strides = [Var("row"), 1]
    view = decl_buffer((2, 4), "int32", "view", offset_factor=4, strides=strides)
    region = Call(HANDLE, Builtin.TUPLE, tuple(const(e) for e in (1, 1, 2, 2, 4, 4)))
    inner = loop(i, 2, loop(j, 4, store(view, view.elem_offset + i * 4 + j, i, j)))
    result = np.zeros((3, 4, 8), np.int32)
    run_func(func(AttrStmt((view, x), AttrKey.BUFFER_BIND_SCOPE, region, inner), x), [result])
    expected = np.zeros((3, 4, 8), np.int32)
    expected[1, 2:4, 4:8] = 32 + 16 + 4 + np.arange(8).reshape(2, 4)
    np.testing.assert_array_equal(result, expected)


def test_vectors_read_everything_before_they_write() -> None:
    x = decl_buffer((8,), "int32", "x")
    shifted = tir.BufferLoad(x, (tir.Ramp(const(0), const(1), 7),))
    scaled = shifted * tir.Broadcast(const(2), 7) + tir.Cast(DType("int32x7"), tir.Broadcast(const(1, "int8"), 7))
    body = BufferStore(x, scaled, (tir.Ramp(const(1), const(1), 7),))
    result = np.arange(8, dtype=np.int32)
    run_func(func(body, x), [result])
    assert result.tolist() == [0, 1, 3, 5, 7, 9, 11, 13]


def test_vector_calls_are_run_lane_by_lane() -> None:
    x = decl_buffer((4,), "int32", "x")
    lanes = tir.Ramp(const(0), const(1), 4)
    shifted = Call(DType("int32x4"), Builtin.SHIFT_LEFT, (tir.Broadcast(const(1), 4), lanes))
    result = np.zeros(4, np.int32)
    run_func(func(BufferStore(x, shifted, (lanes,)), x), [result])
    assert result.tolist() == [1, 2, 4, 8]


def test_a_row_that_moves_with_a_loop_needs_no_check() -> None:
    y = decl_buffer((4,), "int32", "y")
    cell = decl_buffer((4,), "int32", "cell")
    steps = seq([store(cell, i * i, i), store(y, cell.load(i), i)])
    program = func(loop(i, 4, BufferRealize(cell, (Range(i, const(1)),), steps)), y)
    result = np.zeros(4, np.int32)
    run_func(program, [result])
    assert result.tolist() == [0, 1, 4, 9]
    assert not any("_outside" in line for line in compile_func(program).source.lines)


def test_branches_lets_and_assertions() -> None:
    x = decl_buffer((6,), "int32", "x")
    t = Var("t")
    choose = IfThenElse(t < 6, store(x, t, i), store(x, -1, i))
    body = loop(i, 6, AssertStmt(i >= 0, "natural", LetStmt(t, i * 2, seq([choose, Evaluate(const(0))]))))
    result = np.zeros(6, np.int32)
    run_func(func(body, x), [result])
    assert result.tolist() == [0, 2, 4, -1, -1, -1]


def test_an_empty_loop_or_branch_is_fine() -> None:
    x = decl_buffer((2,), "int32", "x")
    body = seq([loop(i, 3, Evaluate(const(0))), IfThenElse(x.load(0) < 1, Evaluate(const(0))), store(x, 5, 1)])
    result = np.zeros(2, np.int32)
    run_func(func(body, x), [result])
    assert result.tolist() == [0, 5]


def literal(value: float, dtype: str = "int32") -> Expr:
    """A constant that the operators do not fold."""
    return tir.Let(Var("c", DType(dtype)), const(value, dtype), const(value, dtype))


def unknown(value: int) -> Expr:
    """An integer whose range the interpreter does not know."""
    return tir.Call(DType("int32"), Builtin.BITWISE_OR, (const(value), const(0)))


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (literal(2**31 - 1) + literal(1), -(2**31)),
        (literal(-(2**31)) * literal(-1), -(2**31)),
        (literal(100, "int8") + literal(100, "int8"), -56),
        (literal(3, "uint8") - literal(5, "uint8"), 254),
        (literal(300).astype("int8"), 44),
        (literal(-1).astype("uint8"), 255),
        (literal(100, "int8") * literal(-100, "int8"), -16),
        (tir.Add(const(100, "int8"), const(100, "int8")), -56),
        (ops.floordiv(literal(-7), unknown(-2)), 3),
        (ops.floormod(literal(-7), unknown(4)), 1),
        (literal(1) << unknown(4), 16),
        ((literal(1) + 1).astype("bool").astype("int32"), 1),
        (ops.truncdiv(literal(-7), literal(2)), -3),
        (ops.truncmod(literal(-7), literal(2)), -1),
        (literal(-7) // literal(2), -4),
        (literal(-7) % literal(2), 1),
        (literal(7) % literal(-2), -1),
        (ops.truncdiv(literal(-(2**31)), literal(-1)), -(2**31)),
        (literal(-7) >> 1, -4),
        (literal(3) << 31, -(2**31)),
        (literal(6) & 3, 2),
        (literal(6) | 3, 7),
        (literal(6) ^ 3, 5),
        (~literal(6), -7),
        (~literal(6, "uint8"), 249),
        (ops.max(literal(3), literal(4)), 4),
        (ops.abs(literal(-3)), 3),
        (ops.select(literal(1) < 2, literal(7), literal(8)), 7),
        (ops.if_then_else(ops.all(literal(1) < 2, literal(3) < 2), 7, 8), 8),
        (ops.if_then_else(ops.any(literal(1) < 2, literal(3) < 2), 7, 8), 7),
        (ops.if_then_else(~(literal(1) < 2), 7, 8), 8),
        (ops.if_then_else(ops.likely(literal(1) < 2), 7, 8), 7),
        ((literal(1) < 2).astype("int32") + 1, 2),
        (literal(2.75, "float32").astype("int32"), 2),
        (literal(-2.75, "float32").astype("int8"), -2),
    ],
)
def test_integers_wrap_exactly(expr: Expr, expected: int) -> None:
    assert evaluated(expr) == expected


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (literal(0.1, "float32") + literal(0.2, "float32"), np.float32(0.1) + np.float32(0.2)),
        (literal(1, "float32") / literal(3, "float32"), np.float32(1) / np.float32(3)),
        (literal(1, "float64") / literal(3, "float64"), 1 / 3),
        (literal(1, "float16") / literal(3, "float16"), np.float16(1) / np.float16(3)),
        (literal(1e38, "float32") * literal(10, "float32"), np.float32(np.inf)),
        (literal(60000, "float16") * literal(10, "float16"), np.float16(np.inf)),
        (literal(-1, "float32") / literal(0, "float32"), np.float32(-np.inf)),
        (literal(0, "float32") / literal(0, "float32"), np.float32(np.nan)),
        (ops.exp(literal(1, "float32")), np.float32(math.e)),
        (ops.exp(literal(1000, "float32")), np.float32(np.inf)),
        (ops.log(literal(0, "float32")), np.float32(-np.inf)),
        (ops.log(literal(-1, "float32")), np.float32(np.nan)),
        (ops.sqrt(literal(2, "float32")), np.float32(2**0.5)),
        (ops.sqrt(literal(-2, "float32")), np.float32(np.nan)),
        (ops.tanh(literal(0.5, "float32")), np.float32(math.tanh(0.5))),
        (ops.sigmoid(literal(0, "float32")), np.float32(0.5)),
        (ops.power(literal(2, "float32"), literal(10, "float32")), np.float32(1024)),
        (ops.floor(literal(-2.5, "float32")), np.float32(-3)),
        (ops.ceil(literal(-2.5, "float32")), np.float32(-2)),
        (ops.round(literal(2.5, "float32")), np.float32(2)),
        (ops.trunc(literal(-2.5, "float32")), np.float32(-2)),
        (ops.trunc(literal(float("inf"), "float32")), np.float32(np.inf)),
        (ops.abs(literal(-2.5, "float32")), np.float32(2.5)),
        (literal(3).astype("float32"), np.float32(3)),
        (ops.min(literal(3, "float32"), 2.5), np.float32(2.5)),
    ],
)
def test_floats_are_rounded_to_their_type(expr: Expr, expected: np.floating) -> None:
    np.testing.assert_array_equal(evaluated(expr), expected)


def run_on(domain: Domain, expr: Expr) -> np.ndarray:
    """The values of an expression over a whole domain, computed by the interpreter."""
    ranges = list(domain.values.values())
    out = decl_buffer([len(r) for r in ranges], str(expr.dtype), "out")
    positions = [Var(f"p{number}") for number in range(len(ranges))]
    body: Stmt = BufferStore(out, expr, tuple(positions))
    for var, values, position in reversed(list(zip(domain.values, ranges, positions, strict=True))):
        body = LetStmt(var, (position + values[0]).astype(var.dtype), body)
        body = For(position, const(0), const(len(values)), body)
    result = np.zeros([len(r) for r in ranges], str(expr.dtype))
    run_func(func(body, out), [result])
    return result


@settings(max_examples=80, deadline=None)
@given(domains((X, Y, Z)), integers((X, Y, Z)))
def test_random_index_expressions_agree_with_numpy(domain: Domain, expr: Expr) -> None:
    assert np.array_equal(
        run_on(domain, expr), np.broadcast_to(evaluate(expr, domain.points()), [*map(len, domain.values.values())])
    )


@settings(max_examples=80, deadline=None)
@given(domains(SMALL), integers(SMALL))
def test_random_int8_expressions_agree_with_numpy(domain: Domain, expr: Expr) -> None:
    assert np.array_equal(
        run_on(domain, expr), np.broadcast_to(evaluate(expr, domain.points()), [*map(len, domain.values.values())])
    )


class TestErrors:
    """Each names the function, what is wrong, the statement and the variables' values."""

    x = decl_buffer((4, 8), "int32", "x")

    def check(self, body: Stmt, message: str, *args: object, buffers: tuple[Buffer, ...] = ()) -> None:
        used = buffers or (self.x,)
        arrays = args or tuple(np.zeros([int(e) for e in b.shape], str(b.dtype)) for b in used)
        with pytest.raises(InterpreterError) as caught:
            run_func(func(body, *used), list(arrays))
        assert str(caught.value) == message

    def test_an_index_out_of_range(self) -> None:
        body = BufferStore(self.x, i * 2, (i, j + 1), Origin("copy", "gemm.py:7"))
        self.check(
            loop(i, 4, loop(j, 8, body)),
            "main: index 8 of dimension 1 of buffer 'x' is outside 0 to 7, in: x: Buffer(x_1: Pointer(int32), int32, "
            f"[4, 8], [])[i: int32, (j: int32 + 1)] = (i*2) [{Origin('copy', 'gemm.py:7')}] with i = 0, j = 7",
        )

    def test_a_negative_index(self) -> None:
        self.check(
            loop(i, 1, store(self.x, 1, 0, i - 1)),
            "main: index -1 of dimension 1 of buffer 'x' is outside 0 to 7, in: x: Buffer(x_1: Pointer(int32), int32, "
            "[4, 8], [])[0, (i: int32 - 1)] = 1 with i = 0",
        )

    def test_an_index_outside_what_was_realised(self) -> None:
        t = decl_buffer((4, 8), "int32", "t")
        region = (Range(const(1), const(2)), Range(const(0), const(8)))
        self.check(
            BufferRealize(t, region, store(t, 1, 3, 0)),
            "main: index 3 of dimension 0 of buffer 't' is outside 1 to 2, in: t: Buffer(t_1: Pointer(int32), int32, "
            "[4, 8], [])[3, 0] = 1 with no variables",
        )

    def test_an_access_beyond_the_memory(self) -> None:
        memory = Var("m", HANDLE, PointerType(DType("int32")))
        flat = Buffer("flat", memory, DType("int32"), (const(8),))
        self.check(
            Allocate(memory, DType("int32"), (const(4),), loop(i, 8, store(flat, 1, i))),
            "main: an access reaches beyond the memory of its buffer, in: flat: Buffer(m: Pointer(int32), int32, [8], "
            "[])[i: int32] = 1 with i = 4",
        )

    def test_computing_with_what_was_never_written(self) -> None:
        memory = Var("m", HANDLE, PointerType(DType("int32")))
        flat = Buffer("flat", memory, DType("int32"), (const(8),))
        self.check(
            Allocate(memory, DType("int32"), (const(8),), store(self.x, flat.load(0) + 1, 0, 0)),
            "main: an element is used that was never written, in: x: Buffer(x_1: Pointer(int32), int32, [4, 8], [])"
            "[0, 0] = (flat: Buffer(m: Pointer(int32), int32, [8], [])[0] + 1) with no variables",
        )

    def test_copying_out_what_was_never_written(self) -> None:
        memory = Var("m", HANDLE, PointerType(DType("int32")))
        flat = Buffer("flat", memory, DType("int32"), (const(8),))
        self.check(
            Allocate(memory, DType("int32"), (const(8),), store(self.x, flat.load(0), 0, 1)),
            "main: element 1 of 'x_handle' was copied from memory that was never written",
        )

    @pytest.mark.parametrize("divide", [ops.floordiv, ops.floormod, ops.truncdiv, ops.truncmod])
    def test_a_division_by_zero(self, divide: object) -> None:
        assert callable(divide)
        body = store(self.x, divide(7, self.x.load(0, 0)), 0, 0)
        with pytest.raises(InterpreterError, match=r"^main: division by zero, in: x: .* with no variables$"):
            run_func(func(body, self.x), [np.zeros((4, 8), np.int32)])

    def test_a_shift_count_out_of_range(self) -> None:
        body = store(self.x, const(7) >> self.x.load(0, 0), 0, 0)
        with pytest.raises(InterpreterError, match=r"^main: shift count -1 is outside 0 to 31, in: "):
            run_func(func(body, self.x), [np.full((4, 8), -1, np.int32)])

    def test_a_float_without_an_integer_value(self) -> None:
        f = decl_buffer((1,), "float32", "f")
        body = store(self.x, f.load(0).astype("int32"), 0, 0)
        with pytest.raises(InterpreterError, match=r"^main: inf has no integer value, in: "):
            run_func(func(body, self.x, f), [np.zeros((4, 8), np.int32), np.full(1, np.inf, np.float32)])

    def test_a_failed_assertion(self) -> None:
        body = loop(i, 4, AssertStmt(i < 2, "too many", store(self.x, 1, 0, 0)))
        self.check(
            body,
            'main: assertion failed: too many, in: assert((i: int32 < 2), "too many") with i = 2',
        )

    def test_arguments_that_do_not_fit(self) -> None:
        program = func(store(self.x, 1, 0, 0), self.x, sizes=(Var("n"),))
        good = np.zeros((4, 8), np.int32)
        for args, message in (
            ([good], "main takes 2 arguments (x_handle, n), not 1"),
            ([1, 1], "main: parameter 'x_handle' is a tensor, not a int"),
            ([good.astype(np.int8), 1], "main: parameter 'x_handle' is int32, not int8"),
            ([good.reshape(8, 4), 1], "main: parameter 'x_handle' has shape (4, 8), not (8, 4)"),
            ([good.reshape(32), 1], "main: parameter 'x_handle' has shape (4, 8), not (32,)"),
            ([good, 1.5], "main: parameter 'n' is int32, not a float"),
            ({"y": good}, "main: no argument for parameter 'x_handle'; given: y"),
        ):
            with pytest.raises(InterpreterError) as caught:
                run_func(program, args)
            assert str(caught.value) == message

    def test_sizes_that_disagree(self) -> None:
        n = Var("n")
        a, b = decl_buffer((n,), "int32", "a"), decl_buffer((n,), "int32", "b")
        program = func(Evaluate(const(0)), a, b)
        with pytest.raises(InterpreterError) as caught:
            run_func(program, [np.zeros(3, np.int32), np.zeros(4, np.int32)])
        assert str(caught.value) == "main: parameter 'b_handle' has shape (n), not (4,)"

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (Evaluate(Var("free").asexpr()), "variable 'free' has no value here; is it a parameter or a loop's?"),
            (
                Evaluate(Call(DType("int32"), Builtin.COPROC_SYNC)),
                "cannot run intrinsic tir.vta.coproc_sync; the interpreter is for programs without it",
            ),
            (Evaluate(StringImm("text")), 'cannot run StringImm "text"; lower it first'),
            (
                store(decl_buffer((4,), "int32", "lost"), 1, 0),
                "buffer 'lost' is used where its memory 'lost' is not there",
            ),
            (
                store(Buffer("other", x.data, DType("int8"), (const(4),)), 1, 0),
                "buffer 'other' is int8, but its memory holds int32",
            ),
            (BufferStore(x, const(1), (const(0),)), "buffer 'x' has 2 dimensions, but an access has 1 indices"),
            (
                Evaluate(tir.FloorDiv(const(1, "float32"), const(2, "float32"))),
                "cannot run FloorDiv on float32",
            ),
            (
                AttrStmt(
                    (decl_buffer((4,), "int32", "view"), x),
                    AttrKey.BUFFER_BIND_SCOPE,
                    Call(HANDLE, Builtin.TUPLE, (const(0), const(1))),
                    Evaluate(const(0)),
                ),
                "view 'view' of 1 dimensions and 1 region entries does not fit the 2 dimensions of 'x'",
            ),
        ],
    )  # fmt: skip
    def test_what_cannot_be_run_is_refused_before_it_runs(self, body: Stmt, message: str) -> None:
        with pytest.raises(InterpreterError) as caught:
            compile_func(func(body, self.x))
        assert str(caught.value) == message

    def test_too_many_loops(self) -> None:
        body: Stmt = Evaluate(const(0))
        for number in range(30):
            body = loop(Var(f"i{number}"), 1, body)
        with pytest.raises(InterpreterError) as caught:
            compile_func(func(body))
        assert str(caught.value) == (
            "main: Python refuses the program: too many statically nested blocks; nest fewer loops"
        )


def test_int8_dequantisation_is_exact_on_every_numpy() -> None:
    """BR-142 at this layer: int8 minus a plain integer takes the wide type that was asked for, whatever numpy does."""
    q, out = decl_buffer((1,), "int8", "q"), decl_buffer((1,), "float32", "out")
    value = (q.load(0).astype("int32") - (-128)).astype("float32") * 0.5
    result = np.zeros(1, np.float32)
    run_func(func(store(out, value, 0), q, out), [np.array([127], np.int8), result])
    assert result[0] == 127.5
    assert value.dtype == FLOAT32
    assert IntImm(127).dtype == "int32"

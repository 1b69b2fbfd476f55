"""Two copies of a buffer in turn: the same numbers, each part made one iteration ahead; what cannot be is refused."""

from random import Random

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.runtime.host_call import call_host
from vta import te, tir_passes
from vta.build_module import schedule_to_module
from vta.pass_objects import Sequential
from vta.passes.optional.inject_double_buffer import DoubleBufferError, inject_double_buffer
from vta.tir import ir_builder
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.calls import call_extern
from vta.tir.dtype import HANDLE
from vta.tir.expr import Expr, IntImm, Ramp, Var, const
from vta.tir.func import IRModule, PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.printer import to_text
from vta.tir.stmt import (
    Allocate,
    AttrKey,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    seq,
)
from vta.tir.traverse import walk
from vta.tir.verify import verify
from vta.transform import OptionError, PassContext

CONFIG = VTAConfig()
SPLITS = (1, 2, 3, 4)


def allocations(func: PrimFunc) -> dict[str, list[int]]:
    found = [node for node in walk(func.body) if isinstance(node, Allocate)]
    return {a.buffer_var.name: [e.value for e in a.extents if isinstance(e, IntImm)] for a in found}


def check(func: PrimFunc, inputs: list[np.ndarray], expected: np.ndarray) -> None:
    verify(func)
    for run in (lambda *a: run_func(func, a), lambda *a: call_host(func, *a)):
        out = np.zeros_like(expected)
        run(*inputs, out)
        np.testing.assert_array_equal(out, expected)


def tiles(rng: Random) -> tuple[IRModule, list[np.ndarray], np.ndarray]:
    """Return a product in tiles with both operands copied under marks, flat."""
    n, k = rng.randint(1, 9), rng.randint(2, 12)
    a, b = te.placeholder((n, k), "int32", "A"), te.placeholder((k,), "int32", "B")
    r = te.reduce_axis((0, k), "r")
    c = te.compute((n,), lambda i: te.sum(a[i, r] * b[r], axis=r), name="C")
    s = te.create_schedule(c.op)
    reads = [s.cache_read(t, "local", [c]) for t in (a, b)]
    (i,) = s[c].op.axis
    outer, _ = s[c].split(s[c].op.reduce_axis[0], rng.randint(1, 4))
    s[c].reorder(*rng.sample([i, outer], 2))
    for read in reads:
        s[read].compute_at(s[c], rng.choice([i, outer]))
        if rng.random() < 0.8:
            s[read].double_buffer()
    values = [np.random.default_rng(1).integers(-9, 9, shape).astype(np.int32) for shape in ((n, k), (k,))]
    module = tir_passes.StorageFlatten()(schedule_to_module(s, [a, b, c]))
    return module, values, values[0] @ values[1]


@pytest.mark.parametrize("seed", range(24))
def test_schedules_with_double_buffers_compute_the_same(seed: int) -> None:
    rng = Random(f"double {seed}")
    module, inputs, expected = tiles(rng)
    func = inject_double_buffer(rng.choice(SPLITS))(module["main"], CONFIG)
    assert not any(isinstance(node, AttrStmt) and node.key == AttrKey.DOUBLE_BUFFER for node in walk(func.body))
    check(func, inputs, expected)


def marked(body: Stmt, data: Buffer | Var) -> AttrStmt:
    return AttrStmt(data, AttrKey.DOUBLE_BUFFER, const(1), body)


X, Y, T = decl_buffer((40,), "int32", "X"), decl_buffer((40,), "int32", "Y"), decl_buffer((4,), "int32", "T")
AT, J, N = Var("i"), Var("j"), Var("n")


def copy(into: Buffer = T, value: Expr | None = None) -> Stmt:
    return For(J, const(0), const(4), BufferStore(into, X.load(AT * 4 + J) if value is None else value, (J,)))


def use(index: Expr | None = None) -> Stmt:
    k = Var("k")
    return For(k, const(0), const(4), BufferStore(Y, T.load(k) + 1, (AT * 4 + k if index is None else index,)))


def loop(body: Stmt, *, kind: ForKind = ForKind.SERIAL, extent: Expr | None = None) -> PrimFunc:
    inside = Allocate(T.data, T.dtype, (const(4),), body)
    whole = For(AT, const(0), const(10) if extent is None else extent, inside, kind)
    return function(whole)


def function(body: Stmt) -> PrimFunc:
    x, y = Var("x", HANDLE), Var("y", HANDLE)
    return PrimFunc("f", (x, y, N), body, {x: X, y: Y})


def test_what_the_next_iteration_needs_is_made_before_this_one_uses_its_own() -> None:
    func = inject_double_buffer()(loop(seq([marked(copy(), T), use()])), CONFIG)
    assert allocations(func) == {"T": [8]}
    text = to_text(tir_passes.Simplify()(IRModule.from_expr(func))["main"])
    steps = [
        "T_1: Buffer(T, int32, [8], [])[j] = X[j]",
        "if (i < 9) {",
        "= X[(((i*4) + j_1) + 4)]",
        "Y[((i*4) + k)] = (T_1[(k + (floormod(i, 2)*4))] + 1)",
    ]
    assert [text.index(step) for step in steps] == sorted(text.index(step) for step in steps)
    data = np.arange(40, dtype=np.int32)
    out = np.zeros(40, np.int32)
    run_func(func, [data, out, 0])
    np.testing.assert_array_equal(out, data + 1)


@pytest.mark.parametrize("count", SPLITS)
def test_loops_of_any_length_and_beginning(count: int) -> None:
    body = Allocate(T.data, T.dtype, (const(4),), seq([marked(copy(), T.data), use()]))
    func = inject_double_buffer(count)(function(For(AT, const(2), N, body)), CONFIG)
    verify(func)
    data = np.arange(40, dtype=np.int32)
    for length in (0, 1, 2, 3, 7, 8):
        expected = np.zeros(40, np.int32)
        expected[8 : 8 + 4 * length] = data[8 : 8 + 4 * length] + 1
        for run in (lambda *a: run_func(func, a), lambda *a: call_host(func, *a)):
            out = np.zeros(40, np.int32)
            run(data, out, length)
            np.testing.assert_array_equal(out, expected)


def test_vectors_are_in_their_copy() -> None:
    lanes = Ramp(const(0), const(1), 4)
    make = BufferStore(T, X.load(Ramp(AT * 4, const(1), 4)), (lanes,))
    take = BufferStore(Y, T.load(lanes), (Ramp(AT * 4, const(1), 4),))
    func = inject_double_buffer(2)(loop(seq([marked(make, T), take])), CONFIG)
    data, out = np.arange(40, dtype=np.int32), np.zeros(40, np.int32)
    for run in (lambda *a: run_func(func, a), lambda *a: call_host(func, *a)):
        out[:] = 0
        run(data, out, 0)
        np.testing.assert_array_equal(out, data)


def test_a_mark_in_no_loop_goes() -> None:
    func = function(Allocate(T.data, T.dtype, (const(4),), marked(BufferStore(T, const(1), (const(0),)), T)))
    body = inject_double_buffer()(func, CONFIG).body
    assert isinstance(body, Allocate)
    assert isinstance(body.body, BufferStore)


v = Var("v")
REFUSED: list[tuple[PrimFunc, str]] = [
    (
        loop(seq([IfThenElse(AT > 3, marked(copy(), T)), use()])),
        "expected a buffer that every iteration makes, got one that is made under a condition",
    ),
    (
        function(Allocate(T.data, T.dtype, (const(4),), For(AT, const(0), const(10), seq([marked(copy(), T), use()])))),
        "expected a buffer that begins to exist in the loop, got one that exists before it",
    ),
    (
        loop(seq([marked(copy(), T), use()]), kind=ForKind.PARALLEL),
        "expected a loop whose iterations run in order, got a parallel one",
    ),
    (
        function(For(AT, const(0), const(4), Allocate(T.data, T.dtype, (AT + 1,), seq([marked(copy(), T), use()])))),
        "expected a buffer of one size in all iterations, got one of (i + 1) elements",
    ),
    (
        loop(LetStmt(v, X.load(AT), seq([marked(copy(value=v), T), use()]))),
        "expected what can be computed before the iteration begins, got what needs 'v' of it",
    ),
    (
        loop(seq([marked(seq([copy(), BufferStore(Y, const(1), (const(0),))]), T), use()])),
        "expected statements that write the buffer alone, got some that write 'Y', too",
    ),
    (
        loop(seq([marked(copy(value=Y.load(J)), T), use()])),
        "expected what does not depend on the loop, got what reads 'Y', which the loop writes",
    ),
    (
        loop(seq([marked(copy(), T), Evaluate(call_extern("int32", "f", AT)), use()])),
        "expected a loop without calls that may do anything, got a call of tir.call_extern",
    ),
]


@pytest.mark.parametrize(("func", "sentence"), REFUSED)
def test_what_cannot_be_made_ahead_is_refused(func: PrimFunc, sentence: str) -> None:
    with pytest.raises(DoubleBufferError) as error:
        inject_double_buffer()(func, CONFIG)
    assert str(error.value) == f"the function: double buffer 'T': {sentence}"


def test_the_object_takes_its_option() -> None:
    ib = ir_builder.create()
    a, c = ib.pointer("float32", name="A"), ib.pointer("float32", name="C")
    with ib.for_range(0, 100) as i:
        b = ib.allocate("float32", 4, name="B", scope="local")
        with ib.new_scope():
            ib.scope_attr(b.asobject(), "double_buffer_scope", 1)
            with ib.for_range(0, 4) as j:
                b[j] = a[i * 4 + j]
        with ib.for_range(0, 4) as j:
            c[j] = b[j] + 1
    mod = IRModule({"db": PrimFunc([a.asobject(), c.asobject()], ib.get())})  # type: ignore[arg-type]
    passes = Sequential([tir_passes.InjectDoubleBuffer(), tir_passes.Simplify()])
    with PassContext(config={"tir.InjectDoubleBuffer": {"split_loop": 2}}):
        func = passes(mod)["db"]
    assert isinstance(func.body, Allocate)
    assert allocations(func) == {"B": [8]}
    outer = next(node for node in walk(func.body) if isinstance(node, For) and node.loop_var.name.endswith("_outer"))
    assert outer.extent == IntImm(50)
    with PassContext(config={"tir.InjectDoubleBuffer": {"split_loop": 0}}), pytest.raises(OptionError) as error:
        passes(mod)
    assert str(error.value) == "option 'tir.InjectDoubleBuffer': 'split_loop' is at least 1, not 0"

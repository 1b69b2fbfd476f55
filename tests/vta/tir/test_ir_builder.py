"""Statements written with a builder: what they print, and what they compute."""

import numpy as np
import pytest

import vta
from vta.build_module import build_generic
from vta.tir import ir_builder
from vta.tir.buffer import decl_buffer
from vta.tir.calls import call_extern
from vta.tir.expr import IterVar, Var, const
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.ir_builder import BuilderError
from vta.tir.printer import to_text
from vta.tir.stmt import Evaluate, For, ForKind, SeqStmt


def branches() -> PrimFunc:
    """The doubled values of the first three elements, the tripled ones of the others, through local memory."""
    ib = ir_builder.create()
    n = Var("n")
    a = decl_buffer((n,), "int32", "A")
    x = ib.buffer_ptr(a)
    with ib.for_range(0, n) as i:
        t = ib.allocate("int32", (2, 4), "t", scope="local")
        t[1, 2] = x[i] + 1
        with ib.if_scope(i < 3):
            x[i] = t[6] * 2
        with ib.else_scope():
            x[i] = t[1, 2] * 3
    return PrimFunc([n, a], ib.get())  # type: ignore[arg-type]


def test_loops_memory_and_branches_compute_what_they_say() -> None:
    func = branches()
    start = np.arange(6, dtype=np.int32)
    expected = np.where(np.arange(6) < 3, (start + 1) * 2, (start + 1) * 3)
    compiled = vta.nd.array(start)
    build_generic(func)(6, compiled)
    np.testing.assert_array_equal(compiled.numpy(), expected)


def test_a_pointer_is_an_array_as_long_as_the_callers() -> None:
    ib = ir_builder.create()
    n, a, b = Var("n"), ib.pointer("float32", "A"), ib.pointer("float32", "B")
    with ib.for_range(0, n, kind="parallel") as i:
        b[i] = a[n - 1 - i] * 2
    func = PrimFunc([a.data, b.data, n], ib.get())  # type: ignore[arg-type]
    out = vta.nd.array(np.zeros(5, np.float32))
    build_generic(func)(vta.nd.array(np.arange(5, dtype=np.float32)), out, 5)
    assert out.numpy().tolist() == [8, 6, 4, 2, 0]


def test_memory_may_hold_vectors() -> None:
    ib = ir_builder.create()
    a = ib.allocate("float32x4", (2,), "a")
    a[1] = const(1, "float32x4")
    with ib.new_scope():
        ib.scope_attr(const(0), "pragma_auto_unroll_max_step", 4)
        a[0] = a[1]
    assert to_text(ib.get()).splitlines()[1:3] == [
        "  a_1: Buffer(a, float32x4, [2], [])[1] = broadcast(1.0f32, 4)",
        '  attr [(nullptr)] "pragma_auto_unroll_max_step" = 4;',
    ]


def test_every_kind_of_statement_prints() -> None:
    ib = ir_builder.create()
    n = Var("n")
    thread = IterVar(None, Var("tx"), thread_tag="cthread")
    ib.scope_attr(thread, "virtual_thread", 2)
    twice = ib.let("twice", n * 2)
    ib.assert_stmt(twice > 0, "n is positive")
    with ib.for_range(1, twice, name="j", kind="unroll") as j:
        ib.emit(call_extern("int32", "f", j))
        ib.emit(n)
        with ib.if_scope(ib.likely(j < 3)):
            ib.emit(Evaluate(j))
    assert to_text(ib.get()) == (
        'attr [IterVar(tx: int32, (nullptr), "DataPar", "cthread")] "virtual_thread" = 2;\n'
        "let twice: int32 = (n: int32*2)\n"
        'assert((twice > 0), "n is positive")\n'
        'for (j: int32, 1, (twice - 1)) "unroll" {\n'
        '  @tir.call_extern("f", j, dtype=int32)\n'
        "  n\n"
        "  if @tir.likely((j < 3), dtype=bool) {\n"
        "    j\n"
        "  }\n"
        "}\n"
    )
    assert to_text(ib.get()) == "0\n"


def test_loops_take_the_wider_type_of_their_ends() -> None:
    ib = ir_builder.create()
    with ib.for_range(0, Var("n", "int64"), name="k") as k:
        ib.emit(k)
    loop = ib.get()
    assert isinstance(loop, For)
    assert (k.dtype, loop.extent.dtype, loop.kind) == ("int64", "int64", ForKind.SERIAL)


def test_a_builder_runs_on_the_interpreter_as_compiled() -> None:
    ib = ir_builder.create()
    a = decl_buffer((2, 3), "int32", "A")
    x = ib.buffer_ptr(a)
    with ib.for_range(0, 6) as i:
        x[i] = i * i
    func = PrimFunc([a], ib.get())  # type: ignore[arg-type]
    out = np.zeros((2, 3), np.int32)
    run_func(func, [out])
    np.testing.assert_array_equal(out, np.arange(6).reshape(2, 3) ** 2)


def test_an_error_inside_leaves_nothing_of_the_block() -> None:
    ib = ir_builder.create()
    ib.emit(const(1))

    def failing() -> None:
        with ib.for_range(0, 4):
            ib.emit(const(2))
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    ib.emit(const(3))
    result = ib.get()
    assert isinstance(result, SeqStmt) is False
    assert "for" not in to_text(result)


def test_what_cannot_be_written_is_refused() -> None:
    ib = ir_builder.create()
    with pytest.raises(BuilderError, match=r"^else_scope must follow an if_scope$"), ib.else_scope():
        pass
    a = ib.buffer_ptr(decl_buffer((2, 3, 4), "int32", "A"))
    with pytest.raises(BuilderError) as error:
        a[1, 2]
    assert str(error.value) == "memory 'A' has 3 dimensions, but 2 indices were given"
    with pytest.raises(BuilderError) as error:
        a[0] = Var("x", "float32")
    assert str(error.value) == "memory 'A' holds int32, not float32; convert the value with .astype('int32')"
    with pytest.raises(BuilderError) as error, ib.for_range(0, 2, kind="vector"):
        pass
    assert str(error.value) == (
        "for_range: kind 'vector' is unknown; there are unroll, vectorize, serial, parallel, vectorized, unrolled"
    )
    with pytest.raises(BuilderError) as error:
        ib.scope_attr("x", "pragma_unroll", 1)
    assert str(error.value) == "scope_attr: an attribute is about an axis, a buffer or a variable, not 'x'"
    with pytest.raises(BuilderError) as error:
        ib.buffer_ptr(3)  # type: ignore[arg-type]
    assert str(error.value) == "buffer_ptr takes a buffer, not int; for a tensor see te.extern"
    with ib.for_range(0, 2), pytest.raises(BuilderError) as error:
        ib.get()
    assert str(error.value) == "ir_builder.get: a `with` block of the builder is still open"

"""Functions written in the script run; what has no meaning is refused with its line."""

from typing import Any

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic
from vta.tir.func import IRModule, PrimFunc
from vta.tir.schedule import Schedule
from vta.tir.script import ScriptError, T, from_source, ir_module, prim_func
from vta.tir.script.words import WordError
from vta.tir.structural import require_equal

WIDTH = 6
FLOAT = "float32"


@T.prim_func
def matmul(a: T.handle, b: T.handle, c: T.handle) -> None:  # type: ignore
    A = T.match_buffer(a, [8, WIDTH])
    B = T.match_buffer(b, (8, WIDTH), "float32")
    C = T.match_buffer(c, [8, 8], dtype="float32")
    for i, j, k in T.grid(8, 8, WIDTH):
        with T.block("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(C[vi, vj], A[vi, 0:WIDTH])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]


def test_a_product_of_blocks_is_that_of_te() -> None:
    a, b, k = (
        te.placeholder((8, WIDTH), name="A"),
        te.placeholder((8, WIDTH), name="B"),
        te.reduce_axis((0, WIDTH), "k"),
    )
    c = te.compute((8, 8), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="update")
    assert isinstance(matmul, PrimFunc)
    require_equal(matmul.with_attr("tir.noalias", True), te.create_prim_func([a, b, c]).without_attr("global_symbol"))
    x, y = (np.random.default_rng(seed).random((8, WIDTH), np.float32) for seed in (1, 2))
    out = vta.nd.empty((8, 8))
    build_generic(matmul)(vta.nd.array(x), vta.nd.array(y), out)
    np.testing.assert_allclose(out.numpy(), x @ y.T, rtol=1e-5)


def test_a_script_is_scheduled() -> None:
    assert isinstance(matmul, PrimFunc)
    sch = Schedule(matmul)
    i, _, k = sch.get_loops(sch.get_block("update"))
    sch.split(k, [2, 3])
    sch.parallel(i)
    x, y = (np.random.default_rng(seed).random((8, WIDTH), np.float32) for seed in (1, 2))
    out = vta.nd.empty((8, 8))
    build_generic(sch.mod)(vta.nd.array(x), vta.nd.array(y), out)
    np.testing.assert_allclose(out.numpy(), x @ y.T, rtol=1e-5)


@ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer[(16,), FLOAT], B: T.Buffer((16,), FLOAT), n: T.int32) -> None:  # type: ignore
        """A text is no statement."""
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        half = 8
        for i in T.parallel(0, 16):
            with T.block("B"):
                vi = T.axis.S(16, i)
                T.where(i < n)
                B[vi] = T.max(A[vi], T.float32(0.5)) * T.sqrt(T.cast(vi, "float32"))
        for i in range(half):
            if i % 2 == 0 and not i == 4:  # noqa: SIM201  # the script's own not
                B[i] = -1
            else:
                T.evaluate(0)


def test_conditions_casts_and_functions() -> None:
    out, a = vta.nd.array(np.full(16, 9, np.float32)), np.linspace(0, 1, 16).astype(np.float32)
    build_generic(Module)(vta.nd.array(a), out, 12)  # type: ignore[arg-type]
    want = np.where(np.arange(16) < 12, np.maximum(a, 0.5) * np.sqrt(np.arange(16, dtype=np.float32)), 9)
    want[[0, 2, 6]] = -1
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-6)
    assert isinstance(Module, IRModule)


def test_scopes_without_with_go_on_to_the_end_of_their_block() -> None:
    text = """
    @T.prim_func
    def f(b: T.handle, n: T.int64) -> None:
        B = T.match_buffer(b, [4], dtype="int32", strides=[1])
        tx = T.var("int32")
        T.launch_thread(tx, 4)
        T.attr(B.data, "note", 1)
        A = T.allocate([4], "int32", "local")
        A_1 = T.buffer_decl([4], "int32", data=A, scope="local")
        T.Assert(n > T.int64(0), "positive")
        for i in T.serial(2, 4):
            A_1[i] = T.if_then_else(i < 3, ~i, B.shape[0] * 2 - (i << 1) + 7 // 2)
        x = T.var("int32")
        T.let(x, 3)
        T.realize(B[0:4, ], True)
        T.call_extern("f", x, B[1], dtype="int32")
    """
    func = from_source(text)
    assert isinstance(func, PrimFunc)
    require_equal(func, from_source(func.script()))
    assert "allocate(A: Pointer(local int32), int32, [4]), storage_scope = local" in str(func)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("x + 1", "f, line 4: 'x + 1' has no meaning in a script"),
        ("B[0] = nothing", "f, line 4: 'nothing' is not defined here"),
        ("B[0] = 1.5", "f, line 4: constant 1.5 is not an integer, but int32 was asked for"),
        ("B[0] = T.float32(1)", "f, line 4: buffer 'B' holds int32, not float32; use T.cast"),
        ("B[0, 1] = 1", "f, line 4: buffer 'B' has 1 dimensions, not 2"),
        ("B[0:2] = 1", "f, line 4: a slice stands in T.reads and T.writes alone"),
        ("b[0] = 1", "f, line 4: b is no buffer"),
        ("B[0] = b[1]", "f, line 4: b has no elements"),
        ("B[0] = lambda: 1", "f, line 4: lambda: 1 has no meaning in a script"),
        ("B[0] = B.nothing", "f, line 4: B.nothing has no meaning in a script"),
        ("B[0] = print(1)", "f, line 4: print is no word of the script; words begin with T."),
        ("B[0] = T.nothing(1)", "f, line 4: T.nothing is no word that the script has here"),
        ("B[0] = B[0] is 1", "f, line 4: B[0] is 1 has no meaning in a script"),
        ("B[0] = 'a' + B[0]", "f, line 4: operands of types handle and int32 do not go together"),
        ("B[0] = T.ramp(1)", "f, line 4: T.ramp is no word that the script has here"),
        (
            "B[0] = T.cast(1, 'int99')",
            "f, line 4: T.cast: unknown dtype 'int99'; integers have 1 to 64 bits, lanes at least 1",
        ),
        ("T.evaluate([1])", "f, line 4: [1] (list) is not an expression"),
        ("print(1)", "f, line 4: print is no word of the script; words begin with T."),
        ("raise x", "f, line 4: 'raise x' has no meaning in a script"),
        (
            "for i in B:\n            pass",
            "f, line 4: a loop walks over T.serial, T.parallel, T.vectorized, T.unroll, T.grid or range",
        ),
        (
            "for i in T.thread_binding(4):\n            pass",
            "f, line 4: T.thread_binding, and no other loop, has a thread, as in thread=\"cthread\"",
        ),
        ("for i in T.grid(4, 4):\n            pass", "f, line 4: expected 2 loop variables, got 1"),
        ("with T.nothing(1):\n            pass", "f, line 4: T.nothing is no scope that there is here"),
        ("with T.realize(B):\n            pass", "f, line 4: T.realize takes a region, for example B[0:16]"),
        ("with T.realize(B[1]):\n            pass", "f, line 4: expected a range, for example 0:16, got 1"),
        ("x.y = 1", "f, line 4: x.y cannot be defined"),
        ("v = T.axis.S(4, 1)", "f, line 4: T.axis.S defines no axis here"),
        (
            "with T.block('x'):\n            v = T.axis.remap('S', [1])",
            "f, line 5: T.axis.remap takes the variables of loops",
        ),
        (
            "with T.block('x'):\n            C = T.match_buffer(B[0], [4])",
            "f, line 5: T.match_buffer: regions of buffers cannot be matched here; index the buffer itself",
        ),
        ("C = T.preflattened_buffer(1, [4])", "f, line 4: T.preflattened_buffer is about the buffer of a parameter"),
    ],
)  # fmt: skip
def test_what_has_no_meaning_is_refused_with_its_line(body: str, text: str) -> None:
    with pytest.raises(ScriptError) as caught:
        from_source(f"@T.prim_func\ndef f(b: T.handle):\n        B = T.match_buffer(b, [4], 'int32')\n        {body}\n")
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:", "line 1: invalid syntax"),
        ("x = 1", "line 1: the text has neither a function under @T.prim_func nor a class under @ir_module"),
        (
            "def f(x): pass",
            "f, line 1: parameter 'x' needs a type, for example T.handle or T.Buffer[(8,), 'float32']",
        ),
    ],
)
def test_texts_that_are_no_functions_are_refused(text: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        from_source(text)
    assert str(caught.value) == message


def test_a_function_without_a_source_and_words_outside_of_one_are_refused() -> None:
    scope: dict[str, Any] = {}
    exec("def f(): pass", scope)
    with pytest.raises(ScriptError) as caught:
        prim_func(scope["f"])
    assert str(caught.value) == "function 'f' has no source; write it in a file, or use from_source"
    with pytest.raises(WordError) as called:
        T.block("x")
    assert str(called.value) == "T.block means something inside of a function under @T.prim_func alone; do not call it"
    assert repr(T.axis.S) == "T.axis.S"
    assert not hasattr(T, "__wrapped__")


def test_an_element_is_changed_by_an_operation() -> None:
    @T.prim_func
    def short(a: T.handle) -> None:  # type: ignore
        A = T.match_buffer(a, (8,))
        for i in T.serial(8):
            A[i] += T.float32(2)
            A[7 - i] *= A[i]

    @T.prim_func
    def long(a: T.handle) -> None:  # type: ignore
        A = T.match_buffer(a, (8,))
        for i in T.serial(8):
            A[i] = A[i] + T.float32(2)
            A[7 - i] = A[7 - i] * A[i]

    require_equal(short, long)

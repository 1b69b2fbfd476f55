"""Compiled code calls functions of Python: numbers, texts and arrays go there, numbers and errors come back."""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import vta
from runtime.packed_call import Kind, PackedCallError, kept_error, symbols
from runtime.packed_func import register_func, remove_global_func
from vta import tir
from vta.build_module import build_generic
from vta.codegen.llvm_types import CodegenError
from vta.codegen.module import HostCodeError
from vta.tir.calls import call_packed
from vta.tir.dtype import DType
from vta.tir.expr import Broadcast, Builtin, Call, StringImm
from vta.tir.func import PrimFunc
from vta.tir.stmt import AssertStmt, BufferStore, Evaluate, For, seq

NAME = "test.packed.called"


@pytest.fixture
def registered() -> Iterator[Callable[[Callable[..., Any]], object]]:
    yield lambda function: register_func(NAME, function, override=True)
    remove_global_func(NAME)


def test_arguments_arrive_and_arrays_share_memory(registered: Callable[[Callable[..., Any]], object]) -> None:
    seen: list[object] = []

    def called(a: Any, i: int, text: str, x: float, b: Any, wide: int) -> None:
        seen.extend([a.numpy().tolist(), a.shape, a.dtype, i, text, x, b.shape, wide])
        b.copyfrom(np.arange(3, dtype=np.int32))

    registered(called)
    a, n = tir.decl_buffer((2, 2), "float32", name="A"), tir.Var("n")
    b = tir.decl_buffer((n,), "int32", name="B")
    call = call_packed(NAME, a, n + 1, "hi", tir.const(2.5), b, tir.const(-(1 << 40), "int64"))
    out = vta.nd.array(np.zeros(3, np.int32))
    build_generic(PrimFunc("f", (a, b), Evaluate(call)))(vta.nd.array(np.full((2, 2), 0.5, np.float32)), out)  # type: ignore[arg-type]  # buffers among the parameters
    assert seen == [[[0.5, 0.5], [0.5, 0.5]], (2, 2), "float32", 4, "hi", 2.5, (3,), -(1 << 40)]
    assert out.numpy().tolist() == [0, 1, 2]


def test_numbers_come_back(registered: Callable[[Callable[..., Any]], object]) -> None:
    registered(lambda i: i * i)
    i = tir.Var("i")
    a, b = tir.decl_buffer((5,), "int32", name="A"), tir.decl_buffer((5,), "float32", name="B")
    half = Call(DType("float32"), Builtin.CALL_PACKED, (StringImm(NAME), i.astype("float32") / 2))
    body = For(i, 0, 5, seq([BufferStore(a, call_packed(NAME, i), (i,)), BufferStore(b, half, (i,))]))  # type: ignore[arg-type]
    whole, parts = vta.nd.empty((5,), "int32"), vta.nd.empty((5,), "float32")
    build_generic(PrimFunc("f", (a, b), body))(whole, parts)  # type: ignore[arg-type]
    assert whole.numpy().tolist() == [0, 1, 4, 9, 16]
    assert parts.numpy().tolist() == [0, 0.25, 1, 2.25, 4]


def test_an_error_of_the_function_is_the_callers(registered: Callable[[Callable[..., Any]], object]) -> None:
    def failing() -> None:
        raise KeyError("lost")

    module = build_generic(PrimFunc("f", (), Evaluate(call_packed(NAME))))
    registered(failing)
    with pytest.raises(KeyError, match="lost"):
        module()
    registered(lambda: "text")
    with pytest.raises(PackedCallError) as caught:
        module()
    assert str(caught.value) == f"global function {NAME!r}: compiled code expects a number of it, got 'text'"
    registered(lambda: None)
    module()
    assert kept_error() is None
    assert list(symbols()) == ["__vta_call_packed"]
    assert list(Kind) == [0, 1, 2, 3, 4]


def test_an_error_that_another_caller_left_is_not_raised() -> None:
    (address,) = symbols().values()
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, *[ctypes.c_void_p] * 2, ctypes.c_int32, ctypes.c_void_p)
    assert kind(address)(b"test.packed.nobody", None, None, 0, None) == 1
    n = tir.Var("n")
    module = build_generic(PrimFunc("f", (n,), AssertStmt(n > 0, "n must be positive", Evaluate(n))))
    with pytest.raises(HostCodeError) as caught:
        module(0)
    assert str(caught.value) == "function 'f': n must be positive"


def test_vectors_are_no_arguments() -> None:
    func = PrimFunc("f", (), Evaluate(call_packed(NAME, Broadcast(tir.const(1), 4))))
    with pytest.raises(CodegenError) as caught:
        build_generic(func)
    assert str(caught.value) == "function 'f': a global function takes numbers and arrays, not int32x4"

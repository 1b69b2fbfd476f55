"""Calls written out, and intrinsics by name."""

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic
from vta.tir import calls
from vta.tir.buffer import decl_buffer
from vta.tir.calls import (
    CallError,
    Op,
    call_extern,
    call_intrin,
    call_llvm_intrin,
    call_llvm_pure_intrin,
    call_packed,
    call_pure_extern,
)
from vta.tir.dtype import DType
from vta.tir.expr import Builtin, Call, ExprError, Var, const
from vta.tir.func import PrimFunc
from vta.tir.stmt import For

x = Var("x", "float32")


def test_calls_print_what_they_call() -> None:
    assert str(call_extern("int32", "f", 1, x)) == '@tir.call_extern("f", 1, x, dtype=int32)'
    assert str(call_pure_extern("float32", "sinf", x)) == '@tir.call_pure_extern("sinf", x, dtype=float32)'
    assert str(call_intrin("float32", "tir.exp", x)) == "@tir.exp(x, dtype=float32)"
    assert str(call_intrin("float32", Op.get("tir.exp"), x)) == "@tir.exp(x, dtype=float32)"


def test_a_c_function_is_called_for_each_element_vectorised_or_not() -> None:
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: call_pure_extern("float32", "cosf", a[i]), name="B")
    s = te.create_schedule(b.op)
    s[b].vectorize(b.op.axis[0])
    values = np.linspace(-3, 3, 16, dtype=np.float32)
    out = vta.nd.array(np.zeros(16, np.float32))
    build_generic(s, [a, b])(vta.nd.array(values), out)
    np.testing.assert_allclose(out.numpy(), np.cos(values), rtol=1e-5, atol=1e-6)


def test_names_that_are_not_there_are_refused() -> None:
    assert Op.get("tir.likely") is Builtin.LIKELY
    with pytest.raises(CallError) as error:
        call_intrin("float32", "tir.expp", x)
    assert str(error.value).startswith("there is no intrinsic 'tir.expp'; there are tir.call_extern, ")
    with pytest.raises(CallError) as error:
        call_extern("int32", "", x)
    assert str(error.value) == "tir.call_extern: expected the name of a C function, got ''"


def test_a_packed_call_says_where_arrays_lie() -> None:
    buffer = decl_buffer((2, 3), "int8", "B")
    call = call_packed("f", buffer, 3, "text")
    assert str(call) == (
        '@tir.tvm_call_packed("f", @tir.tvm_stack_make_array(B, @tir.tvm_tuple(2, 3, dtype=handle), '
        '@tir.tvm_tuple(, dtype=handle), 0i8, 0, dtype=handle), 3, "text", dtype=int32)'
    )
    with pytest.raises(CallError) as caught:
        call_packed("")
    assert str(caught.value) == "tir.tvm_call_packed: expected the name of a function, got ''"


def test_intrinsics_of_llvm_are_called_by_name() -> None:
    a, b = decl_buffer((4,), "uint32", "A"), decl_buffer((4,), "uint32", "B")
    i = Var("i")
    bits = call_llvm_pure_intrin("uint32", "llvm.ctpop.i32", 1, a[i])
    func = PrimFunc([a, b], For(i, const(0), const(4), b.vstore([i], bits)))  # type: ignore[arg-type]
    values, out = np.array([0, 1, 255, 2**32 - 1], np.uint32), vta.nd.empty((4,), "uint32")
    build_generic(func)(vta.nd.array(values), out)
    assert out.numpy().tolist() == [0, 1, 8, 32]
    with pytest.raises(CallError) as error:
        call_llvm_intrin("int32", "ctpop", 1)
    assert str(error.value) == (
        "expected the name of an intrinsic of LLVM's, for example 'llvm.ctpop.v8i8', got 'ctpop'"
    )
    with pytest.raises(CallError) as error:
        call_llvm_intrin("int32", "llvm.trap")
    assert str(error.value) == "llvm.trap: expected the number of types in its name, and its arguments"


def test_intrinsics_that_a_person_writes_out() -> None:
    handle, buffer = Var("h", DType("handle")), decl_buffer((4,), "int32", "b")
    for made, text in (
        (calls.tvm_struct_get(handle, 0, 1, "handle"), "@tir.tvm_struct_get(h, 0, 1, dtype=handle)"),
        (calls.tvm_struct_set(handle, 0, 1, 2), "@tir.tvm_struct_set(h, 0, 1, 2, dtype=int32)"),
        (calls.isnullptr(handle), "@tir.isnullptr(h, dtype=bool)"),
        (calls.tvm_tuple(1, 2), "@tir.tvm_tuple(1, 2, dtype=handle)"),
        (calls.address_of(buffer.load(2)), "@tir.address_of(b[2], dtype=handle)"),
    ):
        assert str(made) == text
        assert isinstance(made, Call)
        assert isinstance(made.op, calls.Op)
        assert made.op.name == str(made.op)
    assert not isinstance("tir.exp", calls.Op)


def test_a_call_by_the_name_of_an_intrinsic() -> None:
    assert Call("float32", "tir.exp", (const(1.0),)).op is Builtin.EXP  # type: ignore[arg-type]  # a script's
    with pytest.raises(ExprError) as error:
        Call("float32", "tir.nothing", ())  # type: ignore[arg-type]
    assert str(error.value) == "there is no intrinsic 'tir.nothing'"

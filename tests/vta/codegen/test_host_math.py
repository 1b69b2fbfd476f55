"""Mathematical functions in compiled host code, against numpy. BR-153: every operation has host code and text."""

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.runtime.host_call import call_host
from vta.codegen.host import emit_host
from vta.codegen.llvm_types import CodegenError
from vta.tir.buffer import decl_buffer
from vta.tir.dtype import HANDLE, DType
from vta.tir.expr import Builtin, Call, Expr, IntImm, Var
from vta.tir.func import PrimFunc
from vta.tir.stmt import BufferStore, For

N = 50
REFERENCE = {
    Builtin.ABS: np.abs,
    Builtin.EXP: np.exp,
    Builtin.LOG: lambda x: np.log(np.abs(x)),
    Builtin.SQRT: lambda x: np.sqrt(np.abs(x)),
    Builtin.TANH: np.tanh,
    Builtin.SIGMOID: lambda x: 1 / (1 + np.exp(-x)),
    Builtin.FLOOR: np.floor,
    Builtin.CEIL: np.ceil,
    Builtin.ROUND: np.rint,
    Builtin.TRUNC: np.trunc,
}


def compute(dtype: str, value: "Expr", x: "object", i: Var, a: np.ndarray) -> np.ndarray:
    """Run ``z[i] = value`` over the array ``a``."""
    z = decl_buffer((N,), dtype, "z")
    params = (Var("x", HANDLE), Var("z", HANDLE))
    body = For(i, IntImm(0), IntImm(N), BufferStore(z, value, (i,)))
    out = np.zeros(N, dtype)
    assert call_host(PrimFunc("f", params, body, dict(zip(params, (x, z), strict=True))), a, out) is None
    return out


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("op", list(REFERENCE))
def test_functions_of_one_number(op: Builtin, dtype: str) -> None:
    a = np.random.default_rng(1).normal(scale=3, size=N).astype(dtype)
    a[:6] = [0.5, 1.5, 2.5, -0.5, -1.5, 4]  # ties: to even
    x, i = decl_buffer((N,), dtype, "x"), Var("i")
    argument: Expr = x.load(i)
    if op in (Builtin.LOG, Builtin.SQRT):
        argument = Call(DType(dtype), Builtin.ABS, (argument,))
    out = compute(dtype, Call(DType(dtype), op, (argument,)), x, i, a)
    tolerance = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-14}[dtype]
    np.testing.assert_allclose(out, REFERENCE[op](a), rtol=tolerance, atol=tolerance)


def test_power() -> None:
    a = np.random.default_rng(2).uniform(0.1, 4, size=N)
    x, i = decl_buffer((N,), "float64", "x"), Var("i")
    value = Call(DType("float64"), Builtin.POW, (x.load(i), x.load(i)))
    np.testing.assert_allclose(compute("float64", value, x, i, a), a**a, rtol=1e-14)


def test_br_153_a_program_with_rounding_has_readable_host_code() -> None:
    x, i = decl_buffer((N,), "float32", "x"), Var("i")
    param = Var("x", HANDLE)
    rounded = Call(DType("float32"), Builtin.ROUND, (x.load(i),))
    body = For(i, IntImm(0), IntImm(N), BufferStore(x, rounded, (i,)))
    source = emit_host([PrimFunc("quantise", (param,), body, {param: x})], VTAConfig()).source
    assert 'call float @"llvm.rint.f32"' in source
    assert 'define i32 @"quantise"(ptr %"x")' in source


def test_a_function_of_integers_is_refused() -> None:
    x, i = decl_buffer((N,), "int32", "x"), Var("i")
    param = Var("x", HANDLE)
    body = For(i, IntImm(0), IntImm(N), BufferStore(x, Call(DType("int32"), Builtin.EXP, (x.load(i),)), (i,)))
    with pytest.raises(CodegenError) as error:
        emit_host([PrimFunc("f", (param,), body, {param: x})], VTAConfig())
    assert str(error.value) == ("function 'f': tir.exp of int32 has no host code; convert the argument to a float type")

"""Intrinsics of LLVM's called by name: the interpreter, compiled code and vectors agree."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from tests.support.runtime.host_call import call_host
from vta import te
from vta.build_module import build_generic
from vta.tir.buffer import decl_buffer
from vta.tir.calls import call_llvm_intrin, call_llvm_pure_intrin
from vta.tir.dtype import HANDLE
from vta.tir.expr import BufferLoad, Expr, Ramp, Var, const
from vta.tir.func import PrimFunc
from vta.tir.interpreter.llvm_intrinsics import fused, fused32
from vta.tir.interpreter.run import InterpreterError, run_func
from vta.tir.script import from_source
from vta.tir.stmt import BufferStore, For
from vta.tir.structural import require_equal

N = 32


def program(kind: str, lanes: int, value: Callable[..., Expr]) -> PrimFunc:
    """Return ``out[i] = value(a[i], b[i], c[i])``, one by one or ``lanes`` at once."""
    buffers = [decl_buffer((N,), kind, name) for name in ("a", "b", "c", "out")]
    i = Var("i")
    index: Expr = i if lanes == 1 else Ramp(i * lanes, const(1), lanes)
    made = value(*(BufferLoad(buffer, (index,)) for buffer in buffers[:3]))
    params = [Var(buffer.name, HANDLE) for buffer in buffers]
    body = For(i, const(0), const(N // lanes), BufferStore(buffers[3], made, (index,)))
    return PrimFunc("f", tuple(params), body, dict(zip(params, buffers, strict=True)))


def call(name: str, kind: str, arguments: int) -> Callable[..., Expr]:
    """Return the call of an intrinsic, in the spelling that its operands have."""

    def make(*operands: Expr) -> Expr:
        lanes = operands[0].dtype.lanes
        letter = "f" if kind.startswith("float") else "i"
        suffix = f"{f'v{lanes}' if lanes > 1 else ''}{letter}{operands[0].dtype.bits}"
        flag = [const(False, "bool")] if name in ("abs", "ctlz") else []
        return call_llvm_pure_intrin(
            str(operands[0].dtype), f"llvm.{name}.{suffix}", arguments, *operands[:arguments], *flag
        )

    return make


EXACT = [
    *((name, kind, count) for kind in ("int32", "int8", "int64") for name, count in (
        ("ctpop", 1), ("ctlz", 1), ("abs", 1), ("smin", 2), ("smax", 2), ("umin", 2), ("umax", 2))),
    *((name, kind, count) for kind in ("float32", "float64") for name, count in (
        ("fabs", 1), ("sqrt", 1), ("floor", 1), ("ceil", 1), ("trunc", 1), ("rint", 1), ("nearbyint", 1),
        ("roundeven", 1), ("copysign", 2), ("minnum", 2), ("maxnum", 2), ("fma", 3))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "count"), EXACT)
def test_interpreter_and_compiled_code_agree(name: str, kind: str, count: int) -> None:
    rng = np.random.default_rng(count)
    if kind.startswith("float"):
        inputs = [(rng.normal(size=N) * 10).astype(kind) for _ in range(3)]
        inputs[0][0], inputs[0][1:3] = np.nan, (2.5, -3.5)
    else:
        inputs = [rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, N).astype(kind) for _ in range(3)]
        inputs[0][0] = 0
    for lanes in (1, 8):
        func = program(kind, lanes, call(name, kind, count))
        interpreted, compiled = np.zeros(N, kind), np.zeros(N, kind)
        run_func(func, [*inputs, interpreted])
        assert call_host(func, *inputs, compiled) is None
        np.testing.assert_array_equal(interpreted, compiled)
        require_equal(from_source(func.script()), func)


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "log2", "log10", "sin", "cos", "pow"])
def test_functions_without_exact_values_are_close(name: str) -> None:
    inputs = [np.random.default_rng(2).uniform(0.1, 3, N).astype("float64") for _ in range(3)]
    func = program("float64", 1, call(name, "float64", 2 if name == "pow" else 1))
    interpreted, compiled = np.zeros(N), np.zeros(N)
    run_func(func, [*inputs, interpreted])
    assert call_host(func, *inputs, compiled) is None
    np.testing.assert_allclose(interpreted, compiled, rtol=1e-14)


def test_in_te_they_are_called_like_in_tir_and_may_be_spelled_without_types() -> None:
    a = te.placeholder((N,), "int32", "A")
    b = te.compute((N,), lambda i: call_llvm_intrin("int32", "llvm.ctpop", 1, a[i]) + 1, "B")
    schedule = te.create_schedule(b.op)
    schedule[b].vectorize(schedule[b].split(b.op.axis[0], 8)[1])
    data, out = np.arange(N, dtype=np.int32) - 7, np.zeros(N, np.int32)
    build_generic(schedule, [a, b])(data, out)
    expected = [int(value).bit_count() + 1 for value in data.view(np.uint32)]
    assert out.tolist() == expected
    run_func(te.create_prim_func([a, b]), [data, out])
    assert out.tolist() == expected


def test_a_product_with_a_sum_is_rounded_once() -> None:
    """Against exact arithmetic, where single precision by way of double precision would be rounded twice."""
    rng = np.random.default_rng(5)
    for _ in range(2000):
        a, b = (float(np.float32(x)) for x in rng.normal(size=2))
        c = float(np.float32(a * b * rng.choice([1e-8, -1e-8, 1, -1, 2.0**-30])))
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        found = fused32(a, b, c)
        below, above = (float(np.nextafter(np.float32(found), np.float32(end))) for end in (-np.inf, np.inf))
        assert all(abs(Fraction(found) - exact) <= abs(Fraction(other) - exact) for other in (below, above))
        assert fused(a, b, c) == float(exact)
    assert fused32(1 + 2.0**-12, 1 + 2.0**-12, 2.0**-60) == 1 + 2.0**-11 + 2.0**-23
    assert fused(1e308, 10.0, -1.0) == float("inf")
    assert str(fused(-0.0, 1.0, -0.0)) == "-0.0"
    assert str(fused(float("inf"), 0.0, 1.0)) == "nan"


def test_what_is_not_known_is_refused() -> None:
    func = program("int32", 1, lambda a, *_: call_llvm_pure_intrin("int32", "llvm.bitreverse.i32", 1, a))
    with pytest.raises(InterpreterError) as error:
        run_func(func, [np.zeros(N, np.int32) for _ in range(4)])
    assert str(error.value) == "cannot run llvm.bitreverse; the interpreter is for programs without it"

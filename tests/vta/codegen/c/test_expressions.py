"""Single operations in C: the numbers of the interpreter at the ends of every type."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.compiler.c_functions import CCalls
from tests.support.hw.c_board import missing_compiler
from vta.codegen.c import emit_c
from vta.codegen.llvm_types import CodegenError
from vta.tir import math_ops, ops
from vta.tir.buffer import decl_buffer
from vta.tir.dtype import DType
from vta.tir.expr import Cast, Expr, FloorDiv, FloorMod, IntImm, Mod, Var
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.stmt import BufferStore, For

needs_compiler = pytest.mark.skipif(bool(missing_compiler()), reason=missing_compiler())

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")
Two = Callable[[Expr, Expr], Any]

OF_INTEGERS: dict[str, Two] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "max": ops.max,
    "min": ops.min,
    "less": lambda a, b: (a < b).asexpr(),
    "not equal": lambda a, b: (a != b).asexpr(),
    "floor division": lambda a, _: FloorDiv(a, IntImm(7, a.dtype)),
    "floor remainder": lambda a, _: FloorMod(a, IntImm(7, a.dtype)),
    "remainder": lambda a, _: Mod(a, IntImm(7, a.dtype)),
    "left by a number": lambda a, b: a << (b & IntImm(b.dtype.bits - 1, b.dtype)),
    "right by a number": lambda a, b: a >> (b & IntImm(b.dtype.bits - 1, b.dtype)),
    "right by 3": lambda a, _: a >> IntImm(3, a.dtype),
    "xor": lambda a, b: a ^ b,
    "not": lambda a, _: ~a,
    "choice": lambda a, b: ops.select(ops.all(a < b, b > IntImm(3, b.dtype)), a, b + a),
}
OF_FLOATS: dict[str, Two] = {
    "divide": lambda a, b: a / b,
    "round": lambda a, _: ops.round(a),
    "floor": lambda a, _: ops.floor(a),
    "root": lambda a, _: ops.sqrt(a),
    "no number": lambda a, _: math_ops.isnan(a),
    "sum of products": lambda a, b: a * b + a,
    "infinities": lambda a, _: ops.select(a > 0, a - np.inf, a + np.inf) if a.dtype == "float64" else a,
}


def ends(dtype: str) -> np.ndarray[Any, Any]:
    """Return numbers at the ends of a type, and some between."""
    if dtype in FLOATS:
        return np.array(
            [0.0, -0.0, np.nan, np.inf, -np.inf, 0.5, 1.5, -2.5, 127.5, 3e38, -2147483904.0, 1e-45, 9.3e18], dtype
        )
    info = np.iinfo(dtype)
    return np.array([info.min, info.min + 1, info.max // 2, 0, 1, 2, 7, 13, info.max - 1, info.max], dtype)


def function_of(make: Two, dtype: str, count: int) -> PrimFunc:
    """Return a function of two arrays whose third one gets what ``make`` makes of their elements."""
    a, b, i = decl_buffer((count,), dtype, name="A"), decl_buffer((count,), dtype, name="B"), Var("i")
    value = make(a[i], b[i])
    c = decl_buffer((count,), str(value.dtype), name="C")
    return PrimFunc("f", (a, b, c), For(i, 0, count, BufferStore(c, value, (i,))))  # type: ignore[arg-type]


def cast_to(dtype: str) -> Two:
    return lambda a, _: Cast(DType(dtype), a)


@needs_compiler
def test_operations_give_the_interpreters_numbers_for_all_types() -> None:
    cases = [(name, dtype, make) for dtype in INTEGERS for name, make in OF_INTEGERS.items()]
    cases += [(name, dtype, make) for dtype in FLOATS for name, make in OF_FLOATS.items()]
    kinds = (*INTEGERS, *FLOATS, "bool")
    cases += [(f"as {kind}", dtype, cast_to(kind)) for dtype in INTEGERS for kind in kinds if kind != dtype]
    cases += [(f"as {kind}", dtype, cast_to(kind)) for dtype in FLOATS for kind in (*FLOATS, "bool") if kind != dtype]
    functions = []
    for _, dtype, make in cases:
        functions.append(function_of(make, dtype, ends(dtype).size ** 2))
    call = CCalls([emit_c(function, f"f{number}") for number, function in enumerate(functions)])
    for number, (name, dtype, _) in enumerate(cases):
        numbers = ends(dtype)
        a, b = np.repeat(numbers, numbers.size), np.tile(numbers, numbers.size)
        result = functions[number].buffer_map[functions[number].params[2]].dtype
        expected, found = (np.zeros(a.size, str(result)) for _ in range(2))
        with np.errstate(all="ignore"):
            run_func(functions[number], [a, b, expected])
        call(number, a, b, found)
        np.testing.assert_array_equal(found, expected, err_msg=f"{name} of {dtype}")


@needs_compiler
def test_floats_become_the_nearest_integer_towards_zero_that_there_is() -> None:
    cases = [(dtype, kind) for dtype in FLOATS for kind in INTEGERS]
    functions = [function_of(cast_to(kind), dtype, ends(dtype).size) for dtype, kind in cases]
    call = CCalls([emit_c(function, f"f{number}") for number, function in enumerate(functions)])
    for number, (dtype, kind) in enumerate(cases):
        info, a, found = np.iinfo(kind), ends(dtype), np.zeros(ends(dtype).size, kind)
        call(number, a, a, found)
        whole = [
            0 if math.isnan(x) else int(x) if math.isfinite(x) else int(math.copysign(1 << 70, x)) for x in a.tolist()
        ]
        assert found.tolist() == [min(max(x, int(info.min)), int(info.max)) for x in whole], (dtype, kind)


@needs_compiler
def test_shifts_by_the_width_or_more_leave_the_sign_alone() -> None:
    functions = [function_of(make, "int32", 4) for make in (lambda a, b: a << b, lambda a, b: a >> b)]
    call = CCalls([emit_c(function, f"f{number}") for number, function in enumerate(functions)])
    a, b = np.array([-5, 5, -5, 5], np.int32), np.array([32, 31, -1, 1 << 20], np.int32)
    for number, expected in enumerate(([0, -(1 << 31), 0, 0], [-1, 0, -1, 0])):
        found = np.zeros(4, np.int32)
        call(number, a, b, found)
        assert found.tolist() == expected


def test_divisions_that_could_fail_are_refused() -> None:
    for make in (lambda a, b: FloorDiv(a, b), lambda a, _: FloorDiv(a, IntImm(-1, a.dtype))):
        with pytest.raises(CodegenError) as caught:
            emit_c(function_of(make, "int32", 4), "f")
        assert str(caught.value) == "function 'f': a division by anything but a constant (not 0, not -1) has no C code"


def test_functions_without_c_code_are_refused_by_name() -> None:
    with pytest.raises(CodegenError) as caught:
        emit_c(function_of(lambda a, _: math_ops.asinh(a), "float32", 4), "f")
    assert str(caught.value) == "function 'f': tir.asinh of float32 has no C code"

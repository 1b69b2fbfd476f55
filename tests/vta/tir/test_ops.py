"""The functions that users build expressions with."""

from collections.abc import Callable

import numpy as np
import pytest

from vta import tir
from vta.tir import ops
from vta.tir.dtype import BOOL, DType
from vta.tir.expr import ExprError, FloatImm, IntImm, Var, const, same

i, j = Var("i"), Var("j")
f, g = tir.Var("f", tir.FloatImm(0.0).dtype), tir.Var("g", tir.FloatImm(0.0).dtype)
small, wide, unsigned = (
    Var(name, tir.const(0, dtype).dtype) for name, dtype in (("s", "int8"), ("w", "int64"), ("u", "uint8"))
)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (tir.all(i < 1), "(i < 1)"),
        (tir.all(i < 1, True, j < 2), "((i < 1) && (j < 2))"),
        (tir.all(i < 1, False), "False"),
        (tir.any(i < 1, i == j), "((i < 1) || (i == j))"),
        (tir.any(i < 1, True), "True"),
        (tir.likely(i < 1), "@tir.likely((i < 1), dtype=bool)"),
        (tir.likely(True), "True"),
        (tir.if_then_else(i < 1, small, 0), "@tir.if_then_else((i < 1), s, 0i8, dtype=int8)"),
        (tir.if_then_else(True, i, 0), "i"),
        (tir.if_then_else(False, i, 0), "0"),
        (tir.select(i < 1, i, small), "select((i < 1), i, cast(int32, s))"),
        (tir.select(True, i, j), "i"),
        (tir.select(False, i, j), "j"),
        (tir.max(i, 3, j), "max(max(i, 3), j)"),
        (tir.min(i, 3), "min(i, 3)"),
        (tir.max(2, 3), "3"),
        (tir.min(f, 2), "min(f, 2.0f32)"),
        (tir.truncdiv(i, 4), "(i / 4)"),
        (tir.truncmod(i, 4), "(i % 4)"),
        (tir.truncdiv(-7, 2), "-3"),
        (tir.truncmod(-7, 2), "-1"),
        (tir.floordiv(-7, 2), "-4"),
        (tir.floormod(i, wide), "floormod(cast(int64, i), w)"),
        (tir.abs(i), "select((i >= 0), i, (0 - i))"),
        (tir.abs(unsigned), "u"),
        (tir.abs(f), "@tir.fabs(f, dtype=float32)"),
        (tir.exp(f), "@tir.exp(f, dtype=float32)"),
        (tir.log(f), "@tir.log(f, dtype=float32)"),
        (tir.sqrt(f), "@tir.sqrt(f, dtype=float32)"),
        (tir.tanh(f), "@tir.tanh(f, dtype=float32)"),
        (tir.sigmoid(f), "@tir.sigmoid(f, dtype=float32)"),
        (tir.power(f, 2), "@tir.pow(f, 2.0f32, dtype=float32)"),
        (tir.floor(f), "@tir.floor(f, dtype=float32)"),
        (tir.ceil(f), "@tir.ceil(f, dtype=float32)"),
        (tir.round(f), "@tir.round(f, dtype=float32)"),
        (tir.trunc(f), "@tir.trunc(f, dtype=float32)"),
        (tir.round(i), "i"),
        (tir.max_value("int8"), "127i8"),
        (tir.min_value("int32"), "-2147483648"),
        (tir.max_value("float32"), "3.4028234663852886e+38f32"),
        (tir.min_value("float16"), "-65504.0f16"),
    ],
)
def test_functions_build_what_they_say(expr: tir.Expr, expected: str) -> None:
    assert str(expr) == expected


def test_extreme_float_values_are_the_types_own() -> None:
    for name in ("float16", "float32", "float64"):
        largest = tir.max_value(name)
        assert isinstance(largest, FloatImm)
        assert largest.value == float(np.finfo(name).max)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: tir.all(), "tir.all needs at least one condition"),
        (lambda: tir.any(), "tir.any needs at least one condition"),
        (lambda: tir.all(i), "tir.all takes conditions (bool), not int32; compare the value with something"),
        (lambda: tir.any(i < 1, 2), "tir.any takes conditions (bool), not int32; compare the value with something"),
        (lambda: tir.likely(i), "tir.likely takes conditions (bool), not int32; compare the value with something"),
        (
            lambda: tir.if_then_else(i, 1, 2),
            "tir.if_then_else takes conditions (bool), not int32; compare the value with something",
        ),
        (
            lambda: tir.select(i, 1, 2),
            "tir.Select takes conditions (bool), not int32; compare the value with something",
        ),
        (lambda: tir.truncdiv(f, 2.0), "tir.truncdiv needs integer operands, not float32"),
        (lambda: tir.floormod(f, 2.0), "tir.floormod needs integer operands, not float32"),
        (lambda: tir.truncdiv(i, 0), "tir.truncdiv by zero"),
        (lambda: tir.floordiv(i, 0), "tir.floordiv by zero"),
        (lambda: tir.abs(i < 1), "tir.abs needs a number, not bool"),
        (lambda: tir.round("x"), "tir.round needs a number, not handle"),
        (lambda: tir.exp(i), "tir.exp needs a float, not int32; convert it with .astype('float32')"),
        (lambda: tir.power(i, 2), "tir.power needs a float, not int32; convert it with .astype('float32')"),
    ],
)
def test_operands_of_the_wrong_kind_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ExprError) as caught:
        build()
    assert str(caught.value) == message


def test_the_package_has_tvms_names() -> None:
    assert tir.const(3) == 3
    assert same(tir.IntImm(1, BOOL), const(1, "bool"))
    assert tir.StringImm("x").value == "x"
    assert isinstance(tir.Select(i < 1, i, j), tir.Select)
    assert ops.all is tir.all
    assert isinstance(tir.const(3), IntImm)


def test_infinity_is_a_number_of_floats() -> None:
    assert [str(ops.infinity(f"float{bits}")) for bits in (16, 32, 64)] == ["inff16", "inff32", "inff64"]
    with pytest.raises(ExprError) as caught:
        ops.infinity("int8")
    assert str(caught.value) == "tir.infinity: expected a type of floats, got int8"


def test_numbers_of_one_bit_are_conditions() -> None:
    x = Var("x", DType("uint1"))
    assert str(tir.all(x, const(1, "uint1"))) == "(x != 0u1)"
    assert str(tir.any(const(0, "uint1"))) == "False"


def test_quotients_of_constants_are_constants() -> None:
    assert str(const(6.5, "float32") / const(2.0, "float32")) == "3.25f32"
    assert str(const(1.0, "float32") / const(0.0, "float32")) == "(1.0f32 / 0.0f32)"

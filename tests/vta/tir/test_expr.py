"""Expressions: what operators build and fold, equality, types of operands, and what is refused."""

import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.compiler.tir_eval import evaluate
from vta import te
from vta.arith.simplify import Analyzer
from vta.tir import expr as tir
from vta.tir.buffer import decl_buffer
from vta.tir.dtype import BOOL, FLOAT32, INT8, DType
from vta.tir.expr import (
    Add,
    Binary,
    Builtin,
    Cast,
    Compare,
    Expr,
    ExprError,
    FloatImm,
    IntImm,
    IterVar,
    Range,
    Select,
    StringImm,
    Var,
    binary,
    cast_to,
    const,
    convert,
    same,
)

x, y = Var("x"), Var("y")
small, unsigned, wide = Var("s", INT8), Var("u", DType("uint8")), Var("w", DType("int64"))
f, g = Var("f", FLOAT32), Var("g", FLOAT32)
flag = Var("flag", BOOL)
A = decl_buffer((8,), "int8", "A")


@pytest.mark.parametrize(("expr", "text"), [(x, "x"), (x + 1, "(x + 1)")])
def test_what_is_no_constant_has_no_number(expr: Expr, text: str) -> None:
    with pytest.raises(ExprError) as error:
        int(expr)
    assert str(error.value) == f"int(): expected an expression that is a constant, got {text}"


def test_a_variable_equals_only_itself() -> None:
    assert x == x  # equality of a variable with itself is the claim
    assert x != Var("x")
    assert len({x, Var("x")}) == 2


def test_expressions_are_equal_by_structure() -> None:
    assert x + 1 == x + 1
    assert x + 1 != x + 2
    assert x + y != y + x
    assert hash(x + 1) == hash(x + 1)
    assert A.load(x) == A.load(x)
    assert x + 1 in [y, x + 1]


def test_an_equality_is_an_expression_where_one_is_wanted() -> None:
    assert str((x == y).asexpr()) == "(x == y)"
    assert str((x != 3).asexpr()) == "(x != 3)"
    assert str(convert(x == 3)) == "(x == 3)"
    assert isinstance(Select(convert(x == y), x, y), Select)


def test_constants_compare_with_numbers() -> None:
    assert const(16) == 16
    assert const(16) != 17
    assert const(-1, "int8") == np.int64(-1)
    assert const(1, "int8") != 300
    assert const(0.5, "float32") == 0.5
    assert x != 16
    assert const(16) != "16"
    assert const(1) != None  # noqa: E711  # the operator is what is tested
    assert int(const(16)) == 16
    assert list(range(10))[const(3)] == 3  # an index
    assert bool(const(1))
    assert not const(0)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (x + 0, "x"),
        (0 + x, "x"),
        (x - 0, "x"),
        (x * 1, "x"),
        (1 * x, "x"),
        (x * 0, "0"),
        (0 * x, "0"),
        (x // 1, "x"),
        (x % 1, "0"),
        (x + 1 - 1, "((x + 1) - 1)"),
        (5 - x, "(5 - x)"),
        (7 // x, "floordiv(7, x)"),
        (7 % x, "floormod(7, x)"),
        (-x, "(0 - x)"),
        (f / 2, "(f / 2.0f32)"),
        (1 / f, "(1.0f32 / f)"),
        (x < y, "(x < y)"),
        (x > 3, "(x > 3)"),
        (x >= 3, "(x >= 3)"),
        (x <= 3, "(x <= 3)"),
        (x << 2, "@tir.shift_left(x, 2, dtype=int32)"),
        (1 << x, "@tir.shift_left(1, x, dtype=int32)"),
        (x >> 2, "@tir.shift_right(x, 2, dtype=int32)"),
        (8 >> x, "@tir.shift_right(8, x, dtype=int32)"),
        (x & 3, "@tir.bitwise_and(x, 3, dtype=int32)"),
        (x | 3, "@tir.bitwise_or(x, 3, dtype=int32)"),
        (x ^ 3, "@tir.bitwise_xor(x, 3, dtype=int32)"),
        (~x, "@tir.bitwise_not(x, dtype=int32)"),
        (~flag, "!flag"),
        (flag & (x < 3), "(flag && (x < 3))"),
        (flag | (x < 3), "(flag || (x < 3))"),
        (flag & True, "flag"),
        (flag & False, "False"),
        (flag | True, "True"),
        (flag | False, "flag"),
        (binary(tir.And, True, flag), "flag"),
        (binary(tir.And, False, flag), "False"),
        (binary(tir.Or, False, flag), "flag"),
        (binary(tir.Or, True, flag), "True"),
        (x.astype("int8"), "cast(int8, x)"),
        (x.astype("int32"), "x"),
        (small + 1, "(s + 1i8)"),
        (small + x, "(cast(int32, s) + x)"),
        (x + wide, "(cast(int64, x) + w)"),
        (unsigned + small, "(u + cast(uint8, s))"),
        (f + x, "(f + cast(float32, x))"),
        (x + f, "(cast(float32, x) + f)"),
        (x + 0.5, "(cast(float32, x) + 0.5f32)"),
        (flag + x, "(cast(int32, flag) + x)"),
        (x + np.int64(3), "(x + 3)"),
        (np.int8(3) + x, "(3 + x)"),
        (x + True, "(x + 1)"),
        (tir.Broadcast(x, 4) + 1, "(broadcast(x, 4) + broadcast(1, 4))"),
        (tir.Broadcast(x, 4) + y, "(broadcast(x, 4) + broadcast(y, 4))"),
    ],
)
def test_operators_match_types_and_fold_neutral_elements(expr: Expr, expected: str) -> None:
    assert str(expr) == expected


KINDS = [
    tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max, tir.EQ, tir.NE, tir.LT,
    tir.LE, tir.GT, tir.GE,
]  # fmt: skip


@given(st.sampled_from(KINDS), st.integers(-128, 127), st.integers(-128, 127))
def test_folded_constants_have_the_machine_value(kind: type[Binary | Compare], a: int, b: int) -> None:
    divides = kind in (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod)
    p, q = const(a, "int8"), const(b or 1 if divides else b, "int8")
    folded = binary(kind, p, q)
    assert isinstance(folded, IntImm)
    assert folded.value == evaluate(kind(p, q), {})  # one of the closed family


def test_types_of_nodes_follow_their_operands() -> None:
    vector = tir.Ramp(x, const(1), 4)
    assert vector.dtype == "int32x4"
    assert tir.LT(vector, vector).dtype == "boolx4"
    assert tir.BufferLoad(A, (vector,)).dtype == "int8x4"
    assert A.load(x).dtype == "int8"
    assert tir.Let(x, const(1), small).dtype == "int8"
    assert Select(x < 1, small, small).dtype == "int8"
    assert StringImm("a").dtype == "handle"
    assert tir.Not(flag).dtype == "bool"


def test_conversion_takes_scalars_strings_and_axes() -> None:
    axis = IterVar(Range(const(0), const(8)), x)
    assert convert(axis) is x
    assert axis.name == "x"
    assert str(axis + 1) == "(x + 1)"
    assert convert(3).dtype == "int32"
    assert convert(2**40).dtype == "int64"
    assert convert(np.uint8(3)).dtype == "int32"
    assert convert(True).dtype == "bool"
    assert convert(np.bool_(False)).dtype == "bool"
    assert convert(0.5).dtype == "float32"
    assert convert(np.float64(0.5)).dtype == "float32"
    assert convert(3, "int8").dtype == "int8"
    assert same(convert("text"), StringImm("text"))
    assert len({axis, IterVar(None, x)}) == 2


def test_constants_of_each_type() -> None:
    assert isinstance(const(2, "float32"), FloatImm)
    assert same(const(3.0), FloatImm(3.0))
    assert same(const(3.0, "int32"), IntImm(3))
    assert str(const(3, "int32x4")) == "broadcast(3, 4)"


def test_nodes_take_plain_type_names_in_tvms_order() -> None:
    assert same(Cast("int64", x) + 1, Cast(DType("int64"), x) + 1)
    assert same(Cast("int8", 300 // 100), Cast(INT8, const(3)))
    assert same(IntImm("int8", 5), const(5, "int8"))
    assert same(FloatImm("float64", 0.5), const(0.5, "float64"))
    assert (Var("n", "int64") + 1).dtype.bits == 64


def test_casts_of_constants_fold() -> None:
    assert same(cast_to(const(300), INT8), const(44, "int8"))
    assert same(cast_to(const(3), FLOAT32), FloatImm(3.0))
    assert str(cast_to(x, DType("int8x4"))) == "broadcast(cast(int8, x), 4)"
    assert int(cast_to(FloatImm(1.5), INT8)) == 1  # type: ignore[call-overload]
    assert isinstance(cast_to(FloatImm(200.5), INT8), Cast)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: IntImm(128, INT8), "constant 128 does not fit int8, which holds -128 to 127"),
        (lambda: x + 2**40, f"constant {2**40} does not fit int32, which holds -2147483648 to 2147483647"),
        (lambda: const(1.5, "int32"), "constant 1.5 is not an integer, but int32 was asked for"),
        (lambda: x / 2, "/ between integers is ambiguous; use // (floor) or tir.truncdiv"),
        (lambda: f >> 1, "tir.shift_right needs integer operands, not float32"),
        (lambda: ~f, "tir.bitwise_not needs an integer, not float32"),
        (lambda: x << 32, "tir.shift_left: expected a count from 0 to 31, got 32"),
        (lambda: x >> -1, "tir.shift_right: expected a count from 0 to 31, got -1"),
        (lambda: f & g, "tir.bitwise_and needs integer operands, not float32"),
        (lambda: const(7) // const(0), "FloorDiv of 7 by zero"),
        (lambda: const(7) % 0, "FloorMod of 7 by zero"),
        (lambda: StringImm("a") + x, "operands of types handle and int32 do not go together"),
        (lambda: convert([1]), "[1] (list) is not an expression"),
        (lambda: x + None, "None (NoneType) is not an expression"),
        (
            lambda: Cast(x, "int8"),
            "Cast takes the type first, then the value: Cast('int32', x), not "
            "Var(name='x', dtype='int32', pointer=None)",
        ),
        (lambda: IntImm("int8", "1"), "IntImm takes a number and a type, not 'int8' and '1'"),
        (lambda: list(x), "Var is one scalar; it cannot be iterated"),
        (
            lambda: bool(x < 3),
            "LT has no truth value while a program is described; use te.if_then_else, "
            "tir.all, tir.any or tir.Select instead of if, and, or",
        ),
    ],
)
def test_what_makes_no_expression_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ExprError) as caught:
        build()
    assert str(caught.value) == message


def test_an_object_without_a_value_says_so() -> None:
    with pytest.raises(NotImplementedError):
        tir.Operators().asexpr()


def test_numpy_integers_are_accepted_like_plain_ones() -> None:
    """BR-095 at this layer: sizes from numpy or ONNX mix with int32 indices without becoming int64."""
    for size in (np.int64(4), np.int32(4), np.uint8(4), 4):
        assert same(x * size + size, x * 4 + 4)
        assert (x * size).dtype == "int32"
        assert same(const(size), const(4))


def test_int8_differences_wrap_and_wide_ones_do_not() -> None:
    """BR-142 at this layer: an int8 node minus a plain int stays int8, one that was widened does not wrap."""
    assert same(const(127, "int8") - const(-128, "int8"), const(-1, "int8"))
    assert same(const(127, "int8").astype("int32") - (-128), const(255))
    with pytest.raises(ExprError, match="constant 171 does not fit int8, which holds -128 to 127"):
        const(171, "int8")


def test_similar_nodes_of_different_kinds_differ() -> None:
    assert not same(Add(x, y), tir.Sub(x, y))
    assert not same(const(1), const(1, "int8"))
    assert not same(x, "x")
    assert not same((x, y), (x,))
    assert not same("x", x)
    assert same((x, 1, "a"), (x, 1, "a"))


def test_what_gives_a_value_alone_is_no_work_of_the_accelerator() -> None:
    for op in Builtin:
        assert not (op.is_pure and op.is_ordered), op
        assert op.is_pure or not op.is_lanewise, op
    free = [op for op in Builtin if not op.is_pure and not op.is_ordered]
    of_gpus = [Builtin.FILL_FRAGMENT, Builtin.LOAD_MATRIX_SYNC, Builtin.MMA_SYNC, Builtin.STORE_MATRIX_SYNC]
    of_structs = [Builtin.STRUCT_GET, Builtin.STRUCT_SET]
    assert free == [Builtin.CALL_EXTERN, Builtin.CALL_INTRIN, Builtin.CALL_PACKED, Builtin.RET, *of_structs, *of_gpus]
    assert not Builtin.IF_THEN_ELSE.is_lanewise, "a vector's lanes would take different ways"


def test_an_intrinsic_is_its_printed_name_and_survives_pickling() -> None:
    for op in Builtin:
        assert op == op.value
        assert str(op) == f"{op}" == op.value
        assert Builtin(op.value) is op
        assert pickle.loads(pickle.dumps(op)) is op


def test_zeros_of_two_signs_are_two_numbers() -> None:
    plus, minus, nan = (FloatImm(value) for value in (0.0, -0.0, float("nan")))
    assert same(plus, FloatImm(0.0))
    assert not same(plus, minus)
    assert same(nan, FloatImm(float("nan")))
    chosen = Analyzer().simplify(Select(Var("c", BOOL), plus, minus))
    assert isinstance(chosen, Select), "neither zero is the other"


def test_a_constant_without_a_type_has_that_of_its_value() -> None:
    for value, dtype in ((True, "bool"), (np.True_, "bool"), (3, "int32"), (1 << 40, "int64"), (1.5, "float32")):
        assert const(value).dtype == dtype
    assert te.const(False).dtype == "bool"
    assert const(True, "int8").dtype == "int8"


def test_a_float_beyond_its_type_is_infinity() -> None:
    half = DType("float16")
    for value, expected in ((70_000, np.inf), (-1e6, -np.inf), (65_519.9, 65_519.9), (65_520, np.inf)):
        for constant in (FloatImm(value, half), const(value, "float16"), cast_to(const(float(value)), half)):
            if isinstance(constant, FloatImm):
                assert constant.value == expected
    folded = cast_to(const(70_000), half)
    assert isinstance(folded, FloatImm)
    assert folded.value == np.inf
    largest = float(np.finfo(np.float32).max)
    assert FloatImm(largest).value == largest
    assert FloatImm(1e39).value == np.inf
    assert FloatImm(1e39, DType("float64")).value == 1e39


def test_nodes_take_numbers_elements_and_equalities() -> None:
    """What the operators take, the nodes' own constructors take as well."""
    a = decl_buffer((4,), "int8", "a")
    b, i = Var("b", BOOL), Var("i")
    equal = a.load(i) == 3
    assert same(tir.Not(equal), tir.Not(equal.asexpr()))
    assert same(tir.And(equal, b), tir.And(equal.asexpr(), b))
    assert same(tir.Or(b, True), tir.Or(b, IntImm(1, BOOL)))
    assert same(tir.Add(a.load(i), 1), a.load(i) + 1)
    assert same(tir.LT(2, i), tir.LT(IntImm(2), i))
    assert same(tir.Max(i, a.load(i) == 1), tir.Max(i, cast_to((a.load(i) == 1).asexpr(), i.dtype)))
    assert same(Select(equal, 1, i), Select(equal.asexpr(), IntImm(1), i))
    assert same(tir.Let(i, 3, equal), tir.Let(i, IntImm(3), equal.asexpr()))
    assert same(tir.BufferLoad(a, [0]), a.load(0))
    assert same(tir.Ramp(0, 2, 4), tir.Ramp(IntImm(0), IntImm(2), 4))
    assert same(tir.Broadcast(True, 4), tir.Broadcast(IntImm(1, BOOL), 4))
    call = tir.Call("int32", Builtin.CALL_EXTERN, ["f", equal, 2])
    assert same(call, tir.Call(DType("int32"), Builtin.CALL_EXTERN, (StringImm("f"), equal.asexpr(), IntImm(2))))
    assert [node.dtype for node in (tir.Not(equal), tir.And(equal, b), call)] == ["bool", "bool", "int32"]


def test_integers_known_beforehand_are_combined_bit_by_bit() -> None:
    a, b = const(112), const(74)
    for folded, value in (
        (a & b, 112 & 74),
        (a | b, 112 | 74),
        (a ^ b, 112 ^ 74),
        (a << const(3), 896),
        (a >> const(2), 28),
    ):
        assert isinstance(folded, IntImm)
        assert folded.value == value
    assert (const(-1, "int8") << const(7, "int8")) == const(-128, "int8")


def test_an_equality_as_an_expression_and_identity_have_names_of_their_own() -> None:
    assert same(x.equal(3), tir.EQ(x, const(3)))
    assert x.same_as(x)
    assert not (x + 1).same_as(x + 1)


def test_constants_of_floats_are_computed_in_their_type() -> None:
    third = const(np.float32(1) / np.float32(3), "float32")
    for result, wanted in (
        (third + 1.0, np.float32(1) / np.float32(3) + np.float32(1)),
        (const(0.1, "float16") * const(3, "float16"), np.float16(0.1) * np.float16(3)),
        (const(0.1, "float64") - 0.3, 0.1 - 0.3),
    ):
        assert isinstance(result, FloatImm)
        assert result.value == float(wanted)
    assert not isinstance(FloatImm(1.0) / FloatImm(0.0), FloatImm)


def test_constants_are_equal_by_their_numbers() -> None:
    assert IntImm(1) == const(True)
    assert IntImm(2) != const(True)
    assert IntImm(3) == IntImm(3, DType("int64"))


def test_floats_that_fit_are_converted_at_once() -> None:
    assert int(const(-2.75, "float32").astype("int8")) == -2
    for value in (300.0, -129.0, float("inf"), float("nan")):
        assert isinstance(FloatImm(value).astype("int8"), Cast)


def test_numbers_may_stand_on_the_left_of_bits() -> None:
    x = Var("x")
    assert [str(e) for e in (10 & x, 10 | x, 10 ^ x)] == [
        f"@tir.bitwise_{name}(10, x, dtype=int32)" for name in ("and", "or", "xor")
    ]


def test_strings_are_equal_to_texts_and_are_no_numbers() -> None:
    text = StringImm("a")
    assert text == "a"
    assert text != "b"
    with pytest.raises(ExprError, match=r"^a string cannot be converted to int32$"):
        text.astype("int32")

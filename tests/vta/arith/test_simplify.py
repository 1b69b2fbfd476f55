"""What simplified expressions look like. The recorded ones come from listings of upstream's compiler."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.tir_eval import evaluate
from vta.arith.const_interval import ConstInterval
from vta.arith.simplify import Analyzer, simplify
from vta.tir import expr as tir
from vta.tir import ops
from vta.tir.buffer import decl_buffer
from vta.tir.dtype import BOOL, FLOAT32, INT8, INT32, INT64, DType
from vta.tir.expr import Builtin, Call, Cast, Expr, IntImm, Let, Range, Var, const, same

x, y, z, n = (Var(name) for name in "xyzn")
i, j = Var("i"), Var("j")
data = decl_buffer((64,), "int32", "data")
small = decl_buffer((64,), "int8", "small")
BOUNDS = {i: ConstInterval(0, 7), j: ConstInterval(0, 15)}


def text(expr: Expr, env: dict[Var, ConstInterval | Range] | None = None) -> str:
    return str(simplify(expr, BOUNDS if env is None else env))


i1_outer, ic_outer, i2_outer, yo = (Var(name) for name in ("i1.outer", "ic.outer", "i2.outer", "yo"))
tiles = {
    i1_outer: ConstInterval(0, 7),
    ic_outer: ConstInterval(0, 15),
    i2_outer: ConstInterval(0, 1),
    yo: ConstInterval(0, 1),
}


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ((i1_outer * 262144 + ic_outer * 4096) // 256, "((i1.outer*1024) + (ic.outer*16))"),
        (ops.max(0, 1 - yo * 7), "max((1 - (yo*7)), 0)"),
        (
            (
                ((ic_outer * 3136 + i2_outer * 1568) + ops.max(1 - i2_outer * 7, 0) * 224) - 224
            )
            // 16,
            "((((ic.outer*196) + (i2.outer*98)) + (max((1 - (i2.outer*7)), 0)*14)) - 14)",
        ),
        (
            (9 - ops.max(1 - i2_outer * 7, 0)) - ops.max(i2_outer * 7 - 6, 0),
            "((9 - max((1 - (i2.outer*7)), 0)) - max(((i2.outer*7) - 6), 0))",
        ),
        ((i2_outer * 7 + 6) - (i2_outer * 7) + 1, "7"),
        ((i + yo * 2) - yo * 2, "i"),
        ((yo * 2 + i) * 16 + 16 - 16, "((yo*32) + (i*16))"),
        (i2_outer * 7 - 6, "((i2.outer*7) - 6)"),
        (
            ops.all(i + i2_outer * 7 >= 1, i + i2_outer * 7 < 15),
            "((1 <= (i + (i2.outer*7))) && ((i + (i2.outer*7)) < 15))",
        ),
        (((((ic_outer * 3136 + i2_outer * 1568) + i * 224) + j * 16) + x) - 240,
         "((((((ic.outer*3136) + (i2.outer*1568)) + (i*224)) + (j*16)) + x) - 240)"),
    ],
)  # fmt: skip
def test_recorded_indices_read_as_upstream_prints_them(expr: Expr, expected: str) -> None:
    assert text(expr, {**tiles, i: ConstInterval(0, 8)}) == expected


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (x + y + x, "((x*2) + y)"),
        (y + x, "(y + x)"),
        (5 + x - 7, "(x - 2)"),
        (7 - x - y, "((7 - x) - y)"),
        (0 - x, "(x*-1)"),
        (x * 2 - x * 2, "0"),
        ((x + 1) * 3, "((x*3) + 3)"),
        (x * y - y * x, "0"),
        ((x + 1) * (y + 2), "((((x*y) + (x*2)) + y) + 2)"),
        ((x + y) * (x - y), "((x*x) - (y*y))"),
    ],
)
def test_sums_collect_terms_in_the_order_of_first_appearance(expr: Expr, expected: str) -> None:
    assert text(expr) == expected


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ((x * 8 + i) // 8, "x"),
        ((x * 8 + i) % 8, "i"),
        ((x * 8 + y) // 8, "(x + floordiv(y, 8))"),
        ((x * 8 + y) % 8, "floormod(y, 8)"),
        (x // 4 // 2, "floordiv(x, 8)"),
        ((x // 4 + 1) // 2, "floordiv((x + 4), 8)"),
        (x // 4 * 4 + x % 4, "x"),
        (x - x // 4 * 4, "floormod(x, 4)"),
        (x // 4 % 2 * 4 + x % 4, "floormod(x, 8)"),
        (x // 4 % 8, "floordiv(floormod(x, 32), 4)"),
        ((x * 64 + i * 8) // 16, "((x*4) + floordiv(i, 2))"),
        ((x * 64 + i * 8) % 16, "(floormod(i, 2)*8)"),
        ((x * 2) % 4, "(floormod(x, 2)*2)"),
        ((x * 16 + i) // 32, "floordiv(x, 2)"),
        ((x * 16 + i) % 32, "((floormod(x, 2)*16) + i)"),
        (x % 8 % 4, "floormod(x, 4)"),
        ((x + 9) // 8, "(floordiv((x + 1), 8) + 1)"),
        (i // 8, "0"),
        ((i + 8) // 8, "1"),
        ((i - 8) // 8, "-1"),
        (x // -4, "floordiv((x*-1), 4)"),
        (x % -4, "(floormod((x*-1), 4)*-1)"),
        (x % 1, "0"),
        (ops.truncdiv(i + 8, 3), "(floordiv((i + 2), 3) + 2)"),
        (ops.truncmod(i, 8), "i"),
        (ops.truncmod(i * 4, 32), "(i*4)"),
        (ops.truncdiv(x, 4), "(x / 4)"),
        (ops.truncdiv(x * 8 + 4, 4), "((x*2) + 1)"),
        (ops.truncmod(x * 8 + 4, 4), "0"),
        (x // n, "floordiv(x, n)"),
        ((x * n) // n, "x"),
        ((x * n) % n, "0"),
        ((x * n + n) // n, "(x + 1)"),
        ((x * y * n) // n, "(x*y)"),
        ((x * n) // (n * 2), "floordiv((x*n), (n*2))"),
        ((x + n) % (n + 1), "floormod((x + n), (n + 1))"),
        (tir.FloorDiv(x, const(0)), "floordiv(x, 0)"),
        (tir.FloorMod(x, const(0)), "floormod(x, 0)"),
        (x % -1, "0"),
        ((x % 12 + y) % 4, "floormod((y + x), 4)"),
        (x // 4 % 16 // 2, "floordiv(floormod(x, 64), 8)"),
    ],
)
def test_divisions_split_and_merge(expr: Expr, expected: str) -> None:
    assert text(expr) == expected


def test_an_index_over_a_symbolic_extent_splits_if_the_rest_lies_inside() -> None:
    row, column, m = Var("row"), Var("column"), Var("m")
    analyzer = Analyzer()
    analyzer.bind(column, Range(const(0), m))
    assert same(analyzer.simplify((row * m + column) // m), row)
    assert same(analyzer.simplify((row * m + column) % m), column)
    assert str(analyzer.simplify((row * m + column + 1) // m)) == "floordiv((((row*m) + column) + 1), m)"


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (ops.min(i, 7), "i"),
        (ops.min(i, 6), "min(i, 6)"),
        (ops.max(3, x), "max(x, 3)"),
        (ops.min(ops.min(x, 5), 3), "min(x, 3)"),
        (ops.max(ops.min(x, 5), 7), "7"),
        (ops.max(x, x + 1), "(x + 1)"),
        (ops.min(x, y) - ops.min(x, y), "0"),
        (ops.min(ops.max(x, 0), x + 3), "min(max(x, 0), (x + 3))"),
    ],
)
def test_extremes_drop_operands_that_never_win(expr: Expr, expected: str) -> None:
    assert text(expr) == expected


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (x < x + 1, "True"),
        (i < 8, "True"),
        (i >= 8, "False"),
        (x * 2 < 7, "(x < 4)"),
        (x * 2 <= 7, "(x < 4)"),
        (x * -3 < 7, "(-2 <= x)"),
        (x > 3, "(4 <= x)"),
        (x < 3, "(x < 3)"),
        (x + 2 < y, "((x + 3) <= y)"),
        (x < y, "(x < y)"),
        (x <= y + 4, "(x <= (y + 4))"),
        ((x * 2).asexpr() == 7, "False"),
        ((x * 2).asexpr() != 7, "True"),
        ((x * 2).asexpr() == 8, "(x == 4)"),
        (((x - 4) == (y - 2)).asexpr(), "(x == (y + 2))"),
        (((x + 3) == (5 - y)).asexpr(), "((x + y) == 2)"),
        ((3 - x).asexpr() == 5, "(x == -2)"),
        (((0 - x).asexpr() == y).asexpr(), "((x + y) == 0)"),
        (x - 2 <= 2**31 - 2, "((x - 2) <= 2147483646)"),
        (x - 1 <= 2**31 - 2, "((x - 1) <= 2147483646)"),
        (x <= 2**31 - 2, "(x < 2147483647)"),
        (x + 2 <= 1 - 2**31, "((x + 2) <= -2147483647)"),
        ((x + 2 == 1 - 2**31).asexpr(), "((x + 2) == -2147483647)"),
        (y - x <= -(2**31), "((y - x) <= -2147483648)"),
    ],
)
def test_comparisons_have_one_form(expr: Expr, expected: str) -> None:
    assert text(expr) == expected


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (ops.all(x < 5, x < 9), "(x < 5)"),
        (ops.all(x < 9, x < 5), "(x < 5)"),
        (ops.all(x < 5, x >= 5), "False"),
        (ops.any(x < 5, x >= 5), "True"),
        (ops.any(x < 5, x < 9), "(x < 9)"),
        (ops.any(x < 5, i < 8), "True"),
        (ops.all(i < 8, x < 5), "(x < 5)"),
        (tir.Not(ops.all(x < 5, y < 3)), "((5 <= x) || (3 <= y))"),
        (tir.Not(ops.any(x < 5, y < 3)), "((5 <= x) && (3 <= y))"),
        (tir.Not(tir.Not(Var("flag", BOOL))), "flag"),
        (ops.all(Var("p", BOOL), x.asexpr() != 3, x.asexpr() != 3), "(p && (x != 3))"),
        (tir.Not(x < 5), "(5 <= x)"),
        (ops.likely(x * 2 < 7), "@tir.likely((x < 4), dtype=bool)"),
        (ops.likely(i < 8), "True"),
    ],
)
def test_connectives_drop_what_holds_anyway(expr: Expr, expected: str) -> None:
    assert text(expr) == expected


def test_an_opaque_condition_decides_itself_and_its_opposite() -> None:
    flag = Var("flag", BOOL)
    assert text(ops.any(flag, tir.Not(flag))) == "True"
    assert text(ops.all(x.asexpr() != y, (x.asexpr() == y).asexpr())) == "False"


def test_choices_use_their_condition() -> None:
    assert text(ops.if_then_else(x < 5, ops.min(x, 4), ops.max(x, 5))) == "x"
    assert text(ops.select(i < 8, x, y)) == "x"
    assert text(ops.select(x > y, z, z)) == "z"
    assert text(ops.if_then_else(x * 2 < 7, x + 0, y)) == "@tir.if_then_else((x < 4), x, y, dtype=int32)"


def test_a_single_iteration_is_its_minimum() -> None:
    assert text(x * 4 + y, {x: Range(const(3), const(1)), y: Range(z, const(1))}) == "(z + 12)"
    assert text(x * 4 + y, {x: ConstInterval(3, 3)}) == "(y + 12)"


def test_a_variable_bound_to_an_expression_is_replaced() -> None:
    analyzer = Analyzer({x: y * 8 + 3})
    assert str(analyzer.simplify(x // 8)) == "y"
    analyzer.bind(x, 5)
    assert str(analyzer.simplify(x // 8 + x)) == "5"
    analyzer.bind(x, ConstInterval(0, 7))
    assert str(analyzer.simplify(x // 8 + x)) == "x"


def test_a_normal_form_comes_back_as_the_same_object() -> None:
    for expr in (x * 8 + y, ops.max(1 - x * 7, 0), ops.all(x < 5, y < 3), data.load(x), data.load(x + y) + 1):
        assert simplify(expr) is expr


def test_indices_of_loads_are_simplified_and_loads_are_atoms() -> None:
    element = data.load(x - x + y)
    assert str(simplify(element + data.load(y))) == "(data[y]*2)"
    assert str(simplify(element - data.load(y))) == "0"


class TestValuesWrap:
    """Elements of buffers are not indices: only what holds for wrapping arithmetic is used."""

    def test_a_comparison_of_values_is_not_rearranged(self) -> None:
        assert text(data.load(x) + 1 > data.load(x)) == "(data[x] < (data[x] + 1))"
        assert text(data.load(x) + 1 < 5) == "((data[x] + 1) < 5)"

    def test_a_division_of_values_that_may_wrap_is_kept(self) -> None:
        assert text((data.load(x) * 8 + 4) // 8) == "floordiv(((data[x]*8) + 4), 8)"

    def test_small_elements_cannot_wrap_after_widening(self) -> None:
        wide = small.load(x).astype("int32")
        assert text((wide * 8 + 4) // 8) == "cast(int32, small[x])"
        assert text(ops.max(wide, -128)) == "cast(int32, small[x])"
        assert text(wide < 128) == "True"

    def test_clipping_an_int32_element_is_kept(self) -> None:
        assert text(ops.max(ops.min(data.load(x), 127), -128)) == "max(min(data[x], 127), -128)"

    def test_unsigned_differences_wrap(self) -> None:
        a, b = Var("a", DType("uint8")), Var("b", DType("uint8"))
        assert text(tir.LT(a - b, a)) == "((a - b) < a)"

    def test_a_shift_stays_a_shift(self) -> None:
        shifted = data.load(x) >> 8
        assert simplify(shifted) is shifted


def test_casts_that_lose_nothing_on_the_way_merge() -> None:
    element = small.load(x)
    assert text(element.astype("int32").astype("int8")) == "small[x]"
    assert text(data.load(x).astype("int8").astype("int32")) == "cast(int32, cast(int8, data[x]))"
    assert text(Cast(INT64, x) - Cast(INT64, x)) == "0i64"
    assert text(Cast(INT8, IntImm(300, INT32))) == "44i8"


def test_a_let_of_a_simple_value_is_replaced() -> None:
    t = Var("t")
    assert text(Let(t, x + 0, t * 2 + x)) == "(x*3)"
    assert str(simplify(Let(t, x + y, t * 2 - t))) == "(let t = (x + y) in t)"


def test_floats_and_vectors_are_only_simplified_inside() -> None:
    f = Var("f", FLOAT32)
    assert text(f + f * 2.0) == "(f + (f*2.0f32))"
    vector = tir.Ramp(x + 1 - 1, const(1), 4)
    assert text(vector) == "ramp(x, 1, 4)"
    assert text(tir.Add(vector, tir.Broadcast(y * 0 + 3, 4))) == "(ramp(x, 1, 4) + broadcast(3, 4))"


def test_arguments_of_intrinsics_are_simplified() -> None:
    call = Call(INT32, Builtin.COPROC_DEP_PUSH, (x - x + 2, const(1)))
    assert text(call) == "@tir.vta.coproc_dep_push(2, 1, dtype=int32)"


def test_a_reduction_knows_its_axes() -> None:
    k = tir.IterVar(Range(const(0), const(8)), Var("k"), tir.IterKind.COMM_REDUCE)
    a, b = Var("lhs"), Var("rhs")
    combiner = tir.CommReducer((a,), (b,), (a + b,), (const(0),))
    reduction = tir.Reduce(combiner, (data.load(k // 8 + k),), (k,), IntImm(1, BOOL))
    assert "source=[data[k]]" in text(reduction)
    assert text(k.var // 8) == "floordiv(k, 8)"


def test_numpy_sizes_are_accepted_like_plain_ints() -> None:
    """BR-095 at this layer: constants of numpy types take the type of the index that they meet."""
    import numpy as np

    assert text((x * np.int64(8) + i) // np.int32(8)) == "x"
    assert text(x + np.int64(3) - np.int8(3)) == "x"


def test_constant_divisions_in_indices_fold() -> None:
    """BR-080 at this layer: what a tensor intrinsic's index becomes at the origin equals the plain constant."""
    zero, three = const(0), const(3)
    assert text(tir.FloorDiv(zero, three) + tir.FloorMod(zero, three)) == "0"
    assert text(tir.FloorDiv(y, three) + tir.FloorMod(x, three) - (y // 3 + x % 3)) == "0"


class TestProofs:
    def test_bounds_prove_comparisons(self) -> None:
        analyzer = Analyzer(BOUNDS)
        assert analyzer.can_prove(i * 2 + j < 30)
        assert not analyzer.can_prove(i * 2 + j < 29)
        assert analyzer.can_prove(ops.all(i < 8, j < 16))
        assert analyzer.can_prove(ops.any(i < 8, x < 3))

    def test_symbolic_ranges_prove_comparisons(self) -> None:
        analyzer = Analyzer()
        analyzer.bind(n, ConstInterval(1, None))
        analyzer.bind(x, Range(const(0), n))
        analyzer.bind(y, Range(x, const(4)))
        assert analyzer.can_prove(x < n)
        assert analyzer.can_prove(y < n + 3)
        assert not analyzer.can_prove(y < n + 2)
        assert analyzer.can_prove(x * 8 + 7 < n * 8)

    def test_alternatives_are_tried_one_by_one(self) -> None:
        analyzer = Analyzer()
        analyzer.bind(x, Range(const(0), n))
        assert analyzer.can_prove(ops.any(x > y, x < n))
        assert analyzer.can_prove(ops.all(x < n, x < n + 1))
        assert not analyzer.can_prove(ops.any(x > y, x > n))

    def test_minima_and_maxima_are_tried_by_cases(self) -> None:
        analyzer = Analyzer()
        assert analyzer.can_prove(ops.min(x, y) <= x)
        assert analyzer.can_prove(ops.max(x, y) >= y)
        assert analyzer.can_prove(ops.min(x, y) <= ops.max(x, z))
        assert not analyzer.can_prove(ops.max(x, y) <= x)

    def test_equality_is_proved_by_normal_form_or_bounds(self) -> None:
        analyzer = Analyzer(BOUNDS)
        assert analyzer.can_prove_equal((x + 1) * 2, x * 2 + 2)
        assert analyzer.can_prove_equal(i // 8, 0)
        assert not analyzer.can_prove_equal(x, y)
        assert not analyzer.can_prove_equal(x, const(0, "int64"))
        assert not analyzer.can_prove_equal(Var("f", FLOAT32), Var("g", FLOAT32))

    def test_a_constraint_holds_inside_its_block_alone(self) -> None:
        analyzer = Analyzer()
        with analyzer.constraint(ops.all(x >= 0, x < 8, x + y < 20, (z % 4).asexpr() == 1)):
            assert str(analyzer.simplify(x // 8)) == "0"
            assert analyzer.can_prove(x + y < 21)
            assert analyzer.can_prove(x + y + 5 < 25)
            assert str(analyzer.simplify(z % 4)) == "1"
        assert str(analyzer.simplify(x // 8)) == "floordiv(x, 8)"
        assert not analyzer.can_prove(x + y < 21)

    def test_const_bounds_use_what_was_bound(self) -> None:
        analyzer = Analyzer(BOUNDS)
        assert analyzer.const_bounds(i * 2 - j) == ConstInterval(-15, 14)
        assert analyzer.const_bounds(x - x + i) == ConstInterval(0, 7)
        assert analyzer.const_bounds(x) == ConstInterval(None, None)
        assert analyzer.const_bounds(small.load(x)) == ConstInterval(-128, 127)


def test_pieces_whose_widths_do_not_divide_each_other_stay_apart() -> None:
    pieces = (x % 5 // 3) * 3 + (x // 5) * 5
    assert not same(simplify(pieces), simplify((x // 3) * 3))
    assert [str(simplify(pieces, {x: const(value)})) for value in range(8)] == ["0", "0", "0", "3", "3", "5", "5", "5"]


@pytest.mark.parametrize("upper", [None, 4, 10, 12])
@pytest.mark.parametrize("width", [2, 3, 4])
def test_digits_of_a_remainder_are_those_of_the_index_only_where_widths_divide(upper: int | None, width: int) -> None:
    part = x if upper is None else x % upper
    places = np.arange(-30, 60)
    for low in (part % width, x % width, part, x):
        for factor in (1, -1):
            total = part // width * width + low * factor
            found = evaluate(simplify(total), {x: places})
            assert np.array_equal(np.broadcast_to(found, places.shape), evaluate(total, {x: places})), total
    assert str(simplify(part // width * width + part % width - part)) == "0"


LANES = 4
VECTOR, BITS = tir.Ramp(x, const(3), LANES), tir.Ramp(x, const(3), LANES) < tir.Broadcast(y, LANES)
OF_LANES = {
    "likely": Call(BITS.dtype, Builtin.LIKELY, (BITS,)),
    "choice": tir.Select(Call(BITS.dtype, Builtin.LIKELY, (BITS,)), VECTOR, tir.Broadcast(y, LANES)),
    "connective": tir.And(BITS, tir.Not(BITS)),
    "shift": Call(VECTOR.dtype, Builtin.SHIFT_RIGHT, (VECTOR, tir.Broadcast(const(2), LANES))),
    "mask": Call(VECTOR.dtype, Builtin.BITWISE_AND, (VECTOR, tir.Broadcast(const(7), LANES))),
    "remainder": tir.FloorMod(VECTOR, tir.Broadcast(const(8), LANES)),
    "cast": Cast(INT8.with_lanes(LANES), VECTOR),
    "extreme": tir.Max(VECTOR, tir.Broadcast(const(8), LANES)),
    "load": tir.BufferLoad(data, (VECTOR,)),
}


@pytest.mark.parametrize("kind", OF_LANES)
def test_vectors_stay_vectors(kind: str) -> None:
    assert simplify(OF_LANES[kind]).dtype == OF_LANES[kind].dtype


def test_a_question_about_many_minima_ends() -> None:
    """n minima in a sum have 2^n cases; beyond a number of them nothing is proved, which says nothing."""
    pairs = [(Var(f"x{i}"), Var(f"y{i}")) for i in range(40)]
    total = sum((ops.max(ops.min(a, b), a + b) for a, b in pairs), const(0))
    assert not Analyzer().can_prove(total >= 0)
    positive = Analyzer({var: Range(const(0), const(9)) for pair in pairs[:4] for var in pair})
    few = sum((ops.min(a, b) for a, b in pairs[:4]), const(0))
    assert positive.can_prove(few >= 0)


def test_conditions_inside_of_conditions_take_work_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level took 25 times the work of the one inside."""
    x, y = Var("x"), Var("y")
    shapes: tuple[Callable[[Expr, int], Expr], ...] = (
        lambda inner, d: ops.select(ops.all(inner > d, x < y + d), x + d, y),
        lambda inner, d: ops.select(ops.any(inner > d, ops.all(x > y, x < y + d)), x + d, y),
    )
    visits: list[Expr] = []
    made = Analyzer._simplified

    def counted(self: Analyzer, expr: Expr) -> Expr:
        visits.append(expr)
        return made(self, expr)

    monkeypatch.setattr(Analyzer, "_simplified", counted)
    grid = np.meshgrid(np.arange(-4, 9), np.arange(-4, 9))
    env = {x: grid[0], y: grid[1]}
    for shape in shapes:
        work = []
        nested: Expr = x
        for d in range(1, 9):
            nested = shape(nested, d)
            visits.clear()
            assert (evaluate(simplify(nested), env) == evaluate(nested, env)).all()
            work.append(len(visits))
        assert work[7] < 3 * work[5]

"""The operations of a stage: exact for every expression, and no more than it takes."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.compiler.alu_expressions import as_expression
from tests.support.compiler.tir_build import loop, store
from tests.support.hw.alu_stage import (
    ADD,
    MAX,
    MIN,
    MUL,
    SHR,
    accumulator,
    check,
    elementwise,
    kernels,
    lower,
    opcodes,
    refusal,
    stage,
)
from tests.support.isa.alu_model import Kernel, kernels_of, run_kernels
from vta.passes.alu.kinds import AluKind
from vta.tir import ops
from vta.tir.calls import call_intrin
from vta.tir.expr import Expr, Var, convert
from vta.tir.stmt import Allocate
from vta.tir.traverse import free_vars, substitute

_LARGE = st.integers(-(1 << 31), (1 << 31) - 1)
_SMALL = st.integers(-9, 9)
SHIFTS = (AluKind.SHL, AluKind.SHR)


def test_a_result_beside_its_operand_is_copied_first() -> None:
    found = kernels(elementwise(lambda x: x + 1, 8, 20, 0))
    assert found == [
        Kernel(((8, 1, 1, 0),), ((1, 0, 20, 20, 0, MUL, 1, 0),)),
        Kernel(((8, 1, 1, 0),), ((1, 0, 20, 0, 0, ADD, 0, 0),)),
        Kernel(((8, 1, 1, 0),), ((1, 0, 20, 20, 0, ADD, 1, 1),)),
    ]


def test_several_operations_of_a_stage_are_several_kernels() -> None:
    assert opcodes(elementwise(lambda x: ops.max(x + 3, 0) >> 2, 8, 0, 0)) == [(ADD, 1, 3), (MAX, 1, 0), (SHR, 1, 2)]


def test_an_operand_that_is_read_twice_survives_the_first_operation() -> None:
    assert len(opcodes(elementwise(lambda b: ops.max(b, ops.min(b + 9, 4)), 8, 0, 0))) == 5


def test_br_061_subtraction_of_two_operands_is_exact() -> None:
    assert opcodes(elementwise(lambda x, y: x - y, 8, 0, 0, 8)) == [(MUL, 1, -1), (ADD, 0, 0), (MUL, 1, -1)]
    assert opcodes(elementwise(lambda x, y: y - x, 8, 0, 0, 8)) == [(MUL, 1, -1), (ADD, 0, 0)]
    kernels(elementwise(lambda x, y: x - y, 8, 20, 0, 8))
    kernels(elementwise(lambda x: x - x, 8, 0, 0))


def test_br_061_subtraction_of_an_immediate_adds_its_negative() -> None:
    assert opcodes(elementwise(lambda x: x - 3, 8, 0, 0)) == [(ADD, 1, -3)]


def test_br_061_subtraction_from_an_immediate_negates_and_adds() -> None:
    assert opcodes(elementwise(lambda x: 3 - x, 8, 0, 0)) == [(MUL, 1, -1), (ADD, 1, 3)]


def test_br_010_a_large_summand_is_split() -> None:
    assert opcodes(elementwise(lambda x: x + 40000, 8, 0, 0)) == [(ADD, 1, 32767), (ADD, 1, 7233)]
    assert opcodes(elementwise(lambda x: x - 40000, 8, 0, 0)) == [(ADD, 1, -32768), (ADD, 1, -7232)]


@pytest.mark.parametrize("value", [40000, 70000, -40000, 32768, -32769, (1 << 31) - 2, 1 - (1 << 31), 1 << 16, 98304])
def test_br_010_min_and_max_of_a_large_number_compare_with_an_element_that_holds_it(value: int) -> None:
    for fn in (lambda x: ops.min(x, value), lambda x: ops.max(x, value), lambda x: x + value, lambda x: x * value):
        kernels(elementwise(fn, 8, 0, 0))
        kernels(elementwise(fn, 8, 20, 0))


def test_br_010_the_element_with_the_constant_lies_behind_the_block() -> None:
    found = kernels(elementwise(lambda x: ops.min(x, 40000), 8, 0, 0))
    assert [kernel.pushes[0] for kernel in found] == [
        (1, 0, 64, 64, 0, MUL, 1, 0),
        (1, 0, 64, 64, 0, ADD, 1, 32767),
        (1, 0, 64, 64, 0, ADD, 1, 7233),
        (1, 0, 0, 64, 0, MIN, 0, 0),
    ]
    assert [kernel.loops for kernel in found] == [(), (), (), ((8, 1, 0, 0),)]


def test_limits_that_change_nothing_cost_nothing() -> None:
    make = elementwise(lambda x: ops.min(ops.max(x + 1, -(1 << 31)), (1 << 31) - 1), 8, 0, 0)
    assert opcodes(make) == [(ADD, 1, 1)]


@pytest.mark.parametrize("fn", [lambda x: x, lambda x: x >> 0, lambda x: x << 0, lambda x: ops.max(x, -(1 << 31))])
def test_a_stage_that_changes_nothing_shifts_by_nothing(fn: Callable[[Expr], Expr]) -> None:
    assert opcodes(elementwise(fn, 8, 0, 0)) == [(SHR, 1, 0)]


@pytest.mark.parametrize("factor", [1 << 15, 1 << 20, 1 << 30, -(1 << 15), -(1 << 16), -(1 << 31), 12345678, -7654321])
def test_large_factors_are_exact(factor: int) -> None:
    kernels(elementwise(lambda x: x * factor, 8, 0, 0))


def test_a_factor_that_is_a_power_of_two_is_a_shift() -> None:
    assert opcodes(elementwise(lambda x: x * 65536, 8, 0, 0)) == [(SHR, 1, -16)]
    assert opcodes(elementwise(lambda x: x * -65536, 8, 0, 0)) == [(SHR, 1, -16), (MUL, 1, -1)]


def test_shift_counts_beyond_the_width_shift_everything_out() -> None:
    lowered = lower(acc := accumulator(8), stage(elementwise(lambda x: shifted("right", x, 40), 8, 0, 0)(acc)))
    assert [k.pushes[0][5:] for k in kernels_of(lowered.body)] == [(SHR, 1, 32)]
    lowered = lower(acc := accumulator(8), stage(elementwise(lambda x: shifted("left", x, 40), 8, 0, 0)(acc)))
    assert [k.pushes[0][5:] for k in kernels_of(lowered.body)] == [(SHR, 1, -32)]


def test_shifts_by_an_operand_are_exact() -> None:
    kernels(elementwise(lambda x, y: x >> ops.max(ops.min(y, 31), 0), 8, 0, 0, 8))
    kernels(elementwise(lambda x, y: x << ops.max(ops.min(y, 31), 0), 8, 0, 0, 8))
    kernels(elementwise(lambda x, y: x << ops.max(ops.min(y, 31), 0), 8, 8, 0, 8))
    kernels(elementwise(lambda y: convert(1000) << ops.max(ops.min(y, 31), 0), 8, 0, 0))


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16", "int4"])
def test_arithmetic_of_a_narrow_type_wraps_as_it_does_on_the_host(dtype: str) -> None:
    kernels(elementwise(lambda x: x.astype(dtype).astype("int32"), 8, 0, 0))
    kernels(elementwise(lambda x: (x.astype(dtype) + x.astype(dtype) * 5).astype("int32"), 8, 20, 0))


def test_a_widening_cast_costs_nothing() -> None:
    assert opcodes(elementwise(lambda x: x.astype("int32") + 1, 8, 0, 0)) == [(ADD, 1, 1)]


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> Callable[[Sequence[Expr]], Expr]:
    """A function from three operands to a random expression of them."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        which = draw(st.integers(0, 2))
        return lambda xs: xs[which]
    form = draw(st.sampled_from(["two operands"] * 7 + ["imm", "rimm", "cast", "shift"]))
    a, b = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    if form == "two operands":
        kind = draw(st.sampled_from(AluKind))
        count = (lambda x: ops.max(ops.min(x, 31), 0)) if kind in SHIFTS else (lambda x: x)
        return lambda xs: as_expression(kind, a(xs), count(b(xs)))
    if form == "shift":
        places, shift = draw(st.integers(0, 31)), draw(st.sampled_from(SHIFTS))
        return lambda xs: as_expression(shift, a(xs), places)
    if form == "cast":
        dtype = draw(st.sampled_from(["int8", "int16", "uint8", "int24"]))
        return lambda xs: a(xs).astype(dtype).astype("int32")
    value = draw(st.one_of(_LARGE, _SMALL))
    kind = draw(st.sampled_from([kind for kind in AluKind if kind not in SHIFTS]))
    if form == "imm":
        return lambda xs: as_expression(kind, a(xs), value)
    return lambda xs: as_expression(kind, value, a(xs))


@settings(max_examples=150, deadline=None)
@given(expressions(), st.sampled_from([0, 4, 8, 12]), st.integers(0, 1000))
def test_random_expressions_are_exact(fn: Callable[[Sequence[Expr]], Expr], result: int, seed: int) -> None:
    acc = accumulator(16)
    check(acc, stage(elementwise(lambda *xs: fn(xs), 4, result, 0, 4, 8)(acc)), seed=seed)


def test_a_runtime_scalar_of_any_size_is_exact() -> None:
    acc = accumulator(8)
    n = Var("n")
    for value in (5, -40000, 1 << 30, -(1 << 31), (1 << 31) - 1, 32768):
        i, k = Var("i"), Var("k")
        body = stage(loop(i, 4, loop(k, 16, store(acc, ops.min(acc.load(i * 16 + k), n), i * 16 + k))))
        lowered = lower(acc, loop(n, 1, body, low=Var("start")))
        assert isinstance(lowered.body, Allocate)
        contents = np.random.default_rng(3).integers(-(1 << 31), 1 << 31, (9, 16)).astype(np.int32)
        start = free_vars(lowered.body)[0]
        got = run_kernels(substitute(lowered.body, {start: convert(value)}), contents)
        np.testing.assert_array_equal(got[:4], np.minimum(contents[:4], value))


def shifted(way: str, value: Expr, count: int) -> Expr:
    """Return a shift that the operators of expressions refuse, as a pass may make one."""
    return call_intrin("int32", f"tir.shift_{way}", value, count)


def test_a_negative_shift_is_refused() -> None:
    assert refusal(elementwise(lambda x: shifted("right", x, -2), 8, 0, 0)) == (
        "the function: ALU stage: x >> count: expected a count that is never negative, got -2; shift the other way"
    )
    n = Var("n")
    assert "got one that may be" in refusal(elementwise(lambda x: x >> n, 8, 0, 0))


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda x, y: x + y, [(ADD, 0, 0)]),
        (lambda x, y: y + x, [(ADD, 0, 0)]),
        (lambda x, y: ops.min(y, x), [(MIN, 0, 0)]),
        (
            lambda x, y: x >> ops.max(ops.min(y, 31), 0),
            [(MUL, 1, 0), (ADD, 0, 0), (MIN, 1, 31), (MAX, 1, 0), (SHR, 0, 0)],
        ),
        (lambda x, _: x + x, [(ADD, 0, 0)]),
        (lambda x, _: x * x, [(MUL, 0, 0)]),
        (lambda x, y: (x + 1) * y, [(ADD, 1, 1), (MUL, 0, 0)]),
        (lambda x, y: y * (x + 1), [(ADD, 1, 1), (MUL, 0, 0)]),
        (lambda _, y: (y + 1) * y, [(MUL, 1, 0), (ADD, 0, 0), (ADD, 1, 1), (MUL, 0, 0)]),
        (lambda x, y: ops.max(x, y + 5), [(MUL, 1, 0), (ADD, 0, 0), (ADD, 1, 5), (MAX, 0, 0)]),
        (lambda x, _: 7 - x, [(MUL, 1, -1), (ADD, 1, 7)]),
        (lambda _, y: y << 2, [(MUL, 1, 0), (ADD, 0, 0), (SHR, 1, -2)]),
        (lambda _x, _y: 9, [(MUL, 1, 0), (ADD, 1, 9)]),
    ],
)  # fmt: skip
def test_an_expression_takes_no_more_operations_than_it_must(
    fn: Callable[..., Expr], expected: list[tuple[int, int, int]]
) -> None:
    assert opcodes(elementwise(lambda x, y: convert(fn(x, y)), 8, 0, 0, 8)) == expected


def test_a_cast_that_keeps_every_number_costs_nothing() -> None:
    def of(*dtypes: str) -> list[tuple[int, int, int]]:
        def cast(x: Expr) -> Expr:
            for dtype in (*dtypes, "int32"):
                x = x.astype(dtype)
            return x

        return opcodes(elementwise(cast, 8, 0, 0))

    assert of("uint8", "uint16") == of("uint8", "int16") == of("uint8")
    assert of("int8", "int16") == of("int8")
    assert len(of("uint8", "int8")) > len(of("uint8"))
    assert len(of("int8", "uint8")) > len(of("int8"))

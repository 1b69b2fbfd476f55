"""Expressions of two operations and a shift: one kernel where the ALU has such steps and operands are neighbours."""

from collections.abc import Callable

import pytest

from isa.config import VTAConfig
from tests.support.hw.alu_stage import ADD, MAX, MIN, MUL, accumulator, check, elementwise, stage
from tests.support.isa.alu_model import Kernel, kernels_of
from vta.tir import ops
from vta.tir.expr import Expr

FUSED = VTAConfig(fused_alu=1)


def _kernels(fn: Callable[..., Expr], *offsets: int, config: VTAConfig = FUSED) -> list[Kernel]:
    acc = accumulator(64)
    return kernels_of(check(acc, stage(elementwise(fn, 8, *offsets)(acc)), config).body)


def _limits(x: Expr, low: Expr, high: Expr) -> Expr:
    return ops.min(ops.max(x, low), high)


FORMS: dict[str, tuple[Callable[..., Expr], int, int]] = {
    "limits": (_limits, MAX, 0),
    "shifted": (lambda x, low, high: _limits(x, low, high) >> 9, MAX, 9),
    "turned": (lambda x, low, high: ops.min(high, ops.max(low, x)) >> 1, MAX, 1),
    "scaled": (lambda x, a, b: (x * a + b) >> 23, MUL, 23),
    "scaled_left": (lambda x, a, b: (b + a * x) << 5, MUL, -5),
    "sum": (lambda x, a, b: x * a + b, MUL, 0),
}


@pytest.mark.parametrize("name", FORMS)
def test_one_kernel_does_two_operations_and_a_shift(name: str) -> None:
    fn, opcode, shift = FORMS[name]
    found = _kernels(fn, 0, 0, 20, 21)
    assert found == [Kernel(((8, 1, 1, 0),), ((3, 0, 0, 20, 0, opcode, 0, shift),))]


@pytest.mark.parametrize("name", FORMS)
def test_an_alu_without_fused_steps_does_the_same_one_by_one(name: str) -> None:
    found = _kernels(FORMS[name][0], 0, 0, 20, 21, config=VTAConfig())
    assert all(push[0] == 1 for kernel in found for push in kernel.pushes)
    assert len(found) == (2 if FORMS[name][2] == 0 else 3)


def test_what_lies_elsewhere_is_copied_first() -> None:
    found = _kernels(_limits, 40, 0, 20, 21)
    assert [kernel.pushes[0][5] for kernel in found] == [MUL, ADD, MAX]
    assert found[-1].pushes[0][:4] == (3, 0, 40, 20)


@pytest.mark.parametrize(
    ("fn", "offsets", "expected"),
    [
        (_limits, (0, 0, 20, 22), [MAX, MIN]),
        (_limits, (0, 0, 21, 20), [MAX, MIN]),
        (lambda x, low, high: ops.max(ops.min(x, high), low), (0, 0, 20, 21), [MIN, MAX]),
        (lambda x, a, b: ops.max(x * a, b), (0, 0, 20, 21), [MUL, MAX]),
        (lambda x, a: ops.min(ops.max(x, a), 9), (0, 0, 20), [MAX, MIN]),
        (lambda x, a, b: (x + a) * b, (0, 0, 20, 21), [ADD, MUL]),
    ],
)
def test_other_expressions_are_what_they_were(
    fn: Callable[..., Expr], offsets: tuple[int, ...], expected: list[int]
) -> None:
    found = _kernels(fn, *offsets)
    assert [(kernel.pushes[0][0], kernel.pushes[0][5]) for kernel in found] == [(1, opcode) for opcode in expected]

"""The table of what TIR writes and the ALU does."""

import pytest

from isa.instructions import AluOpcode
from tests.support.compiler.alu_expressions import as_expression
from tests.support.hw.alu_stage import elementwise, kernels
from vta.passes.alu.kinds import AluKind, operands
from vta.tir import ops
from vta.tir.expr import Expr, Var, const

SHIFTS = (AluKind.SHL, AluKind.SHR)


def _operand(kind: AluKind, y: Expr) -> Expr:
    return ops.max(ops.min(y, 31), 0) if kind in SHIFTS else y


def test_the_compiler_selects_every_operation_of_the_alu() -> None:
    opcodes = [kind.opcode for kind in AluKind if kind.opcode is not None]
    assert sorted(opcodes) == list(AluOpcode)


def test_only_differences_and_left_shifts_are_composed() -> None:
    assert [kind for kind in AluKind if kind.opcode is None] == [AluKind.SUB, AluKind.SHL]


@pytest.mark.parametrize("kind", AluKind)
def test_an_expression_is_taken_apart_into_what_it_was_made_of(kind: AluKind) -> None:
    x, y = Var("x"), Var("y")
    assert operands(as_expression(kind, x, y)) == (kind, x, y)


@pytest.mark.parametrize(
    "expr", [Var("x"), const(3), Var("x") // 2, Var("x") < 3, Var("x") & 3, ops.exp(const(1.0, "float32"))]
)
def test_what_is_not_in_the_table_is_nothing(expr: Expr) -> None:
    assert operands(expr) is None


@pytest.mark.parametrize("kind", AluKind)
def test_every_operation_is_exact_on_tiles_and_scalars(kind: AluKind) -> None:
    kernels(elementwise(lambda x, y: as_expression(kind, x, _operand(kind, y)), 8, 0, 0, 8))
    kernels(elementwise(lambda x, y: as_expression(kind, y, _operand(kind, x)), 8, 0, 0, 8))
    kernels(elementwise(lambda x, y: as_expression(kind, x, _operand(kind, y)), 8, 20, 0, 8))
    for number in (0, 1, 5, 31) if kind in SHIFTS else (0, 1, -1, 7, -32768, 32768, 70000, (1 << 31) - 1, -(1 << 31)):
        kernels(elementwise(lambda x: as_expression(kind, x, number), 8, 0, 0))  # noqa: B023  # called at once


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("kind", AluKind)
def test_a_result_that_does_not_grow_fits_the_type_of_its_operands(kind: AluKind, dtype: str) -> None:
    def narrow(x: Expr, y: Expr) -> Expr:
        count = ops.max(ops.min(y, 7), 0).astype(dtype)
        return as_expression(kind, x.astype(dtype), count if kind in SHIFTS else y.astype(dtype)).astype("int32")

    kernels(elementwise(narrow, 8, 20, 0, 8))

"""What the ALU cannot compute is refused by name."""

from collections.abc import Callable

import pytest

from tests.support.compiler.tir_build import buffer, call, loop, store
from tests.support.hw.alu_stage import accumulator, check, elementwise, lower, refusal, stage
from vta.passes.alu.expression import AluError
from vta.passes.alu.kinds import AluKind
from vta.tir import ops
from vta.tir.expr import BufferLoad, Expr, Var, convert
from vta.tir.scopes import ACC_SCOPE

_OPERATIONS = ", ".join(kind.symbol for kind in AluKind)
_LIST = f"expected an expression of {_OPERATIONS}, copies and integer casts of accumulator elements and scalars"


@pytest.mark.parametrize(
    ("fn", "named"),
    [
        (lambda x: ops.floordiv(x, 3), "// (floor division); a division by a power of two is x >> k"),
        (lambda x: ops.floormod(x, 4), "% (floor modulo); x - ((x >> k) << k) is x modulo 2**k"),
        (lambda x: ops.select(x > 0, x, 0), "select; min and max select without a condition"),
        (lambda x: x & 3, "bitwise_and; compute it in another stage, on the host"),
    ],
)
def test_br_060_the_refusal_names_the_operation_and_what_there_is(fn: Callable[[Expr], Expr], named: str) -> None:
    assert refusal(elementwise(fn, 8, 0, 0)) == f"the function: ALU stage: {_LIST}, got {named}"


def test_br_060_exp_is_refused_by_its_name() -> None:
    acc = accumulator(8)
    load = BufferLoad(buffer("facc", [128], "float32", ACC_SCOPE), (convert(0),))
    with pytest.raises(AluError) as error:
        lower(acc, stage(store(acc, ops.exp(load).astype("int32"), 0)))
    assert str(error.value) == (
        "the function: ALU stage: expected integers that fit int32, got arithmetic on float32; "
        "the accumulator has 32 signed bits"
    )


def test_a_call_of_the_host_is_refused_as_a_scalar() -> None:
    assert refusal(elementwise(lambda x: x + call("rand").value, 8, 0, 0)) == (
        f"the function: ALU stage: {_LIST}, got call_extern; compute it in another stage, on the host"
    )


def test_a_comparison_is_refused_by_its_type() -> None:
    assert "got arithmetic on bool" in refusal(elementwise(lambda x: (x > 0).astype("int32"), 8, 0, 0))


def test_wide_arithmetic_is_refused() -> None:
    assert "got arithmetic on int64" in refusal(elementwise(lambda x: (x.astype("int64") * 3).astype("int32"), 8, 0, 0))


def test_an_operand_in_other_memory_is_refused() -> None:
    other = buffer("x", [128])
    assert refusal(lambda acc: store(acc, other.load(0) + acc.load(0), 0)) == (
        "the function: ALU stage: expected an operand in 'local.acc_buffer', got 'x' in 'global'; the ALU works on the "
        "accumulator alone; copy with stages that have env.dma_copy"
    )


def test_a_result_in_other_memory_is_refused() -> None:
    other = buffer("x", [128])
    assert "expected a result in 'local.acc_buffer', got 'x' in 'global'" in refusal(
        lambda acc: store(other, acc.load(0), 0)
    )


def test_a_narrow_buffer_in_the_accumulator_is_refused() -> None:
    narrow = buffer("n", [128], "int8", ACC_SCOPE)
    assert refusal(lambda acc: store(narrow, acc.load(0).astype("int8"), 0)) == (
        "the function: ALU stage: expected numbers of int32 in the accumulator, got 'n' of int8; cast where the "
        "data leaves the accumulator (the store keeps the low bits), or where it comes in"
    )


def test_a_buffer_with_dimensions_is_refused() -> None:
    wide = buffer("w", [8, 16], "int32", ACC_SCOPE)
    assert "expected a result of one dimension, got 'w' with 2 dimensions; run StorageFlatten first" in refusal(
        lambda _: store(wide, 0, 0, 0)
    )


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16"])
def test_a_cast_of_negative_numbers_wraps_where_they_do_not_fit(dtype: str) -> None:
    acc = accumulator(8)
    i, k = Var("i"), Var("k")
    narrow = acc.load(i * 16 + k).astype("int8").astype(dtype).astype("int32")
    check(acc, stage(loop(i, 8, loop(k, 16, store(acc, narrow, i * 16 + k)))))

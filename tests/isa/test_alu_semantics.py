"""What the operations mean, judged in whole numbers, and that everything that is said of them is true."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isa.alu_semantics import ACC_HIGH, ACC_LOW, alu_operation, alu_semantics, exact_operation
from isa.instructions import AluOpcode
from isa.layout import IMMEDIATE
from tests.support.isa.alu_judge import is_constant, judge_lanes, wrap

EDGES = np.array(
    [0, 1, -1, 2, 7, -7, 31, -31, 32, -32, 33, -33, 63, -64, 127, -128, 32767, -32768, ACC_HIGH, ACC_LOW], np.int32
)
INT32 = st.integers(ACC_LOW, ACC_HIGH)


@pytest.mark.parametrize("opcode", AluOpcode)
def test_an_operation_is_that_of_whole_numbers(opcode: AluOpcode) -> None:
    x, y = EDGES[:, None], EDGES[None, :]
    result = alu_operation(opcode, x, y)
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, judge_lanes(opcode, x, y))


@given(opcode=st.sampled_from(AluOpcode), x=INT32, y=INT32 | st.integers(-70, 70))
@settings(max_examples=500, deadline=None)
def test_an_operation_on_any_numbers(opcode: AluOpcode, x: int, y: int) -> None:
    result = alu_operation(opcode, np.array([x], np.int32), np.int32(y))
    np.testing.assert_array_equal(result, judge_lanes(opcode, [x], y))


@given(opcode=st.sampled_from(AluOpcode), x=INT32, y=INT32)
def test_the_exact_result_is_the_kept_one_where_it_fits(opcode: AluOpcode, x: int, y: int) -> None:
    exact = int(exact_operation(opcode, np.array([x], np.int32), np.int32(y))[0])
    assert judge_lanes(opcode, [x], y).tolist() == [wrap(exact)]


@pytest.mark.parametrize("opcode", AluOpcode)
def test_the_identity_changes_nothing_and_is_the_only_one_among_the_edges(opcode: AluOpcode) -> None:
    identities = [int(y) for y in EDGES if np.array_equal(judge_lanes(opcode, EDGES, y), EDGES)]
    identity = alu_semantics(opcode).identity
    assert identities == ([] if identity is None else [identity])


@pytest.mark.parametrize("opcode", AluOpcode)
def test_the_immediates_that_make_a_constant_are_all_listed(opcode: AluOpcode) -> None:
    listed = alu_semantics(opcode).constant_for
    for y in (*range(-70, 71), IMMEDIATE.low, IMMEDIATE.high):
        assert (y in listed) == is_constant(opcode, y), f"{opcode.name} {y}"


@pytest.mark.parametrize("opcode", AluOpcode)
def test_an_operation_commutes_if_and_only_if_it_says_so(opcode: AluOpcode) -> None:
    results = judge_lanes(opcode, EDGES[:, None], EDGES[None, :])
    assert np.array_equal(results, results.T) == alu_semantics(opcode).commutes


def test_every_operation_has_a_formula_of_its_own() -> None:
    formulas = [alu_semantics(opcode).formula for opcode in AluOpcode]
    assert len(set(formulas)) == len(AluOpcode)
    assert all(formula.startswith("acc[dst] = ") and "operand 1" in formula for formula in formulas)

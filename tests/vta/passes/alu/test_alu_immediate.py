"""Immediates of any size: short exact forms, and elements that are filled with a number."""

from hypothesis import given
from hypothesis import strategies as st

from isa.instructions import AluOpcode
from tests.support.isa.alu_judge import judge
from tests.support.isa.alu_model import evaluate
from vta.passes.alu.immediate import AluStep, filling_steps, immediate_steps
from vta.tir.expr import IntImm, Var, const

_ACC = st.integers(-(1 << 31), (1 << 31) - 1)
_EDGES = st.sampled_from([0, 1, -1, 32767, 32768, -32768, -32769, 65535, 65536, (1 << 31) - 1, -(1 << 31), 3 * 32767])


def apply(steps: tuple[AluStep, ...], value: int, env: dict[Var, int] | None = None) -> int:
    for opcode, imm in steps:
        number = evaluate(imm, env or {})
        assert -(1 << 15) <= number < 1 << 15
        value = judge(opcode, value, number)
    return value


@given(st.sampled_from(AluOpcode), _ACC, _ACC | _EDGES)
def test_a_short_form_does_what_the_operation_does(opcode: AluOpcode, x: int, value: int) -> None:
    steps = immediate_steps(opcode, value)
    assert steps is None or apply(steps, x) == judge(opcode, x, value)


def test_what_fits_the_field_is_one_operation() -> None:
    assert immediate_steps(AluOpcode.MIN, 127) == ((AluOpcode.MIN, const(127)),)


def test_neutral_numbers_are_no_operation() -> None:
    assert immediate_steps(AluOpcode.ADD, 0) == ()
    assert immediate_steps(AluOpcode.ADD, 1 << 32) == ()
    assert immediate_steps(AluOpcode.MUL, 1) == ()


def test_a_large_limit_has_no_short_form() -> None:
    assert immediate_steps(AluOpcode.MAX, 40000) is None
    assert immediate_steps(AluOpcode.ADD, 1 << 30) is None
    assert immediate_steps(AluOpcode.MUL, 99999) is None


@given(_ACC, _ACC | _EDGES)
def test_an_element_is_filled_whatever_it_held(old: int, value: int) -> None:
    assert apply(filling_steps(const(value)), old) == value


@given(_ACC, _ACC | _EDGES)
def test_an_element_is_filled_with_a_number_that_the_host_knows_when_it_runs(old: int, value: int) -> None:
    n = Var("n")
    steps = filling_steps(n)
    assert not any(isinstance(imm, IntImm) for _, imm in steps[1::2])
    assert apply(steps, old, {n: value}) == value

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


def test_a_summand_is_at_most_three_pieces() -> None:
    most, least = 3 * 32767, 3 * -32768
    assert immediate_steps(AluOpcode.ADD, most) == ((AluOpcode.ADD, const(32767)),) * 3
    assert immediate_steps(AluOpcode.ADD, least) == ((AluOpcode.ADD, const(-32768)),) * 3
    assert immediate_steps(AluOpcode.ADD, 40000) == ((AluOpcode.ADD, const(32767)), (AluOpcode.ADD, const(7233)))
    assert immediate_steps(AluOpcode.ADD, most + 1) is None
    assert immediate_steps(AluOpcode.ADD, least - 1) is None


def test_a_power_of_two_is_a_shift_and_a_negative_one_a_shift_and_a_sign() -> None:
    sign = (AluOpcode.MUL, const(-1))
    assert immediate_steps(AluOpcode.MUL, 1 << 15) == ((AluOpcode.SHR, const(-15)),)
    assert immediate_steps(AluOpcode.MUL, -(1 << 16)) == ((AluOpcode.SHR, const(-16)), sign)
    assert immediate_steps(AluOpcode.MUL, 1 << 31) == ((AluOpcode.SHR, const(-31)),)
    assert immediate_steps(AluOpcode.MUL, (1 << 16) + 1) is None


def test_an_element_is_filled_by_a_short_form_where_there_is_one() -> None:
    clear, high = (AluOpcode.MUL, const(0)), (AluOpcode.ADD, const(32767))
    assert filling_steps(const(0)) == (clear,)
    assert filling_steps(const(5)) == (clear, (AluOpcode.ADD, const(5)))
    assert filling_steps(const(3 * 32767)) == (clear, high, high, high)
    assert [opcode for opcode, _ in filling_steps(const(1 << 20))] == [
        AluOpcode.MUL, AluOpcode.ADD, AluOpcode.SHR, AluOpcode.ADD,
    ]  # fmt: skip

"""The attack on the compiler: it is right about what is right, and sees what is planted."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from bench import attack_operators, attack_programs
from bench.compiler_attack import attack, main, one_operator, one_program
from isa.errors import VTAError
from tests.support.compiler.random_operators import Draw, draw, environment
from vta.topi.conv.conv2d_operator import Conv2d


def test_a_few_programs_and_operators_are_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--programs", "6", "--operators", "4", "--seed", "11"]) == 0
    assert "programs: 6 right, 0 refused, 0 wrong\noperators: 4 right, 0 refused, 0 wrong" in capsys.readouterr().out


@pytest.mark.parametrize("index", range(3))
def test_one_wrong_number_of_a_program_is_found(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = attack_programs.random_program(Random(f"11 {index}"), index)
    planted = program.expected.copy()
    planted[(-1,) * planted.ndim] ^= 1
    monkeypatch.setattr(attack_programs, "random_program", lambda *_: replace(program, expected=planted))
    problem = one_program(11, index)
    assert problem is not None
    assert f"1 of {planted.size} numbers are wrong" in problem


def test_one_wrong_number_of_an_operator_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = attack_operators.expected

    def wrong(*arguments: object) -> object:
        result = right(*arguments)  # type: ignore[arg-type]  # handed on
        result.flat[0] ^= 1
        return result

    monkeypatch.setattr(attack_operators, "expected", wrong)
    problem = one_operator(11, 0)
    assert problem is not None
    assert "1 of " in problem


def test_refusals_are_counted_by_sentence_and_other_exceptions_are_faults() -> None:
    def case(index: int) -> str | None:
        if index < 3:
            raise VTAError(f"stage 'x{index}': expected {index} rows")
        if index == 3:
            raise IndexError("no")
        return "bad" if index == 4 else None

    tally = attack(range(6), case)
    assert tally.right == 1
    assert tally.refused == {"stage '...': expected N rows": 3}
    assert [line.split(":")[0] for line in tally.wrong] == ["3", "4"]
    assert "IndexError: no" in tally.wrong[0]
    assert next(iter(tally.lines("cases"))) == "cases: 1 right, 3 refused, 2 wrong"


def test_the_numbers_of_the_operators_are_numpys() -> None:
    """The benchmark's own convolution, element by element."""
    rng = np.random.default_rng(2)
    operator = draw(Draw(4, kinds=("grouped_conv2d",)), 0).operator
    assert isinstance(operator, Conv2d)
    operator = replace(operator, epilogue=())
    shapes = [operand.shape for operand in operator.inputs(environment("default"))]
    x, kernel = (rng.integers(-128, 128, shape).astype(np.int8) for shape in shapes)
    found = attack_operators.expected(operator, [x, kernel])
    top, left, _, _ = operator.padding
    inside = kernel.shape[1]
    for n, o, row, column in [tuple(map(int, rng.integers(found.shape))) for _ in range(50)]:
        total = 0
        for c in range(inside):
            for i in range(kernel.shape[2]):
                for j in range(kernel.shape[3]):
                    y = row * operator.strides[0] + i * operator.dilation[0] - top
                    z = column * operator.strides[1] + j * operator.dilation[1] - left
                    if 0 <= y < x.shape[2] and 0 <= z < x.shape[3]:
                        channel = o // (kernel.shape[0] // operator.groups) * inside + c
                        cell = int(x[n, channel, y, z]) - operator.zero_point
                        total += cell * int(kernel[o, c, i, j])
        assert found[n, o, row, column] == np.int64(total).astype(np.int8)

from itertools import product
from random import Random

import pytest

from vta import te
from vta.arith.simplify import Analyzer
from vta.te.iteration import Loop
from vta.te.lowering.largest import largest_value
from vta.tir.expr import Expr, IntImm, IterVar, Max, Min, Range, Var, binary, const
from vta.tir.traverse import substitute


def loop(name: str, extent: Expr) -> Loop:
    tensor = te.compute((1,), lambda _i: te.const(0))
    var = Var(name)
    return Loop(te.create_schedule(tensor.op)[tensor], IterVar(None, var), var, extent, False)


def random_index(rng: Random, variables: list[Var], depth: int = 0) -> Expr:
    if depth == 3 or rng.random() < 0.2:
        return rng.choice([*variables, const(rng.randint(-5, 5))])
    a, b = random_index(rng, variables, depth + 1), random_index(rng, variables, depth + 1)
    match rng.randrange(6):
        case 0:
            return a + b
        case 1:
            return a - b
        case 2:
            return a * rng.randint(-3, 3)
        case 3:
            return a // rng.randint(1, 4) - b % rng.randint(1, 4)
        case 4:
            return binary(Min, a, b)
        case _:
            return binary(Max, a, b)


@pytest.mark.parametrize("seed", range(80))
def test_the_largest_value_is_that_of_trying_every_iteration(seed: int) -> None:
    rng = Random(seed)
    around = [loop(name, const(rng.randint(1, 5))) for name in "abc"]
    analyzer = Analyzer({each.var: Range(const(0), each.extent) for each in around})
    expr = random_index(rng, [each.var for each in around])
    values = []
    for chosen in product(*(range(int(each.extent)) for each in around)):
        point = {each.var: const(value) for each, value in zip(around, chosen, strict=True)}
        found = analyzer.simplify(substitute(expr, point))
        assert isinstance(found, IntImm)
        values.append(found.value)
    largest = largest_value(expr, around, analyzer)
    assert isinstance(largest, IntImm)
    assert largest.value == max(values)


def test_a_variable_from_elsewhere_leaves_the_expression() -> None:
    n, o = te.var("n"), loop("o", const(4))
    expr = o.var + n
    assert largest_value(expr, [o], Analyzer()) is expr


def test_a_loop_of_unknown_extent_leaves_the_expression() -> None:
    o = loop("o", te.var("n"))
    expr = o.var * 2
    assert largest_value(expr, [o], Analyzer()) is expr


def test_many_iterations_are_bounded_and_not_tried() -> None:
    big = [loop(name, const(1 << 12)) for name in "ab"]
    analyzer = Analyzer({each.var: Range(const(0), each.extent) for each in big})
    largest = largest_value(big[0].var + big[1].var * 2, big, analyzer)
    assert int(largest) == 3 * 4095

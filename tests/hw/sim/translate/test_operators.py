# amaranth: UnusedElaboratable=no
"""Every operator against Amaranth's own simulator, on random expressions."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, signed, unsigned
from amaranth.lib.wiring import In, Out

from hw.sim import compile_design
from tests.support.compiler.random_expressions import ExpressionBench
from tests.support.hw.amaranth_trace import assert_same_trace
from tests.support.hw.inline_design import Small


@pytest.mark.parametrize("seed", range(12))
def test_random_expressions_have_the_values_that_amaranth_gives_them(seed: int) -> None:
    assert_same_trace(ExpressionBench(seed=seed, count=25), cycles=40, seed=seed)


NAMES = ("sum", "difference", "product", "negative")


def low_bits(width: int) -> Callable[[Module, Any], None]:
    """Return what keeps the low bits of sums and products, as signed numbers of that width."""

    def build(m: Module, ports: Any) -> None:
        values = (ports.a + ports.b, ports.a - ports.b, ports.a * ports.b, -ports.a)
        for name, value in zip(NAMES, values, strict=True):
            kept = Signal(signed(width), name=f"{name}_kept")
            m.d.comb += [kept.eq(value), getattr(ports, name).eq(kept)]

    return build


@pytest.mark.parametrize(
    ("a", "b", "width"),
    [
        (signed(1), signed(1), 1),
        (unsigned(1), unsigned(1), 1),
        (signed(1), signed(3), 3),  # -1 times -4 is 4, which three bits do not hold
        (signed(2), unsigned(2), 2),
        (signed(3), signed(3), 5),
        (unsigned(3), unsigned(2), 5),
        (signed(3), unsigned(3), 6),
    ],
)
def test_what_is_kept_of_a_result_is_extended_by_its_own_sign(a: Any, b: Any, width: int) -> None:
    members = {"a": In(a), "b": In(b), **{name: Out(signed(9)) for name in NAMES}}
    design = compile_design(Small(low_bits(width), members), cache=False)
    for x, y in itertools.product(range(1 << a.width), range(1 << b.width)):
        design.poke("a", x)
        design.poke("b", y)
        left, right = (
            value - (1 << shape.width) * (shape.signed and value >> (shape.width - 1))
            for value, shape in ((x, a), (y, b))
        )
        for name, value in zip(NAMES, (left + right, left - right, left * right, -left), strict=True):
            low = value & ((1 << width) - 1)
            assert design.peek(name) == low - ((low >> (width - 1)) << width), (name, left, right)

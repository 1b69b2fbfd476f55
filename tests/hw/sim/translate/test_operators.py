# amaranth: UnusedElaboratable=no
"""Every operator against Amaranth's own simulator, on random expressions."""

import itertools
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


def one_bit_results(m: Module, ports: Any) -> None:
    """Sums and products of which one bit is kept, as a signed number of a bit: 0 or -1."""
    for name, value in (
        ("sum", ports.a + ports.b),
        ("difference", ports.a - ports.b),
        ("product", ports.a * ports.b),
        ("negative", -ports.a),
    ):
        bit = Signal(signed(1), name=f"{name}_bit")
        m.d.comb += [bit.eq(value), getattr(ports, name).eq(bit)]


@pytest.mark.parametrize("shape", [signed(1), unsigned(1), signed(2), unsigned(2)])
def test_the_lowest_bit_of_a_result_is_extended_by_itself(shape: Any) -> None:
    names = ("sum", "difference", "product", "negative")
    members = {"a": In(shape), "b": In(shape), **{name: Out(signed(9)) for name in names}}
    design = compile_design(Small(one_bit_results, members), cache=False)
    for a, b in itertools.product(range(1 << shape.width), repeat=2):
        design.poke("a", a)
        design.poke("b", b)
        for name, value in zip(names, (a + b, a - b, a * b, -a), strict=True):
            assert design.peek(name) == -(value & 1), (name, a, b)

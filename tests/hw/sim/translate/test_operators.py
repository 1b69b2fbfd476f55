# amaranth: UnusedElaboratable=no
"""Every operator against Amaranth's own simulator, on random expressions."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, signed, unsigned
from amaranth.lib.wiring import In, Out

from hw.sim import compile_design
from hw.sim.netlist.frontend import build_netlist
from hw.sim.netlist.simplify import simplify
from hw.sim.translate.module import translate
from hw.sim.translate.operators import _significant, _sum_forms
from hw.sim.translate.text import Form
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


NET = 1 << 16
OTHER = 2 << 16


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((NET, NET + 1, NET + 2), (3, 3)),
        ((NET, NET + 1, 0), (2, 3)),
        ((NET, 0, 0), (1, 2)),
        ((0, 0, 0), (0, 1)),
        ((NET, NET + 1, NET + 1), (3, 2)),
        ((NET, NET, NET), (3, 1)),
        ((1, 1, 1), (3, 1)),
        ((0, 1), (2, 2)),
        ((NET,), (1, 1)),
        ((), (0, 0)),
    ],
)
def test_a_value_needs_the_bits_that_say_something(value: tuple[int, ...], expected: tuple[int, int]) -> None:
    assert _significant(value) == expected


def unsigned_of(bits: int, width: int, net: int = NET) -> tuple[int, ...]:
    return (*range(net, net + bits), *(0,) * (width - bits))


def signed_of(bits: int, width: int, net: int = NET) -> tuple[int, ...]:
    return (*range(net, net + bits), *(net + bits - 1,) * (width - bits))


@pytest.mark.parametrize(
    ("kind", "values", "width", "expected"),
    [
        ("+", [unsigned_of(7, 8), unsigned_of(7, 8, OTHER)], 8, (Form.ZERO, Form.ZERO)),
        ("+", [unsigned_of(8, 8), unsigned_of(7, 8, OTHER)], 8, (Form.ANY, Form.ANY)),
        ("+", [signed_of(7, 8), signed_of(7, 8, OTHER)], 8, (Form.SIGN, Form.SIGN)),
        ("+", [signed_of(8, 8), signed_of(7, 8, OTHER)], 8, (Form.ANY, Form.ANY)),
        ("-", [unsigned_of(6, 8), unsigned_of(6, 8, OTHER)], 8, (Form.SIGN, Form.SIGN)),
        ("-", [unsigned_of(7, 8), unsigned_of(6, 8, OTHER)], 8, (Form.ANY, Form.ANY)),
        ("*", [unsigned_of(4, 8), unsigned_of(4, 8, OTHER)], 8, (Form.ZERO, Form.ZERO)),
        ("*", [unsigned_of(5, 8), unsigned_of(4, 8, OTHER)], 8, (Form.ANY, Form.ANY)),
        ("*", [signed_of(4, 8), signed_of(4, 8, OTHER)], 8, (Form.SIGN, Form.SIGN)),
        ("*", [signed_of(5, 8), signed_of(4, 8, OTHER)], 8, (Form.ANY, Form.ANY)),
        ("+", [unsigned_of(7, 64), unsigned_of(7, 64, OTHER)], 64, (Form.ZERO, Form.ZERO)),
        ("+", [unsigned_of(7, 65), unsigned_of(7, 65, OTHER)], 65, (Form.ANY, Form.ZERO)),
    ],
)
def test_what_cannot_overflow_is_exact(
    kind: str, values: list[tuple[int, ...]], width: int, expected: tuple[Form, Form]
) -> None:
    assert _sum_forms(kind, values, width) == expected


@pytest.mark.parametrize(
    ("kind", "width", "amount", "checked"),
    [
        ("left", 8, 3, False), ("left", 8, 4, True), ("left", 64, 6, False), ("left", 64, 7, True),
        ("right", 8, 3, False), ("right", 9, 4, False), ("right", 8, 4, True), ("right", 65, 6, False),
        ("right", 65, 7, True), ("right", 1, 1, True), ("arithmetic", 8, 3, False), ("arithmetic", 8, 4, True),
        ("arithmetic", 64, 7, True),
    ],
)  # fmt: skip
def test_amounts_are_compared_with_the_width_only_where_they_may_reach_it(
    kind: str, width: int, amount: int, checked: bool
) -> None:
    shape = signed(width) if kind == "arithmetic" else unsigned(width)

    def build(m: Module, ports: Any) -> None:
        m.d.sync += ports.q.eq((ports.a << ports.n)[:width] if kind == "left" else ports.a >> ports.n)

    component = Small(build, {"a": In(shape), "n": In(amount), "q": Out(shape)})
    text = translate(simplify(build_netlist(component)), {}, ()).text
    assert ("icmp ugt" in text) is checked
    design = compile_design(component, cache=False)
    for value in (0, 1, (1 << width) - 1, 1 << (width - 1), (1 << width) // 3):
        design.poke("a", value)
        number = value - (value >> (width - 1) << width) * (kind == "arithmetic")
        for count in (0, 1, width - 1, width, width + 1, (1 << amount) - 1):
            if count < 1 << amount:
                design.poke("n", count)
                design.step()
                expected = number << count if kind == "left" else number >> count
                assert design.peek("q") & (1 << width) - 1 == expected & (1 << width) - 1, (value, count)

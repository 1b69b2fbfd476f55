# amaranth: UnusedElaboratable=no
"""Prints and properties of a design, compared with those of Amaranth's own simulator."""

import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Assert, Assume, Cover, Format, Module, Print, Signal, signed
from amaranth.lib import enum
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from hw.sim import CompiledDesign, PropertyError, compile_design
from hw.sim.translate.effects import Argument, Effect, message_text, record_bytes
from tests.support.hw.inline_design import Small


class Colour(enum.Enum, shape=2):  # type: ignore[call-arg]  # Amaranth has no types
    RED = 0
    GREEN = 1
    BLUE = 3


def printing(m: Module, ports: Any) -> None:
    count = Signal(signed(70), name="count", init=-3)
    colour = Signal(Colour)
    text = Signal(40, init=int.from_bytes(b"hello", "little"))
    m.d.sync += [count.eq(count + (1 << 40)), colour.eq(ports.a)]
    m.d.sync += Print("count", count, sep=" = ")
    with m.If(ports.b):
        m.d.sync += Print(Format("{:08b} {:+d} {:#x} {:_>6} {:s}|", ports.a, count, ports.a, ports.q, text))
        m.d.sync += Print(Format("{}", colour), end=";\n")
    m.d.comb += ports.q.eq(ports.a + 1)


def our_output(component: Any, inputs: list[dict[str, int]]) -> str:
    design = compile_design(component, cache=False)
    design.output = io.StringIO()
    for values in inputs:
        for name, value in values.items():
            design.poke(name, value)
        design.step()
    return design.output.getvalue()


def reference_output(component: Any, inputs: list[dict[str, int]], capsys: pytest.CaptureFixture[str]) -> str:
    simulator = Simulator(component)

    async def bench(ctx: Any) -> None:
        for values in inputs:
            for name, value in values.items():
                ctx.set(getattr(component, name), value)
            await ctx.tick()

    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    capsys.readouterr()
    simulator.run()
    return capsys.readouterr().out


def test_prints_show_what_amaranth_shows(capsys: pytest.CaptureFixture[str]) -> None:
    inputs = [{"a": (5 * k) % 16 & 3 if k % 2 else k % 2, "b": k % 3 == 0} for k in range(12)]
    expected = reference_output(Small(printing), inputs, capsys)
    assert expected.count("\n") > 12
    assert our_output(Small(printing), inputs) == expected


def test_without_another_place_prints_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    design = compile_design(Small(printing), cache=False)
    design.step()
    assert capsys.readouterr().out == "count = -3\n"


Statement = Callable[[Any], Any]


def checked(statement: Statement, *, domain: str = "sync") -> CompiledDesign:
    def build(m: Module, ports: Any) -> None:
        with m.If(ports.b):
            m.d[domain] += statement(ports)

    return compile_design(Small(build), cache=False)


@pytest.mark.parametrize("domain", ["sync", "comb"])
@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (lambda ports: Assert(ports.a != 9, Format("a is {:d}", ports.a)), "Assertion violated: a is 9"),
        (lambda ports: Assert(ports.a != 9), "Assertion violated"),
        (lambda ports: Assume(ports.a != 9, "never nine"), "Assumption violated: never nine"),
    ],
)
def test_a_property_that_does_not_hold_ends_the_run_behind_its_edge(
    statement: Statement, text: str, domain: str
) -> None:
    design = checked(statement, domain=domain)
    design.poke("a", 9)
    design.step(5)  # b is low
    design.poke("b", 1)
    with pytest.raises(PropertyError) as caught:
        design.step(10)
    assert re.fullmatch(rf"\S+\.py:\d+: {text} \(at the edge of cycle 5\)", str(caught.value))
    assert design.cycles == 6
    design.poke("a", 8)
    design.step(10)
    assert design.cycles == 16


def test_a_cover_tells_when_it_is_hit() -> None:
    design = checked(lambda ports: Cover(ports.a == 2, "two"))
    design.output = io.StringIO()
    design.poke("b", 1)
    for value in (1, 2, 3, 2):
        design.poke("a", value)
        design.step()
    lines = design.output.getvalue().splitlines()
    assert len(lines) == 2
    assert all(re.fullmatch(r"\S+\.py:\d+: Coverage hit: two", line) for line in lines)


def test_a_cover_without_a_message_is_silent() -> None:
    design = checked(lambda ports: Cover(ports.a == 0))
    design.output = io.StringIO()
    design.poke("b", 1)
    design.step(3)
    assert (design.output.getvalue(), design.cycles) == ("", 3)


def test_all_of_a_cycle_is_shown_before_the_first_broken_property_is_raised() -> None:
    def build(m: Module, ports: Any) -> None:
        m.d.sync += [Assert(ports.a == 0, "first"), Assert(ports.a == 0, "second"), Print("still shown")]

    design = compile_design(Small(build), cache=False)
    design.output = io.StringIO()
    design.poke("a", 1)
    with pytest.raises(PropertyError, match=r"Assertion violated: first \(at the edge of cycle 0\)$"):
        design.step()
    assert design.output.getvalue() == "still shown\n"


def test_values_wider_than_a_word_are_printed_whole() -> None:
    def build(m: Module, ports: Any) -> None:
        m.d.sync += Print(Format("{:x} {:d}", ports.w, ports.s))

    component = Small(build, {"w": In(200), "s": In(signed(130)), "o": Out(1)})
    design = compile_design(component, cache=False)
    design.output = io.StringIO()
    design.poke("w", (1 << 199) + 0xABC)
    design.poke("s", -(1 << 100))
    design.step()
    assert design.output.getvalue() == f"{(1 << 199) + 0xABC:x} {-(1 << 100):d}\n"


@pytest.mark.parametrize("width", [1, 2, 3, 7, 63, 64, 65, 70])
def test_a_recorded_number_has_its_sign(width: int) -> None:
    whole = 1 << width
    numbers = {number % whole for number in (0, 1, -1, whole >> 1, (whole >> 1) - 1, whole >> 2, (whole >> 1) + 1)}
    effect = Effect("print", "here.py:1", ("<", Argument(width, True, "d"), "|", Argument(width, False, "x"), ">"))
    assert record_bytes(effect) == 8 + 2 * 8 * -(-width // 64)
    for number in numbers:
        words = number.to_bytes(8 * -(-width // 64), "little")
        signed_number = number - whole if number >= whole >> 1 else number
        assert message_text(effect, words + words) == f"<{signed_number}|{number:x}>"


def test_a_property_is_named_with_its_place_and_its_message_if_it_has_one() -> None:
    values = (5).to_bytes(8, "little") + b"ok\0\0\0\0\0\0"
    message = ("saw ", Argument(4, False, "03d"), " ", Argument(64, False, ">4s"))
    assert message_text(Effect("assert", "a.py:3", message), values) == "a.py:3: Assertion violated: saw 005   ok"
    assert message_text(Effect("assume", "a.py:3", ()), b"") == "a.py:3: Assumption violated: "
    assert message_text(Effect("cover", "a.py:3", None), b"") == "a.py:3: Coverage hit"
    # No width at all is no number to show a sign of.
    assert message_text(Effect("print", "a.py:3", (Argument(0, True, "d"),)), b"") == "0"

# amaranth: UnusedElaboratable=no
"""What is chosen how: a shift for parts of a word, no chain where at most one input can be set."""

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hw.sim import compile_design
from hw.sim.netlist import cells as n
from hw.sim.netlist.frontend import build_netlist
from hw.sim.netlist.simplify import simplify
from hw.sim.translate.choices import _exclusive
from hw.sim.translate.module import translate
from tests.support.hw.inline_design import Small


def part(width: int, offset: int, taken: int) -> Small:
    """Return a register of some bits of an input."""

    def build(m: Module, ports: Any) -> None:
        m.d.sync += ports.q.eq(ports.a.bit_select(ports.at, taken))

    return Small(build, {"a": In(width), "at": In(offset), "q": Out(taken)})


@pytest.mark.parametrize(
    ("width", "taken", "spilled"), [(63, 8, False), (64, 8, False), (64, 64, False), (65, 8, True), (64, 65, True)]
)
def test_a_part_of_a_word_is_one_shift_and_one_of_more_goes_through_memory(
    width: int, taken: int, spilled: bool
) -> None:
    component = part(width, 7, taken)
    text = translate(simplify(build_netlist(component)), {}, ()).text
    [partition] = [each for each in text.split("define ") if "@partition_0(" in each.partition("{")[0]]
    assert ("alloca" in partition) is spilled
    design = compile_design(component)
    value = int.from_bytes(bytes(range(170, 180)), "little") & (1 << width) - 1
    design.poke("a", value)
    for offset in (0, 1, 7, 8, 56, 63, 64, 65, 127):
        design.poke("at", offset)
        design.step()
        assert design.peek("q") == value >> offset & (1 << taken) - 1


@pytest.mark.parametrize(("offset", "spilled"), [(3, False), (4, True)])
def test_a_part_that_stays_within_a_register_is_read_where_it_lies(offset: int, spilled: bool) -> None:
    """Eight bytes of ten are within it, sixteen are not."""

    def build(m: Module, ports: Any) -> None:
        held = Signal(80, init=int.from_bytes(bytes(range(1, 11)), "little"))
        m.d.sync += [held.eq(held.rotate_left(8)), ports.q.eq(held.word_select(ports.at, 8))]

    component = Small(build, {"at": In(offset), "q": Out(8)})
    text = translate(simplify(build_netlist(component)), {}, ()).text
    assert ("= alloca [" in text.partition("define void @settle")[0]) is spilled
    design = compile_design(component)
    for turn in range(30):
        design.poke("at", turn % (1 << offset))
        design.step()
        at = turn % (1 << offset)
        assert design.peek("q") == ((at - turn) % 10 + 1 if at < 10 else 0)


A, B = ((1 << 16, 1 << 16 | 1), (2 << 16, 2 << 16 | 1))
"""Two values of two bits each."""


@pytest.mark.parametrize(
    ("cases", "default", "exclusive"),
    [
        ([(A, "00"), (A, "01")], False, True),
        ([(A, "00"), (A, "01")], True, True),
        ([(A, "00"), (A, "00")], False, False),
        ([(A, "00"), (A, "0-")], False, False),
        ([(A, "-1")], False, False),
        ([(A, "00"), (B, "01")], False, False),
        ([(A, "00"), (B, "01")], True, False),
        ([(A, "11")], True, True),
    ],
)
def test_cases_of_one_value_with_different_full_patterns_exclude_one_another(
    cases: Sequence[tuple[n.Value, str]], default: bool, exclusive: bool
) -> None:
    cells = [n.Top({}, {}), *(n.Matches(value, (pattern,)) for value, pattern in cases)]
    inputs = tuple(place << 16 for place in range(1, len(cells))) + (1,) * default
    words: Any = SimpleNamespace(netlist=SimpleNamespace(cells=cells))
    assert _exclusive(words, inputs) is exclusive


def test_an_input_that_is_no_comparison_excludes_nothing() -> None:
    words: Any = SimpleNamespace(netlist=SimpleNamespace(cells=[n.Top({}, {}), n.Operator("~", (A,), 1)]))
    assert not _exclusive(words, (1 << 16,))


@pytest.mark.parametrize(
    ("width", "stride", "shifted"), [(80, 8, False), (80, 16, False), (80, 4, True), (81, 8, True)]
)
def test_parts_that_begin_at_bytes_are_not_shifted(width: int, stride: int, shifted: bool) -> None:
    begin = int.from_bytes(bytes(range(1, 11)), "little")

    def build(m: Module, ports: Any) -> None:
        held = Signal(width, init=begin)
        m.d.sync += [held.eq(held.rotate_left(1)), ports.q.eq(held.word_select(ports.at, stride))]

    component = Small(build, {"at": In(3), "q": Out(stride)})
    text = translate(simplify(build_netlist(component)), {}, ()).text
    assert bool(re.search(r"= and i64 %\w+, 7\n", text)) is shifted
    design = compile_design(component)
    number = begin
    for turn in range(20):
        design.poke("at", turn % 8)
        design.step()
        assert design.peek("q") == number >> turn % 8 * stride & (1 << stride) - 1
        number = (number << 1 | number >> (width - 1)) & (1 << width) - 1

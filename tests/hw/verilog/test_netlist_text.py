# amaranth: UnusedElaboratable=no
"""What the export puts right in the netlist's text, shown in the Verilog that it becomes."""

import gc
import re
from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.verilog import component_to_verilog
from hw.verilog.netlist_text import component_to_rtlil


class Table(wiring.Component):
    """A memory of four words with contents, and the same memory without."""

    def __init__(self, contents: list[int]) -> None:
        self.contents = contents
        super().__init__({"address": In(2), "word": Out(8)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=4, init=self.contents)
        read = memory.read_port()
        m.d.comb += [read.en.eq(1), read.addr.eq(self.address), self.word.eq(read.data)]
        return m


class Nothing(wiring.Component):
    """Ports, registers and expressions of no bits beside one of four."""

    def __init__(self) -> None:
        super().__init__({"nothing": In(0), "empty": Out(0), "number": In(4), "next": Out(4), "choose": In(1)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        register = Signal(0)
        value = Signal(0)
        m.d.sync += register.eq(self.nothing ^ value)
        with m.If(self.choose):
            m.d.comb += value.eq(~register)
        m.d.comb += [self.empty.eq(register), self.next.eq(self.number + (register == 0))]
        return m


class Elements(wiring.Component):
    """A port and a register of arrays in structures; a signal whose name an element would have."""

    def __init__(self) -> None:
        super().__init__({"counts": In(data.ArrayLayout(4, 2)), "total": Out(data.ArrayLayout(4, 2))})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        kept = Signal(data.StructLayout({"pairs": data.ArrayLayout(data.ArrayLayout(4, 2), 2)}))
        other = Signal(4, name="counts.1")
        m.d.sync += [kept.pairs[0].eq(self.counts), kept.pairs[1].eq(kept.pairs[0]), other.eq(other + 1)]
        m.d.comb += [self.total[index].eq(kept.pairs[1][index] + other) for index in range(2)]
        return m


class Names(wiring.Component):
    """Ports that are used in another order than that of their names; a selection; a switch without a default."""

    def __init__(self) -> None:
        super().__init__({"wide": In(9), "choice": In(2), "address": In(3), "part": Out(2), "found": Out(1)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        count = Signal(4)
        m.d.sync += count.eq(count + 1)
        m.d.comb += self.part.eq(self.wide.bit_select(self.address, 2))
        with m.Switch(self.choice):
            with m.Case(1):
                m.d.comb += self.found.eq(self.wide == 0)
            with m.Case(2):
                m.d.comb += self.found.eq(count[3])
        return m


class Inner(wiring.Component):
    """Adds the halves of what it gets."""

    def __init__(self) -> None:
        super().__init__({"both": In(8), "sum": Out(4)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        m.d.sync += self.sum.eq(self.both[:4] + self.both[4:])
        return m


class Parts(wiring.Component):
    """Gives a submodule a signal whose halves two cells drive."""

    def __init__(self) -> None:
        super().__init__({"a": In(4), "b": In(4), "sum": Out(4)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        m.submodules.inner = inner = Inner()
        m.d.comb += [inner.both.eq(Cat(self.a ^ 5, self.b & 3)), self.sum.eq(inner.sum)]
        return m


def test_ports_are_clock_and_reset_and_then_by_name() -> None:
    head = component_to_verilog(Names(), name="names").split("module names(", 1)[1].split(")", 1)[0]
    assert head.split(", ") == ["clk", "rst", "address", "choice", "found", "part", "wide"]


def test_collection_of_garbage_is_as_it_was_afterwards() -> None:
    gc.disable()
    try:
        component_to_rtlil(Names(), name="names")
        assert not gc.isenabled()
    finally:
        gc.enable()
    component_to_rtlil(Names(), name="names")
    assert gc.isenabled()


def test_a_port_between_modules_is_called_after_the_signal_that_it_is_a_part_of() -> None:
    text = component_to_verilog(Parts(), name="parts")
    assert "$" not in text.split("module \\parts.inner (", 1)[1].split(")", 1)[0]
    assert re.search(r"module \\parts.inner \(clk, rst, both_bits_0_3, both_bits_4_7, sum\);", text)


def test_contents_of_a_memory_are_kept_and_zeros_are_none() -> None:
    text = component_to_verilog(Table([7, 0, 9]), name="table")
    assert re.findall(r"memory\[(\d)\] = 8'h(\w+);", text) == [("0", "07"), ("1", "00"), ("2", "09"), ("3", "00")]
    empty = component_to_verilog(Table([0, 0]), name="table")
    assert re.search(r"reg \[7:0\] memory\s*\[3:0\];", empty)
    assert not re.search(r"memory\[\d\] =", empty)


def test_what_has_no_bits_is_left_out() -> None:
    text = component_to_verilog(Nothing(), name="nothing")
    assert "[-1:0]" not in text
    assert "module nothing(clk, rst, choose, next, number);" in text
    assert "width 0" not in component_to_rtlil(Nothing(), name="nothing")


def test_a_selection_is_cut_after_it_was_made() -> None:
    text = component_to_verilog(Names(), name="names")
    wide = re.search(r"assign (\S+)\s+= wide >> address;", text)
    assert wide is not None
    assert f"wire [8:0] {wide[1]} ;" in text
    assert re.search(rf"= {re.escape(wide[1])} \[1:0\];", text)


def test_a_case_has_a_default_and_a_comparison_names_its_zero() -> None:
    text = component_to_verilog(Names(), name="names")
    (case,) = re.findall(r"casez \(choice\).*?endcase", text, re.DOTALL)
    assert "default:" in case
    assert "wide == 1'h0" in text
    assert "else begin" not in text


def test_the_whole_design_is_the_module_at_the_top() -> None:
    class Whole(wiring.Component):
        """A table in a module of its own."""

        def __init__(self) -> None:
            super().__init__({"address": In(2), "word": Out(8)})

        def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
            m = Module()
            m.submodules.table = table = Table([1, 2, 3])
            m.d.comb += [table.address.eq(self.address), self.word.eq(table.word)]
            return m

    text = component_to_rtlil(Whole(), name="whole")
    assert re.findall(r"attribute \\top 1\n(?:attribute .*\n)*module (\S+)", text) == ["\\whole"]
    assert len(re.findall(r"^module ", text, re.MULTILINE)) >= 2


def test_a_name_that_would_be_anothers_keeps_its_underscores() -> None:
    class Alike(wiring.Component):
        """Registers of which two would have one name."""

        def __init__(self) -> None:
            super().__init__({"x": In(4), "q": Out(4)})

        def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
            m = Module()
            first, second = Signal(4, name="held_data"), Signal(4, name="held__data")
            third, fourth = Signal(4, name="one___two"), Signal(4, name="one__two")
            m.d.sync += [first.eq(self.x), second.eq(first), third.eq(second), fourth.eq(third), self.q.eq(fourth)]
            return m

    text = component_to_verilog(Alike(), name="alike")
    assert set(re.findall(r"reg \[3:0\] (\w+)", text)) == {"held_data", "held__data", "one_two", "one__two", "q"}


def test_no_wire_is_called_like_a_bit_of_another() -> None:
    verilog = component_to_verilog(Elements(), name="elements")
    names = set(re.findall(r"\\\S+", verilog))
    assert not [name for name in names if "[" in name]
    # One that is there already keeps its name.
    assert {r"\counts.0", r"\counts.1", r"\counts.1_1", r"\kept.pairs.1.0"} <= names

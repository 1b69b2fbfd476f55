# amaranth: UnusedElaboratable=no
"""What a reset clears: control, and no register that holds data, whose value nobody reads before it is written.

A register that is cleared takes more logic, and its reset reaches over the whole chip. Along with it is said what each
component costs in registers, memories and logic, so that none becomes larger unseen.
"""

from collections.abc import Iterator
from pathlib import Path

from amaranth.lib import wiring

from hw.compute.stage import ComputeStage
from hw.core import Core
from hw.sim.netlist import cells as n
from hw.sim.netlist.frontend import build_netlist
from hw.sim.netlist.order import input_values
from hw.top import Top
from isa.config import VTAConfig
from tests.support.golden.golden_text import check_golden_text
from tests.support.hw.every_component import components, variants

WHOLES = (Top, Core, ComputeStage)
"""Put together of the others."""

GOLDEN = Path(__file__).parent / "golden"
CONFIG = VTAConfig(log_block=2, log_uop_buff_size=9, log_inp_buff_size=9, log_wgt_buff_size=10, log_acc_buff_size=11)


def registers(netlist: n.Netlist) -> Iterator[tuple[str, int, bool]]:
    """Yield the names of the registers of the component itself, their bits, and whether a reset clears each.

    What has a dot or a dollar in its name belongs to a part, which is asked by itself.
    """
    known: dict[int, bool] = {}
    place = netlist.top.inputs["rst"][0] if "rst" in netlist.top.inputs else None

    def is_reset(net: int) -> bool:
        """Return whether a net depends on the reset in the same cycle."""
        if net <= 1:
            return False
        number, bit = net >> 16, net & 0xFFFF
        if number == 0:
            return bit == place
        if number not in known:
            known[number] = False
            cell = netlist.cells[number]
            if not isinstance(cell, n.FlipFlop | n.SyncReadPort | n.MemoryCell):
                known[number] = any(is_reset(each) for value in input_values(cell) for each in value)
        return known[number]

    for name, signal in netlist.signals.items():
        cells = {net >> 16 for net in signal.value if net > 1}
        found = [cell for cell in map(netlist.cells.__getitem__, cells) if isinstance(cell, n.FlipFlop)]
        if not {".", "$"} & set(name) and found and len(found) == len(cells):
            yield name, len(signal.value), any(is_reset(net) for cell in found for net in cell.data)


ARITHMETIC = {
    "sums": {"+", "-"},
    "products": {"*"},
    "comparisons": {"==", "!=", "u<", "u<=", "u>", "u>=", "s<", "s<=", "s>", "s>="},
    "gates": {"&", "|", "^", "~", "b", "r|", "r&", "r^"},
    "shifts": {"<<", "u>>", "s>>"},
}
"""What is computed with, by what it costs in logic."""


def cost(netlist: n.Netlist) -> str:
    """Return the bits that a component with all its parts keeps, adds, multiplies, compares, combines and chooses."""
    flags = sum(len(cell.data) for cell in netlist.cells if isinstance(cell, n.FlipFlop))
    rows = sum(cell.depth * cell.width for cell in netlist.cells if isinstance(cell, n.MemoryCell))
    bits = dict.fromkeys([*ARITHMETIC, "choices"], 0)
    for cell in netlist.cells:
        match cell:
            case n.Operator(kind="m"):
                bits["choices"] += cell.width
            case n.Operator():
                [kind] = (name for name, kinds in ARITHMETIC.items() if cell.kind in kinds)
                bits[kind] += max(len(value) for value in cell.inputs)
            case n.Part():
                bits["choices"] += cell.width
            case n.AssignmentList():
                bits["choices"] += sum(len(each.value) for each in cell.assignments)
    logic = "".join(f", {count} of {kind}" for kind, count in bits.items() if count)
    return f"{flags} bits in registers, {rows} in memories{logic}"


def described(component: wiring.Component) -> str:
    """Return a component's name, the registers of its own that a reset clears, and those that keep what they hold.

    Each is told with its bits, for a register that is wider than it must be costs as much as one too many; so does
    what is computed with them.
    """
    netlist = build_netlist(component)
    found = sorted(registers(netlist))
    lines = [type(component).__name__]
    for text, wanted in (("cleared", True), ("kept", False)):
        names = [f"{name} {bits}" for name, bits, cleared in found if cleared is wanted]
        lines += [f"  {text}: {', '.join(names)}"] if names else []
    lines.append(f"  with all parts: {cost(netlist)}")
    return "\n".join(lines)


def test_a_reset_clears_control_alone(update_golden: bool) -> None:
    text = "\n".join(described(each) for each in components(CONFIG) if not isinstance(each, WHOLES))
    check_golden_text(text + "\n", GOLDEN / "resets.txt", update=update_golden)


def test_settings_cost_what_they_are_known_to_cost(update_golden: bool) -> None:
    text = "".join(f"{name}: {cost(build_netlist(each))}\n" for name, each in variants(CONFIG).items())
    check_golden_text(text, GOLDEN / "costs.txt", update=update_golden)

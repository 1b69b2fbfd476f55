"""A launch as text: one line per instruction, with its times, what it says, and where it came from.

Tests: tests/vta/inspect/trace/test_listing.py.
"""

from collections.abc import Iterator

from isa.instructions import Module
from isa.origin import Origin
from isa.printable import in_one_line
from isa.text.disassembler import format_instruction
from runtime.observe.dump import dump_instructions
from runtime.observe.timeline import NEVER
from vta.inspect.trace.model import Recorded

__all__ = ["classic_listing", "launch_listing"]

_TEXT_WIDTH = 84


def launch_listing(
    launch: Recorded, *, modules: frozenset[Module] = frozenset(Module), calls: bool = False
) -> Iterator[str]:
    """Yield the lines of a launch: a head, column titles, and the instructions of ``modules``.

    With a clock, the columns are the cycles in which an instruction was issued to its module, started and completed;
    without one, its place in the order of execution. ``-`` stands for what did not happen. With ``calls``, the runtime
    call that made an instruction is named in any case, and not only where no stage is known.
    """
    timeline = launch.timeline
    what = f"{timeline.cycles} cycles" if timeline.cycles is not None else "no clock"
    purpose = f" for {in_one_line(launch.node)}" if launch.node else ""
    yield (
        f"launch {launch.number}{purpose} on {in_one_line(timeline.device)}: {len(launch)} instructions, {what}, "
        f"{launch.config.bitstream}"
    )
    if timeline.error is not None:
        yield f"failed: {in_one_line(timeline.error)}"
    times = [timeline.begun, timeline.ended] if timeline.issued is not None else [timeline.begun]
    titles = ["issued", "begun", "ended"] if timeline.issued is not None else ["order"]
    if timeline.issued is not None:
        times = [timeline.issued, *times]
    yield "  ".join(["index", *(f"{title:>9}" for title in titles), "module ", "instruction"])
    for index, instruction in enumerate(launch.instructions):
        if instruction.module not in modules:
            continue
        cells = "  ".join(f"{_time(int(column[index])):>9}" for column in times)
        text = (
            f"{index:5}  {cells}  {instruction.module.name.lower():7}  {format_instruction(instruction, launch.config)}"
        )
        origin = timeline.origins[index]
        source = "" if origin is None else _source(origin, call=calls)
        yield f"{text:<{_TEXT_WIDTH + 11 * len(times)}}  ; {in_one_line(source)}" if source else text
    if launch.legal < len(launch):
        yield f"{launch.legal:5}  not an instruction, and nothing after it was looked at"


def classic_listing(launch: Recorded) -> str:
    """Return the text that upstream's runtime dumped for a launch."""
    return dump_instructions(launch.instructions)


def _source(origin: Origin, *, call: bool) -> str:
    named = str(origin)
    return f"{named}, {origin.call}" if call and origin.call and not named.endswith(origin.call) else named


def _time(time: int) -> str:
    return "-" if time == NEVER else str(time)

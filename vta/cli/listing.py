"""The listing of a launch: one line per instruction, with its index and the schedule line that it came from.

Tests: tests/vta/cli/test_script_commands.py.
"""

from isa.instructions import Instruction
from isa.origin import Origin
from isa.printable import in_one_line
from isa.text.disassembler import format_instruction
from runtime.queue.launch import Launch

__all__ = ["launch_listing"]

_WIDTH = 84


def launch_listing(launch: Launch, number: int) -> str:
    """Return the text of launch ``number`` (counted from 0) of a run."""
    instructions = launch.instructions
    node = ", ".join(filter(None, launch.nodes))
    name = f"launch {number} for {in_one_line(node)}" if node else f"launch {number}"
    head = f"{name}: {len(instructions)} instructions, {len(launch.uops)} micro-ops, {launch.config.bitstream}"
    lines = [
        _line(index, instruction, launch, origin)
        for index, (instruction, origin) in enumerate(zip(instructions, launch.origins, strict=True))
    ]
    return "\n".join([head, *lines]) + "\n"


def _line(index: int, instruction: Instruction, launch: Launch, origin: Origin | None) -> str:
    text = f"{index:5d}  {format_instruction(instruction, launch.config)}"
    return f"{text:<{_WIDTH}}  ; {origin}" if origin is not None else text

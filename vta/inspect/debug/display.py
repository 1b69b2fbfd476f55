"""What a debugger shows, as text: tiles, micro-ops, DRAM, tokens, the instructions around the next one.

Tests: tests/vta/inspect/debug/test_debugger.py.
"""

from collections.abc import Sequence

import numpy as np

from isa.encoding import DecodingError, decode_uop
from isa.index_sets import Elements, count_of, spans_text
from isa.instructions import Load, MemoryId, Module
from isa.program import Program
from isa.text.disassembler import format_instruction
from isa.tokens import TokenQueue, pops, pushes
from vta.inspect.debug.breakpoints import parse_range
from vta.inspect.debug.reversible import ReplayMachine
from vta.inspect.diff.differ import describe
from vta.inspect.diff.state import names_of_dram

__all__ = ["dram_text", "listing", "queues_text", "tile_text", "touched_text", "where_text"]


def tile_text(machine: ReplayMachine, memory: MemoryId, begin: int, end: int) -> str:
    """Return elements ``begin`` to ``end - 1`` of a scratchpad, a line for each row."""
    state = machine.state
    if memory == MemoryId.UOP:
        return "\n".join(f"UOP[{place}]: {_uop_text(machine, place)}" for place in range(begin, end))
    pad = {MemoryId.INP: state.inp, MemoryId.WGT: state.wgt}.get(memory, state.acc)
    lines = []
    for place in range(begin, end):
        for number, row in enumerate(pad[place].tolist()):
            label = f"{memory.name}[{place}]" if len(pad[place]) == 1 else f"{memory.name}[{place}, row {number}]"
            lines.append(f"{label}: {' '.join(str(value) for value in row)}")
    return "\n".join(lines)


def _uop_text(machine: ReplayMachine, place: int) -> str:
    word = int(machine.state.uop[place])
    try:
        uop = decode_uop(word, machine.program.config)
    except DecodingError:
        return f"{word:#010x}"
    return f"dst={uop.dst} src={uop.src} wgt={uop.wgt}"


def dram_text(machine: ReplayMachine, place: str) -> str:
    """Return a named tensor, or the bytes of an address range (16 a line)."""
    memory = machine.state.memory
    for name, address, dtype, shape in names_of_dram(machine.program):
        if name == place:
            kind = np.dtype(dtype)
            count = int(np.prod(shape))
            tensor = memory[address : address + count * kind.itemsize].view(kind).reshape(shape)
            return f"{name}: {dtype}{list(shape)} at {address:#x}\n{np.array2string(tensor, max_line_width=100)}"
    begin, end = parse_range(place)
    if end == begin + 1:
        end = begin + 16
    lines = []
    for at in range(begin, min(end, len(memory)), 16):
        values = memory[at : min(at + 16, end)].tolist()
        lines.append(f"{at:#010x}: {' '.join(f'{value:02x}' for value in values)}")
    return "\n".join(lines) or f"memory ends at {len(memory):#x}"


def where_text(machine: ReplayMachine) -> str:
    """Return the next instruction with its place and origin."""
    if machine.at_end:
        return "the program has ended"
    return f"{machine.position}: {describe(machine.program, machine.position)}"


def touched_text(machine: ReplayMachine) -> str:
    """Return what the next instruction reads and writes, a line each."""
    if machine.at_end:
        return "the program has ended"
    footprint = machine.footprint()
    lines = [f"error: {message}" for _, message in footprint.problems]
    lines += [f"reads {_elements_text(memory, elements)}" for memory, elements in footprint.reads]
    lines += [f"writes {_elements_text(memory, elements)}" for memory, elements in footprint.writes]
    entry = machine.next
    if isinstance(entry, Load) and entry.memory == MemoryId.UOP and entry.x_size:
        lines.append(f"writes UOP {spans_text(range(entry.sram_base, entry.sram_base + entry.x_size))}")
    verb = "reads" if isinstance(entry, Load) else "writes"
    lines += [f"{verb} DRAM bytes {begin:#x} to {end - 1:#x}" for begin, end in machine.rows()]
    return "\n".join(lines) or "touches nothing"


def _elements_text(memory: MemoryId, elements: Elements) -> str:
    places = np.arange(elements.start, elements.stop) if isinstance(elements, slice) else elements
    return f"{memory.name} {spans_text(places)} ({count_of(elements)} in all)"


def queues_text(machine: ReplayMachine) -> str:
    """Return the tokens in each queue after what was executed, and the next instruction of each module."""
    instructions = machine.program.instructions
    tokens = dict.fromkeys(TokenQueue, 0)
    for entry in instructions[: machine.position]:
        for queue in pops(entry.module, entry.deps):
            tokens[queue] -= 1
        for queue in pushes(entry.module, entry.deps):
            tokens[queue] += 1
    lines = ["tokens: " + ", ".join(f"{queue.value} {count}" for queue, count in tokens.items())]
    for module in Module:
        ahead = range(machine.position, len(instructions))
        index = next((i for i in ahead if instructions[i].module == module), None)
        lines.append(f"{module.name}: {_head_text(machine.program, index, tokens)}")
    return "\n".join(lines)


def _head_text(program: Program, index: int | None, tokens: dict[TokenQueue, int]) -> str:
    if index is None:
        return "nothing left"
    entry = program.instructions[index]
    lacking = [queue.value for queue in pops(entry.module, entry.deps) if not tokens[queue]]
    waits = f" (needs a token from {' and '.join(lacking)} first)" if lacking else ""
    return f"instruction {index}: {format_instruction(entry, program.config)}{waits}"


def listing(machine: ReplayMachine, around: int, stops: Sequence[int]) -> str:
    """Return the instructions around the next one, which is marked ``>``; those in ``stops`` with ``*``."""
    first = max(0, machine.position - around)
    last = min(len(machine.program.instructions), machine.position + around + 1)
    lines = []
    for index in range(first, last):
        mark = (">" if index == machine.position else " ") + ("*" if index in stops else " ")
        lines.append(f"{mark}{index:5d}  {describe(machine.program, index)}")
    return "\n".join(lines)

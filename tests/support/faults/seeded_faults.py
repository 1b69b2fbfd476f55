"""Faults planted in valid programs: what was changed, and at which instructions a tool may rightly point.

``plant(rng, program)`` picks a kind and a place at random. A fault on a token may be reported at either end of the
token.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from isa.check.token_flow import TokenFlow, token_flow
from isa.config import VTAConfig
from isa.encoding import EncodingError, decode_uop, encode, encode_uop
from isa.instructions import Alu, Deps, Finish, Gemm, Instruction, Load, MemoryId, Module, Store
from isa.program import Program
from isa.tokens import pops, pushes

__all__ = ["BROKEN", "LEGAL", "Fault", "plant"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A changed program; ``sites`` are the instructions to blame, ``text`` says what was done."""

    kind: str
    program: Program
    sites: frozenset[int]
    text: str


Planter = Callable[[np.random.Generator, Program], Fault | None]


def plant(rng: np.random.Generator, program: Program, kinds: Sequence[str]) -> Fault:
    """Return a fault of a kind picked from ``kinds``, whose words are legal."""
    while True:
        kind = kinds[int(rng.integers(len(kinds)))]
        fault = _PLANTERS[kind](rng, program)
        if fault is not None and _is_legal(fault.program, fault.sites):
            return fault


def _is_legal(program: Program, sites: frozenset[int]) -> bool:
    try:
        for index in sites:
            encode(program.instructions[index], program.config)
    except EncodingError:
        return False
    return True


def _changed(program: Program, changes: dict[int, Instruction]) -> Program:
    instructions = list(program.instructions)
    for index, instruction in changes.items():
        instructions[index] = instruction
    return replace(program, instructions=tuple(instructions))


def _pick(rng: np.random.Generator, choices: Sequence[int]) -> int:
    return choices[int(rng.integers(len(choices)))]


# --- tokens ----------------------------------------------------------------------------------------------------------

_LEGAL_FLAGS = {
    Module.LOAD: ("pop_next", "push_next"),
    Module.COMPUTE: ("pop_prev", "pop_next", "push_prev", "push_next"),
    Module.STORE: ("pop_prev", "push_prev"),
}


def _flag_places(program: Program, *, value: bool) -> list[tuple[int, str]]:
    """Return every token flag that is set (or could be set), FINISH aside."""
    return [
        (index, flag)
        for index, entry in enumerate(program.instructions[:-1])
        for flag in _LEGAL_FLAGS[entry.module]
        if getattr(entry.deps, flag) is value
    ]


def _with_flag(entry: Instruction, flag: str, value: bool) -> Instruction:
    return replace(entry, deps=replace(entry.deps, **{flag: value}))


def _partner(program: Program, flow: TokenFlow, index: int, flag: str) -> int | None:
    """Return the other end of a token that is given or taken with a flag."""
    module = program.instructions[index].module
    [queue] = (pops if flag.startswith("pop") else pushes)(module, Deps(**{flag: True}))
    mine, others = flow.givers[queue], flow.takers[queue]
    if flag.startswith("pop"):
        mine, others = others, mine
    place = list(mine).index(index)
    return others[place] if place < len(others) else None


def _sites(*indices: int | None) -> frozenset[int]:
    return frozenset(index for index in indices if index is not None)


def _drop(rng: np.random.Generator, program: Program) -> Fault | None:
    places = _flag_places(program, value=True)
    if not places:
        return None
    index, flag = places[int(rng.integers(len(places)))]
    partner = _partner(program, token_flow(program.instructions), index, flag)
    changed = _changed(program, {index: _with_flag(program.instructions[index], flag, False)})
    return Fault("token dropped", changed, _sites(index, partner), f"{flag} of instruction {index} is dropped")


def _add(rng: np.random.Generator, program: Program) -> Fault | None:
    places = _flag_places(program, value=False)
    index, flag = places[int(rng.integers(len(places)))]
    changed = _changed(program, {index: _with_flag(program.instructions[index], flag, True)})
    return Fault("token added", changed, _sites(index), f"{flag} of instruction {index} is added")


def _move(rng: np.random.Generator, program: Program) -> Fault | None:
    places = _flag_places(program, value=True)
    if not places:
        return None
    index, flag = places[int(rng.integers(len(places)))]
    entry = program.instructions[index]
    free = [
        i
        for i, other in enumerate(program.instructions[:-1])
        if other.module == entry.module and not getattr(other.deps, flag)
    ]
    near = sorted(free, key=lambda i: abs(i - index))[:2]
    if not near:
        return None
    target = _pick(rng, near)
    partner = _partner(program, token_flow(program.instructions), index, flag)
    moved = {
        index: _with_flag(entry, flag, False),
        target: _with_flag(program.instructions[target], flag, True),
    }
    text = f"{flag} of instruction {index} is moved to {target}"
    return Fault("token moved", _changed(program, moved), _sites(index, target, partner), text)


def _swap(rng: np.random.Generator, program: Program) -> Fault | None:
    last = len(program.instructions) - 2
    if last < 1:
        return None
    first = int(rng.integers(last))
    a, b = program.instructions[first], program.instructions[first + 1]
    if a == b:
        return None
    text = f"instructions {first} and {first + 1} are swapped"
    return Fault("swapped", _changed(program, {first: b, first + 1: a}), _sites(first, first + 1), text)


# --- bounds and unwritten reads --------------------------------------------------------------------------------------


def _working(program: Program, *kinds: type) -> list[int]:
    return [
        index
        for index, entry in enumerate(program.instructions)
        if isinstance(entry, kinds) and not (isinstance(entry, Load | Store) and not entry.x_size * entry.y_size)
    ]


def _beyond(rng: np.random.Generator, program: Program) -> Fault | None:
    index = _pick(rng, _working(program, Load, Store, Gemm, Alu))
    entry, config = program.instructions[index], program.config
    match entry:
        case Load() | Store():
            changed = _transfer_beyond(rng, entry, config)
        case Gemm() | Alu():
            changed = _loops_beyond(rng, entry, config)
        case Finish():
            return None
    text = f"instruction {index} reaches out of bounds: {changed}"
    return Fault("out of bounds", _changed(program, {index: changed}), _sites(index), text)


def _transfer_beyond(rng: np.random.Generator, entry: Load | Store, config: VTAConfig) -> Instruction:
    elem_bytes = config.elem_bytes(entry.memory)
    match int(rng.integers(3)):
        case 0:
            return replace(entry, sram_base=config.depth(entry.memory) - int(rng.integers(entry.x_size)))
        case 1:
            return replace(entry, dram_base=int(rng.integers((1 << 32) // elem_bytes, 1 << 32)))
        case _:
            return replace(entry, dram_base=int(rng.integers(4096 // elem_bytes)))


def _loops_beyond(rng: np.random.Generator, entry: Gemm | Alu, config: VTAConfig) -> Instruction:
    match int(rng.integers(3)):
        case 0:
            span = config.uop_depth - entry.uop_bgn
            return replace(entry, uop_end=min(config.uop_depth + 1 + int(rng.integers(span)), 2 * config.uop_depth - 1))
        case 1:
            return replace(entry, iter_in=int(rng.integers(2, 16384)), dst_factor_in=config.acc_depth - 1)
        case _:
            return replace(entry, iter_out=int(rng.integers(3, 16384)), dst_factor_out=config.acc_depth // 2)


def _unwritten(rng: np.random.Generator, program: Program) -> Fault | None:
    """Take the work of a load away; its tokens stay. Or read elements, or micro-ops, that lie beyond all others."""
    match int(rng.integers(3)):
        case 0 | 1:
            index = _pick(rng, _working(program, Load))
            load = program.instructions[index]
            assert isinstance(load, Load)
            changed: Instruction = replace(load, x_size=0)
        case _:
            index = _pick(rng, _working(program, Gemm, Alu))
            entry = program.instructions[index]
            assert isinstance(entry, Gemm | Alu)
            used = max((e.uop_end for e in program.instructions if isinstance(e, Gemm | Alu)), default=0)
            shift = used - entry.uop_bgn
            changed = replace(entry, uop_bgn=used, uop_end=entry.uop_end + shift)
    text = f"instruction {index} becomes {changed}"
    sites = {index}
    if isinstance(changed, Load):
        sites |= _readers(program, index)
    return Fault("unwritten", _changed(program, {index: changed}), frozenset(sites), text)


def _readers(program: Program, load: int) -> set[int]:
    """Return the compute instructions that may read what a load brings: up to the next load of the same place."""
    entry = program.instructions[load]
    assert isinstance(entry, Load)
    found = set()
    for index in range(load + 1, len(program.instructions)):
        other = program.instructions[index]
        if isinstance(other, Gemm | Alu | Store):
            found.add(index)
        if isinstance(other, Load) and other.memory == entry.memory and other.sram_base == entry.sram_base:
            break
    return found


# --- legal programs that do something else ---------------------------------------------------------------------------


def _shift(rng: np.random.Generator, program: Program) -> Fault | None:
    index = _pick(rng, _working(program, Load, Store, Gemm, Alu))
    entry = program.instructions[index]
    fields = [name for name in _SHIFTED[type(entry)] if _matters(entry, name)]
    if not fields:
        return None
    name = fields[int(rng.integers(len(fields)))]
    value = getattr(entry, name) + int(rng.choice([-2, -1, 1, 2]))
    if value < 0:
        return None
    changed = replace(entry, **{name: value})
    text = f"{name} of instruction {index} is {value}, not {getattr(entry, name)}"
    return Fault("shifted", _changed(program, {index: changed}), _sites(index), text)


_SHIFTED: dict[type, tuple[str, ...]] = {
    Load: ("sram_base", "dram_base", "x_stride"),
    Store: ("sram_base", "dram_base", "x_stride"),
    Gemm: (
        "dst_factor_out", "dst_factor_in", "src_factor_out", "src_factor_in", "wgt_factor_out", "wgt_factor_in"
    ),
    Alu: ("dst_factor_out", "dst_factor_in", "src_factor_out", "src_factor_in", "imm"),
}  # fmt: skip


def _matters(entry: Instruction, name: str) -> bool:
    """Return whether a field has a meaning in an instruction."""
    match entry:
        case Load() | Store():
            return name != "x_stride" or (entry.y_size > 1 and entry.memory != MemoryId.UOP)
        case Gemm() | Alu():
            if name == "imm":
                return isinstance(entry, Alu) and entry.use_imm
            return (entry.iter_out if name.endswith("out") else entry.iter_in) > 1
        case Finish():
            return False


def _shift_uop(rng: np.random.Generator, program: Program) -> Fault | None:
    """Change a field of a micro-op of the image; the loads that bring it are to blame."""
    if not program.uops:
        return None
    place = int(rng.integers(len(program.uops)))
    uop = decode_uop(program.uops[place], program.config)
    name = ("dst", "src", "wgt")[int(rng.integers(3))]
    value = getattr(uop, name) + int(rng.choice([-1, 1]))
    try:
        word = encode_uop(replace(uop, **{name: value}), program.config)
    except EncodingError:
        return None
    words = list(program.uops)
    words[place] = word
    address = program.uop_base // 4 + place
    sites = frozenset(
        index
        for index, entry in enumerate(program.instructions)
        if isinstance(entry, Load)
        and entry.memory == MemoryId.UOP
        and entry.dram_base <= address < entry.dram_base + entry.x_size
    )
    if not sites:
        return None
    text = f"{name} of micro-op {place} is {value}, not {getattr(uop, name)}"
    return Fault("micro-op shifted", replace(program, uops=tuple(words)), sites | _users(program, sites), text)


def _users(program: Program, loads: frozenset[int]) -> frozenset[int]:
    """Return the loops that use micro-ops which some loads bring, by their places in the buffer."""
    found = set()
    for load in loads:
        entry = program.instructions[load]
        assert isinstance(entry, Load)
        places = range(entry.sram_base, entry.sram_base + entry.x_size)
        for index, user in enumerate(program.instructions):
            if index > load and isinstance(user, Gemm | Alu) and user.uop_bgn in places:
                found.add(index)
    return frozenset(found)


_PLANTERS: dict[str, Planter] = {
    "drop": _drop,
    "add": _add,
    "move": _move,
    "swap": _swap,
    "beyond": _beyond,
    "unwritten": _unwritten,
    "shift": _shift,
    "shift_uop": _shift_uop,
}

BROKEN = ("drop", "add", "move", "swap", "beyond", "unwritten")
"""Kinds that are for the checker and the sanitizer, unless what is left is a legal program."""

LEGAL = ("shift", "shift", "shift", "shift_uop")
"""Kinds that are for the differ, unless they break something."""

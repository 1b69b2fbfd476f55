"""The instructions of one launch while they are being collected, and the dependency tokens between their modules.

Upstream's rules (``docs/runtime.md``) decide where tokens go: a pop waits (pending) for the next instruction
of its module; a push goes onto the last instruction of the whole stream if that is of its module and has the flag free;
otherwise no-ops carry them.

Tests: ``tests/runtime/queue/test_instruction_queue.py``.
"""

from dataclasses import dataclass
from enum import IntFlag
from typing import assert_never

from isa.errors import VTAError
from isa.instructions import Alu, Finish, Gemm, Instruction, Load, MemoryId, Module, Store, numbered
from isa.origin import Origin
from isa.tokens import TokenQueue
from runtime.memory.device_memory import Allocation

__all__ = [
    "DramSpan",
    "Entry",
    "InstructionQueue",
    "Token",
    "TokenError",
    "TokenStep",
    "known_module",
    "nop",
    "token_steps",
]


class TokenError(VTAError, ValueError):
    """A dependency between modules that no token queue joins."""


class Token(IntFlag):
    """Dependency flags of an instruction, in the order of the flag bits."""

    NONE = 0
    POP_PREV = 1
    POP_NEXT = 2
    PUSH_PREV = 4
    PUSH_NEXT = 8


@dataclass(frozen=True, slots=True)
class DramSpan:
    """The DRAM side of a data instruction: ``reach`` elements of ``buffer`` from element ``offset`` on."""

    buffer: Allocation
    offset: int
    reach: int
    element_bytes: int


@dataclass(slots=True)
class Entry:
    """One collected instruction; its flags may still grow while it is the last one."""

    instruction: Instruction
    tokens: Token = Token.NONE
    origin: Origin | None = None
    target: DramSpan | None = None

    @property
    def module(self) -> Module:
        """The module that runs it."""
        return self.instruction.module

    @property
    def takes_pushes(self) -> bool:
        """Whether a later push may be merged into it: upstream does so for everything but no-ops that are LOADs."""
        match self.instruction:
            case Finish():
                return False
            case Load():
                return not self.instruction.is_nop
            case Store() | Gemm() | Alu():
                return True
            case _:
                assert_never(self.instruction)


def nop(module: Module) -> Instruction:
    """Return the instruction of ``module`` that does nothing but carry tokens."""
    match module:
        case Module.LOAD:
            return Load(memory=MemoryId.INP)
        case Module.COMPUTE:
            return Load(memory=MemoryId.UOP)
        case Module.STORE:
            return Store(memory=MemoryId.UOP)
        case _:
            assert_never(module)


_QUEUES = frozenset(queue.ends for queue in TokenQueue)
"""The token queues, as (from, to)."""


TokenStep = tuple[tuple[Module, Module], int]
"""A token queue as (from, to), and -1 for a pop or 1 for a push."""


def _steps(module: Module, tokens: int) -> tuple[TokenStep, ...]:
    found: list[TokenStep] = []
    for token, offset in ((Token.POP_PREV, -1), (Token.POP_NEXT, 1)):
        if tokens & token:
            found.append(((Module(module + offset), module), -1))
    for token, offset in ((Token.PUSH_PREV, -1), (Token.PUSH_NEXT, 1)):
        if tokens & token:
            found.append(((module, Module(module + offset)), 1))
    return tuple(found)


_LEGAL = {Module.LOAD: 0b1010, Module.COMPUTE: 0b1111, Module.STORE: 0b0101}
"""The flags that instructions of a module may have."""

_STEPS = {
    (module, tokens): _steps(module, tokens)
    for module in Module
    for tokens in range(16)
    if not tokens & ~_LEGAL[module]
}


def token_steps(entry: Entry) -> tuple[TokenStep, ...]:
    """Return each token queue that ``entry`` touches, pops first."""
    return _STEPS[entry.module, int(entry.tokens)]


class InstructionQueue:
    """The entries of the launch that is being collected, and the pops that wait for an instruction."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._pending: dict[Module, Token] = dict.fromkeys(Module, Token.NONE)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def does_work(self) -> bool:
        """Whether an entry is more than a no-op."""
        return any(not entry.instruction.is_nop for entry in self.entries)

    def append(self, instruction: Instruction, origin: Origin | None, target: DramSpan | None = None) -> None:
        """Append an instruction, which takes the pops that are pending for its module."""
        module = instruction.module
        self.entries.append(Entry(instruction, self._pending[module], origin, target))
        self._pending[module] = Token.NONE

    def push(self, source: Module, target: Module, origin: Origin | None) -> None:
        """Let ``source`` give ``target`` a token when everything it has to do so far is complete."""
        token = Token.PUSH_NEXT if _adjacent("push", source, target) else Token.PUSH_PREV
        self.commit_pops(source, origin)
        last = self.entries[-1] if self.entries else None
        if last is not None and last.takes_pushes and last.module is source and not last.tokens & token:
            last.tokens |= token
            return
        self.entries.append(Entry(nop(source), token, origin))

    def pop(self, source: Module, target: Module, origin: Origin | None) -> None:
        """Let the next instruction of ``target`` wait for a token from ``source``."""
        token = Token.POP_PREV if _adjacent("pop", source, target) else Token.POP_NEXT
        if self._pending[target] & token:
            self.commit_pops(target, origin)
        self._pending[target] |= token

    def commit_pops(self, module: Module, origin: Origin | None) -> None:
        """Give the pops that are pending for ``module`` to a no-op."""
        if self._pending[module]:
            self.append(nop(module), origin)

    def take_pending(self) -> dict[Module, Token]:
        """Return the pending pops and forget them."""
        pending, self._pending = self._pending, dict.fromkeys(Module, Token.NONE)
        return pending

    def restore_pending(self, pending: dict[Module, Token]) -> None:
        """Set the pending pops to what ``take_pending`` returned."""
        self._pending = dict(pending)

    def take_entries(self) -> list[Entry]:
        """Return the entries and begin an empty launch."""
        entries, self.entries = self.entries, []
        return entries


def _adjacent(verb: str, source: Module, target: Module) -> bool:
    """Return whether ``target`` is to the right of ``source``; refuse modules that are not neighbours."""
    if (source, target) not in _QUEUES:
        raise TokenError(
            f"dependency {verb} from {source.name} to {target.name}: no token queue joins them; tokens pass between "
            "LOAD and COMPUTE and between COMPUTE and STORE"
        )
    return source < target


def known_module(number: Module | int) -> Module:
    """Return the module with a number (it may be one already); ``TokenError`` if there is none."""
    if number not in Module.__members__.values():
        raise TokenError(f"dependency: module {number} is unknown; the modules are {numbered(Module)}")
    return Module(number)

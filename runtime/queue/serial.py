"""Force-serial: the same instructions, each waiting for the one before it.

A debugging aid. Every token and no-op that the program had is replaced: an instruction gives a token to the module of
the next one, which waits for it. LOAD and STORE are not neighbours, so between them a compute no-op hands the token on
(upstream leaves such pairs unordered). Instructions of one module are ordered by the module itself.

Tests: ``tests/runtime/queue/test_command_queue.py``.
"""

from collections.abc import Sequence

from isa.instructions import Finish, Module
from runtime.queue.instruction_queue import Entry, Token, nop

__all__ = ["serialise"]


def serialise(entries: Sequence[Entry]) -> list[Entry]:
    """Return new entries for the instructions of ``entries`` that do something, in order, joined by tokens.

    At most twice as many as there were, plus one: FINISH, if it is last, is joined to the one before it like any other.
    """
    chain: list[Entry] = []
    for entry in entries:
        if entry.instruction.is_nop:
            continue
        module = entry.module
        if chain and abs(chain[-1].module - module) == 2:
            _join(chain, Entry(nop(Module.COMPUTE), origin=entry.origin))
        if chain and isinstance(entry.instruction, Finish) and chain[-1].module is not Module.COMPUTE:
            _join(chain, Entry(nop(Module.COMPUTE), origin=entry.origin))
        _join(chain, Entry(entry.instruction, origin=entry.origin, target=entry.target))
    return chain


def _join(chain: list[Entry], entry: Entry) -> None:
    """Append ``entry`` and let it wait for the one before it."""
    if chain and chain[-1].module is not entry.module:
        rightwards = chain[-1].module < entry.module
        chain[-1].tokens |= Token.PUSH_NEXT if rightwards else Token.PUSH_PREV
        entry.tokens |= Token.POP_PREV if rightwards else Token.POP_NEXT
    chain.append(entry)

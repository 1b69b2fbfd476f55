"""A program on the reference interpreter that can go back and forth: snapshots, and execution again from the last one.

Tests: tests/vta/inspect/debug/test_reversible.py.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from isa.check.findings import Finding
from isa.check.sanitizer import sanitize
from isa.check.token_flow import Shortage, token_flow
from isa.errors import VTAError
from isa.footprint import Footprint, Footprints, dram_rows
from isa.instructions import Instruction, Load, Store
from isa.known_uops import UopRange
from isa.program import Program
from isa.progress import counted
from isa.reference import InterpreterError, Reference

__all__ = ["ReplayMachine", "StepError"]

_EVERY = 64
"""Instructions between two snapshots, as long as there are few of them."""

_MOST = 64
"""Snapshots that are kept; with more, every other one is dropped."""

_MOST_BYTES = 1 << 28
"""Bytes of all snapshots together; with more, every other one is dropped, too."""

_PAGE = 4096


class StepError(VTAError, RuntimeError):
    """An instruction that cannot be executed, and why."""


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """Scratchpads, and the pages of DRAM that were written so far."""

    pads: tuple[npt.NDArray[np.generic], ...]
    pages: dict[int, bytes]


class ReplayMachine:
    """A legal ``program`` in DRAM of its own, at first before its first instruction.

    ``position`` is the number of instructions that were executed, and so the index of the next one. No access may lie
    below ``first_address``.
    """

    def __init__(self, program: Program, *, first_address: int = 0) -> None:
        self.program = program
        self.position = 0
        self._first_address = first_address
        self._initial = program.dram(at_least=first_address)
        dram = program.dram(at_least=first_address)  # a copy would take memory for every page that nothing writes
        self.state = Reference(program.config, dram, first_address=first_address)
        self._footprints = Footprints(program.config, range(first_address, len(self._initial)))
        self._every = _EVERY
        self._written: set[int] = set()
        self._changed: set[int] = set()  # since the last snapshot, or since one was gone back to
        self._kept_pages: dict[int, bytes] = {}
        self._snapshots = {0: self._snapshot()}

    @property
    def at_end(self) -> bool:
        """Whether everything was executed."""
        return self.position == len(self.program.instructions)

    @property
    def next(self) -> Instruction | None:
        """The next instruction, or None at the end."""
        return None if self.at_end else self.program.instructions[self.position]

    @cached_property
    def shortage(self) -> Shortage | None:
        """The first instruction in program order that takes a token which nothing gives: no engine gets past it."""
        return token_flow(self.program.instructions).shortage

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What the sanitizer says about the program; computed when it is first asked for."""
        return sanitize(self.program, first_address=self._first_address).findings

    def footprint(self) -> Footprint:
        """Return what the next instruction (there is one) touches on chip, with the micro-ops that are there now."""
        assert self.next is not None, "the caller has looked"
        return self._footprints.of(self.next, self._uops)

    def rows(self) -> list[tuple[int, int]]:
        """Return the byte ranges of DRAM that the next instruction touches."""
        entry = self.next
        if not isinstance(entry, Load | Store) or not entry.x_size or not entry.y_size:
            return []
        return dram_rows(entry, self.program.config.elem_bytes(entry.memory))

    def step(self) -> None:
        """Execute the next instruction; ``StepError`` at the end, or if it cannot be executed."""
        entry = self.next
        if entry is None:
            raise StepError("the program has ended")
        if self.shortage is not None and self.shortage.index == self.position:
            token = f"a token from {self.shortage.queue.value} that nothing before it gives"
            raise StepError(f"instruction {self.position} waits for {token}")
        try:
            self.state.step(entry)
        except InterpreterError as error:
            message = str(error).partition(": ")[2]
            raise StepError(f"instruction {self.position}: {message}") from None
        if isinstance(entry, Store):
            for begin, end in self.rows():
                pages = range(begin // _PAGE, (end - 1) // _PAGE + 1)
                self._changed.update(pages)
                self._written.update(pages)
        self.position += 1
        if self.position % self._every == 0 and self.position not in self._snapshots:
            self._keep()

    def go_to(self, position: int) -> None:
        """Execute, or go back, until ``position`` instructions were executed; errors as ``step``."""
        if position < self.position:
            self._restore(max(place for place in self._snapshots if place <= position))
        for _ in counted(range(self.position, position), "executing"):
            self.step()

    # --- snapshots ---------------------------------------------------------------------------------------------------

    def _snapshot(self) -> _Snapshot:
        state = self.state
        pads = tuple(pad.copy() for pad in (state.uop, state.inp, state.wgt, state.acc))
        changed = {page: state.memory[page * _PAGE : (page + 1) * _PAGE].tobytes() for page in self._changed}
        self._kept_pages = {**self._kept_pages, **changed}
        self._changed.clear()
        return _Snapshot(pads, self._kept_pages)

    def _keep(self) -> None:
        self._snapshots[self.position] = self._snapshot()
        while len(self._snapshots) > 1 and (len(self._snapshots) > _MOST or self._snapshot_bytes() > _MOST_BYTES):
            self._every *= 2
            self._snapshots = {at: kept for at, kept in self._snapshots.items() if at % self._every == 0}

    def _snapshot_bytes(self) -> int:
        """Return what all snapshots take; a page that did not change is the same bytes in several."""
        pages = {id(page) for kept in self._snapshots.values() for page in kept.pages.values()}
        return _PAGE * len(pages) + sum(pad.nbytes for kept in self._snapshots.values() for pad in kept.pads)

    def _restore(self, position: int) -> None:
        kept, state = self._snapshots[position], self.state
        state.uop[:], state.inp[:], state.wgt[:], state.acc[:] = kept.pads
        for page in self._written:
            place = slice(page * _PAGE, (page + 1) * _PAGE)
            state.memory[place] = (
                np.frombuffer(kept.pages[page], np.uint8) if page in kept.pages else self._initial[place]
            )
        self._written, self._kept_pages = set(kept.pages), kept.pages
        self._changed.clear()
        self.position = position

    def _uops(self, begin: int, end: int) -> UopRange:
        return UopRange.of(self.state.uop[begin:end], self.program.config)

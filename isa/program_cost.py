"""What a program takes of memory beyond its own file when it runs: outputs, and the pages that its stores reach.

Tests: ``tests/isa/test_program_cost.py``.
"""

from collections.abc import Iterator

import numpy as np

from isa.extents import moved_elements, row_starts
from isa.instructions import Store
from isa.limits import Budget
from isa.printable import in_one_line
from isa.program import Program

__all__ = ["spend_on_running", "written_bytes"]

_PAGE = 4096

_COPIES = 2
"""Copies of an output: what lies in DRAM, and what is read from there."""


def spend_on_running(program: Program, budget: Budget) -> None:
    """Spend what running ``program`` takes of memory; ``LimitError`` says for what there is not enough.

    Stores are looked at one by one only if the addresses that they may write to are more than is left.
    """
    for output in program.memory.outputs:
        budget.spend(_COPIES * output.nbytes, f"output {in_one_line(output.name) or hex(output.address)}")
    if program.end > budget.left and any(True for _ in _stores(program)):
        budget.spend(written_bytes(program), "what the stores write, in pages of 4 KiB,")


def written_bytes(program: Program) -> int:
    """Return the bytes of all pages, each once, that the stores of a program can write to.

    A store of more elements than lie on the chip is refused before it writes anything, and so is a row behind the last
    address that the program names.
    """
    pages = -(-program.end // _PAGE)
    edges = np.zeros(pages + 1, np.int64)
    for store in _stores(program):
        unit = program.config.elem_bytes(store.memory)
        begins = np.array(row_starts(store), np.int64) * unit
        np.add.at(edges, np.minimum(begins // _PAGE, pages), 1)
        np.add.at(edges, np.minimum((begins + store.x_size * unit - 1) // _PAGE + 1, pages), -1)
    return int(np.count_nonzero(np.cumsum(edges)[:-1])) * _PAGE


def _stores(program: Program) -> Iterator[Store]:
    """Yield the stores that can write anything."""
    depth = program.config.out_depth
    for instruction in program.instructions:
        if isinstance(instruction, Store) and 0 < moved_elements(instruction) <= depth:
            yield instruction

"""What the axes of blocks stand for, when the loops around them change.

Tests: tests/vta/tir/schedule/test_loops.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from vta.arith.block_regions import analyzer_for
from vta.tir.expr import And, Expr, IterKind, Var, binary
from vta.tir.stmt import Block, For, Stmt
from vta.tir.traverse import map_stmt, substitute, uses_var, walk

__all__ = ["reducing_over", "rewritten_bindings"]


def rewritten_bindings(
    body: Stmt, values: Mapping[Var, Expr], loops: Sequence[For], condition: Expr | None = None
) -> Stmt:
    """Return ``body`` with ``values`` for the variables of loops that go, what its blocks stand for simplified.

    ``loops`` are all loops around ``body``. With a ``condition``, the outer blocks in it run only where that holds.
    """
    moved = substitute(body, values)
    inner = {block.name for outer in walk(moved) if isinstance(outer, Block) for block in _blocks_inside(outer)}
    analyzer = analyzer_for([*loops, *(node for node in walk(moved) if isinstance(node, For))])

    def settled(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Block):
            return stmt
        predicate = stmt.predicate
        if condition is not None and stmt.name not in inner:
            predicate = binary(And, condition, predicate)
        simplified = tuple(analyzer.simplify(value) for value in stmt.values)
        return replace(stmt, values=simplified, predicate=analyzer.simplify(predicate))

    return map_stmt(moved, settled)


def _blocks_inside(block: Block) -> Iterable[Block]:
    return (node for node in walk(block) if isinstance(node, Block) and node is not block)


def reducing_over(loop: For) -> list[str]:
    """Return the names of the blocks in ``loop`` that reduce over it."""
    found = []
    for block in walk(loop):
        if not isinstance(block, Block):
            continue
        pairs = zip(block.iter_vars, block.values, strict=True)
        if any(axis.kind is not IterKind.DATA_PAR and uses_var(value, loop.loop_var) for axis, value in pairs):
            found.append(block.name)
    return found

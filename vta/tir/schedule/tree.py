"""Finding blocks and loops in a program, and replacing them.

A loop is known by its variable, a block by its name: both are unique in a program that is scheduled.
Tests: tests/vta/tir/schedule/test_tree.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from vta.tir.expr import Var
from vta.tir.func import PrimFunc
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.stmt import Block, For, SeqStmt, Stmt, seq
from vta.tir.traverse import children, map_stmt, walk

__all__ = [
    "block_named",
    "chain_between",
    "check_unique",
    "enclosing_block",
    "fresh_name",
    "loop_of",
    "loops_around",
    "only_blocks_below",
    "path_to",
    "replaced",
    "without_statement",
]  # fmt: skip


def path_to(root: Stmt, target: Stmt) -> list[Stmt]:
    """Return the statements from ``root`` to ``target``, both included; ``target`` is in the program."""
    stack: list[tuple[Stmt, tuple[Stmt, ...]]] = [(root, (root,))]
    while stack:
        node, path = stack.pop()
        if node is target:
            return list(path)
        stack.extend((child, (*path, child)) for child in children(node) if isinstance(child, Stmt))
    raise AssertionError("the statement is not in the program")


def block_named(func: PrimFunc, name: str) -> Block:
    """Return the block ``name``."""
    found = [node for node in walk(func.body) if isinstance(node, Block)]
    for block in found:
        if block.name == name:
            return block
    names = ", ".join(block.name for block in found) or "none"
    raise BlockScheduleError(f"function {func.name!r} has no block {name!r}; its blocks are: {names}")


def loop_of(func: PrimFunc, var: Var) -> For:
    """Return the loop over ``var``."""
    for node in walk(func.body):
        if isinstance(node, For) and node.loop_var is var:
            return node
    raise BlockScheduleError(
        f"function {func.name!r} has no loop {var.name!r} any more: it was split, fused, or went with its block"
    )


def enclosing_block(func: PrimFunc, stmt: Stmt) -> Block:
    """Return the innermost block around ``stmt``."""
    for node in reversed(path_to(func.body, stmt)[:-1]):
        if isinstance(node, Block):
            return node
    raise BlockScheduleError("the root block has nothing around it; expected one of the blocks in it")


def loops_around(func: PrimFunc, stmt: Stmt) -> list[For]:
    """Return the loops around ``stmt`` up to the next block, the outermost first."""
    loops: list[For] = []
    for node in path_to(func.body, stmt)[:-1]:
        if isinstance(node, Block):
            loops = []
        elif isinstance(node, For):
            loops.append(node)
    return loops


def chain_between(outer: For, inner: For) -> list[For] | None:
    """Return the loops from ``outer`` to ``inner``, each the only thing in the one before; None if they are not so."""
    chain = [outer]
    while chain[-1] is not inner:
        body = chain[-1].body
        if not isinstance(body, For):
            return None
        chain.append(body)
    return chain


def only_blocks_below(stmt: Stmt) -> Iterator[Block]:
    """Yield the blocks in ``stmt`` that are in no other block of it."""
    stack: list[Stmt] = [stmt]
    while stack:
        node = stack.pop()
        if isinstance(node, Block):
            yield node
        else:
            stack.extend(reversed([child for child in children(node) if isinstance(child, Stmt)]))


def replaced(func: PrimFunc, changes: Mapping[int, Stmt]) -> PrimFunc:
    """Return ``func`` with statements replaced, by their ``id``; none of them may lie inside of another."""

    def change(stmt: Stmt) -> Stmt:
        return changes.get(id(stmt), stmt)

    return replace(func, body=map_stmt(func.body, change))


def without_statement(func: PrimFunc, target: Stmt) -> PrimFunc:
    """Return ``func`` without ``target`` and the loops that hold nothing else."""
    path = path_to(func.body, target)
    gone: Stmt = target
    for node in reversed(path[:-1]):
        match node:
            case For():
                gone = node
            case SeqStmt():
                rest = seq(item for item in node.stmts if item is not gone)
                return replaced(func, {id(node): rest})
            case _:
                break
    raise BlockScheduleError("the only thing that a block computes cannot be taken out of it")


def fresh_name(func: PrimFunc, wanted: str) -> str:
    """Return a name for a new block."""
    taken = {node.name for node in walk(func.body) if isinstance(node, Block)}
    name, number = wanted, 0
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def check_unique(func: PrimFunc) -> None:
    """Raise for two blocks of one name, or two loops over one variable."""
    names: set[str] = set()
    variables: set[Var] = set()
    for node in walk(func.body):
        match node:
            case Block():
                if node.name in names:
                    raise BlockScheduleError(f"function {func.name!r} has two blocks {node.name!r}; rename one of them")
                names.add(node.name)
            case For():
                if node.loop_var in variables:
                    name = node.loop_var.name
                    raise BlockScheduleError(f"function {func.name!r} has two loops over one variable {name!r}")
                variables.add(node.loop_var)
            case _:
                continue

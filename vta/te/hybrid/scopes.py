"""What a function of hybrid script has in memory: where each tensor of its own begins to exist, and with which values.

Python keeps a variable until it is assigned again, and an array begins with zeros. A variable that a loop assigns first
of all, in every iteration, exists in that loop; one that is assigned under a condition exists outside, and keeps its
value from iteration to iteration. Zeros are stored where what follows does not certainly store every element before it
reads one. Tests: tests/vta/te/hybrid/test_scopes.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.te.operation import PlaceholderOp
from vta.te.tensor import Tensor
from vta.tir.deep import deep
from vta.tir.dtype import DType
from vta.tir.expr import Expr, IntImm, ProducerLoad, Range, Var, const, same
from vta.tir.stmt import (
    AttrStmt,
    For,
    ForKind,
    ProducerRealize,
    ProducerStore,
    SeqStmt,
    Stmt,
    stmt_list,
)
from vta.tir.traverse import uses_var, walk

__all__ = ["Local", "Scope", "filled", "needs_zeros", "place"]


def place(name: str, shape: tuple[Expr, ...], dtype: DType) -> Tensor:
    """Return a tensor that stands for memory of a function's own."""
    return PlaceholderOp(name, shape, dtype).outputs[0]


@dataclass(frozen=True, slots=True)
class Local:
    """A variable: a tensor of one element."""

    tensor: Tensor
    line: int

    def scalar(self) -> ProducerLoad:
        """Return its value."""
        return ProducerLoad(self.tensor, (const(0),))


@dataclass(slots=True)
class Scope:
    """The function's body, or that of a loop. ``conditions`` counts the conditions that are open in it."""

    kind: ForKind | None = None
    conditions: int = 0
    own: list[tuple[Tensor, str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def around(self, body: Stmt) -> Stmt:
        """Return ``body`` with memory for what is the scope's own."""
        for tensor, memory in reversed(self.own):
            bounds = tuple(Range(const(0), size) for size in tensor.shape)
            body = ProducerRealize(tensor, bounds, body, storage_scope=memory)
        return body


def filled(tensor: Tensor) -> Stmt:
    """Return the loops that store zeros."""
    loops = [Var(f"z{i}") for i in range(tensor.ndim)]
    body: Stmt = ProducerStore(tensor, const(0, tensor.dtype), tuple(loops))
    for var, size in zip(reversed(loops), reversed(tensor.shape), strict=True):
        body = For(var, const(0), size, body)
    return body


def needs_zeros(tensor: Tensor, following: Sequence[Stmt], *, is_output: bool) -> bool:
    """Whether ``following`` may read an element before it is stored, or leave one of an output without a value."""
    for stmt in following:
        mentions = _mentions(stmt, tensor)
        if not mentions:
            continue
        return any(isinstance(node, ProducerLoad) for node in mentions) or not _covers(stmt, tensor, ())
    return is_output


def _mentions(stmt: Stmt, tensor: Tensor) -> list[ProducerLoad | ProducerStore]:
    nodes = (node for node in walk(stmt) if isinstance(node, ProducerLoad | ProducerStore))
    return [node for node in nodes if node.producer is tensor]


@deep
def _covers(stmt: Stmt, tensor: Tensor, loops: tuple[For, ...]) -> bool:
    """Whether ``stmt`` certainly stores every element."""
    match stmt:
        case For():
            return _covers(stmt.body, tensor, (*loops, stmt))
        case SeqStmt():
            return any(_covers(part, tensor, loops) for part in stmt_list(stmt))
        case ProducerRealize() | AttrStmt():
            return _covers(stmt.body, tensor, loops)
        case ProducerStore() if stmt.producer is tensor:
            return _is_everything(stmt, tensor, loops)
        case _:
            return False


def _is_everything(store: ProducerStore, tensor: Tensor, loops: tuple[For, ...]) -> bool:
    left = {loop.loop_var: loop for loop in loops}
    for index, size in zip(store.indices, tensor.shape, strict=True):
        if isinstance(index, IntImm) and index.value == 0 and isinstance(size, IntImm) and size.value == 1:
            continue
        variables = [var for var in left if uses_var(index, var)]
        form = detect_linear_equation(index, variables) if len(variables) == 1 else None
        if form is None or not same(form[0], const(1)):
            return False
        loop = left.pop(variables[0])
        if not (same(loop.extent, size) and Analyzer().can_prove_equal(loop.min + form[1], 0)):
            return False
    # A loop that is left could run zero times.
    return all(isinstance(loop.extent, IntImm) and loop.extent.value > 0 for loop in left.values())

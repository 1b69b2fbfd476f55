"""Compute a deep expression in parts: every part is a variable, and what occurs in several places is computed once.

Before (the sum has 10,000 terms; ``x`` stands for one object, which the program has in two places)::

    B[i] = A[i] + A[i + 1] + ... + A[i + 9999]
    C[i] = x*x

After::

    let part_1 = A[i] + ... + A[i + 39]
    let part_2 = part_1 + A[i + 40] + ... + A[i + 78]
    ...
    B[i] = part_256 + A[i + 9985] + ... + A[i + 9999]
    let shared = x
    C[i] = shared*shared

The passes after this one walk down an expression from each of its nodes, so what they cost grows with its depth; and
they see every place of an object that has several, of which there may be exponentially many. Only expressions that are
deeper than ``DEPTH``, or larger as a text than ``SIZE`` and than themselves, are changed. Order and kind of the
operations stay, so numbers do too, floating point included.

What is computed only if a condition holds (an operand of ``if_then_else`` or a select, the second of ``and``) stays
there with its parts, if it reads memory or could fail. Statements of the accelerator stay as they are: their
expressions are instructions, of which the passes for copies, ALU and GEMM make what they can.

What both branches of a condition begin with is computed before it. Raises ``ExpressionSizeError`` for what stays
exponentially large: an object deep in both branches of conditions in each other's branches.

Tests: tests/vta/passes/generic/test_bind_deep_expressions.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from isa.config import VTAConfig
from isa.origin import Origin
from vta.passes.alu.annotate_alu_coproc_scope import SKIP_ALU
from vta.passes.dma.inject_dma_intrin import DMA_PRAGMA
from vta.passes.errors import PassError
from vta.passes.gemm.inject_conv2d_transpose_skip import TRANSPOSE_PRAGMA
from vta.passes.host.host_only import is_accelerator_scope
from vta.passes.pragma import pragma_name
from vta.tir.deep import deep
from vta.tir.effects import has_effect
from vta.tir.expr import (
    And,
    BufferLoad,
    Builtin,
    Call,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Mod,
    Or,
    Select,
    StringImm,
    Var,
)
from vta.tir.func import PrimFunc
from vta.tir.stmt import AttrStmt, BufferStore, LetStmt, Stmt
from vta.tir.traverse import expr_children, map_children, map_stmt_children

__all__ = ["DEPTH", "LARGEST", "SIZE", "ExpressionSizeError", "bind_deep_expressions"]

DEPTH = 40
"""An expression of up to so many operations inside of each other stays as it is."""

SIZE = 4096
"""So many operations may an expression have, counted as often as they would be printed."""

LARGEST = 1 << 18
"""More operations than this are refused."""

_ACCELERATORS = (SKIP_ALU, DMA_PRAGMA, TRANSPOSE_PRAGMA)
_NEAR = 32
"""So many operations of each branch are compared with those of the other."""

_LEAVES = (Var, IntImm, FloatImm, StringImm)
_ADDRESSES = (Builtin.ADDRESS_OF, Builtin.ACCESS_PTR, Builtin.TUPLE, Builtin.TYPE_ANNOTATION)


class ExpressionSizeError(PassError):
    """An expression that shares its parts in such a way that it stays too large."""


def bind_deep_expressions(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
    """Return ``func`` with deep expressions computed in parts."""
    return replace(func, body=_visit(func.body, None))


@deep
def _visit(stmt: Stmt, origin: Origin | None) -> Stmt:
    if is_accelerator_scope(stmt) or (isinstance(stmt, AttrStmt) and pragma_name(stmt) in _ACCELERATORS):
        return stmt
    origin = stmt.origin or origin
    new: Stmt = map_stmt_children(stmt, lambda child: _visit(child, origin), lambda expr: _in_parts(expr, origin))
    if new is stmt or not isinstance(new, BufferStore) or not isinstance(stmt, BufferStore):
        return new
    value, lets = new.value, []
    while isinstance(value, Let) and value is not stmt.value:
        lets.append(value)
        value = value.body
    result: Stmt = replace(new, value=value)
    for let in reversed(lets):
        result = LetStmt(let.var, let.value, result, origin)
    return result


def _in_parts(expr: Expr, origin: Origin | None) -> Expr:
    if not expr_children(expr):
        return expr
    sizes = _measured(expr)
    whole = sizes[id(expr)]
    if (whole.depth <= DEPTH and whole.nodes <= SIZE) or has_effect(expr):
        return expr
    shared = _in_several_places(expr) if whole.nodes > max(SIZE, 2 * len(sizes)) else set()
    result = _Parts(sizes, shared, origin).of(expr)
    nodes = _measured(result)[id(result)].nodes
    if nodes > LARGEST:
        raise _too_large(origin)
    return result


def _too_large(origin: Origin | None) -> ExpressionSizeError:
    return ExpressionSizeError(
        "an expression",
        expected=f"at most {LARGEST} operations",
        got="more, because it has the same parts in the branches of conditions inside of each other",
        hint="make a stage of each part, whose values are then stored",
        origin=origin,
    )


@dataclass(frozen=True, slots=True)
class _Size:
    """Operations inside of each other, operations in all, and whether it may be computed where it is not wanted."""

    depth: int
    nodes: int
    harmless: bool


_LEAF = _Size(0, 0, harmless=True)


def _measured(expr: Expr) -> dict[int, _Size]:
    """Return the size of every operation in ``expr``, by identity."""
    sizes: dict[int, _Size] = {}
    for node in _operands_first(expr):
        inside = [sizes.get(id(child), _LEAF) for child in expr_children(node)]
        sizes[id(node)] = _Size(
            1 + max((s.depth for s in inside), default=0),
            1 + sum(s.nodes for s in inside),
            all(s.harmless for s in inside) and _is_harmless(node),
        )
    return sizes


def _in_several_places(expr: Expr) -> set[int]:
    """Return the operations that are operands more than once."""
    places = Counter(id(child) for node in _operands_first(expr) for child in expr_children(node))
    return {key for key, count in places.items() if count > 1}


def _operands_first(expr: Expr) -> Iterator[Expr]:
    """Yield every operation in ``expr`` once, after those that it is made of."""
    seen: set[int] = set()
    work = [(expr, False)]
    while work:
        node, ready = work.pop()
        if ready:
            yield node
        elif id(node) not in seen and not isinstance(node, _LEAVES):
            seen.add(id(node))
            work.append((node, True))
            work += [(child, False) for child in reversed(expr_children(node))]


def _is_harmless(node: Expr) -> bool:
    match node:
        case BufferLoad() | Let():
            return False
        case Call():
            return node.op.is_pure and node.op not in _ADDRESSES
        case Div() | Mod() | FloorDiv() | FloorMod():
            return node.dtype.is_float or (isinstance(node.b, IntImm) and node.b.value != 0)
        case _:
            return True


@dataclass(slots=True)
class _Parts:
    """Makes parts of one expression. ``sizes`` are those of its operations, ``shared`` have a variable each."""

    sizes: dict[int, _Size]
    shared: set[int]
    origin: Origin | None
    made: dict[int, Expr] = field(default_factory=dict)
    """What was made of each operation that is computed before the place where the walk is."""

    depths: dict[int, int] = field(default_factory=dict)
    kept: list[Expr] = field(default_factory=list)
    """Everything that was made: ``depths`` is by identity."""

    @deep
    def of(self, expr: Expr) -> Expr:
        """Return ``expr`` in parts, with the lets for them around it."""
        if id(expr) in self.made or id(expr) not in self.sizes:
            return self.made.get(id(expr), expr)
        here: list[int] = []
        parts: list[tuple[Var, Expr]] = []
        for node in self._always_computed(expr):
            new = self._rebuilt(node)
            if node is not expr and _may_be_held(new) and (self.depths[id(new)] >= DEPTH or id(node) in self.shared):
                var = Var("shared" if id(node) in self.shared else "part", new.dtype)
                parts.append((var, new))
                new = var
            self.made[id(node)] = new
            here.append(id(node))
        result = self.made[id(expr)]
        depth = self.depths[id(result)]
        for var, value in reversed(parts):
            result = Let(var, value, result)
        self._keep(result, depth + len(parts))
        for key in here:  # what is computed here is not known elsewhere
            del self.made[key]
        return result

    def _rebuilt(self, node: Expr) -> Expr:
        """Return ``node`` with what was made of its operands."""
        certain = {id(child) for child in self._certain(node)}
        new = map_children(lambda e: self.made.get(id(e), e) if id(e) in certain else self.of(e), node)
        self._keep(new, 1 + max((self.depths.get(id(child), 0) for child in expr_children(new)), default=0))
        if len(self.kept) > LARGEST:
            raise _too_large(self.origin)
        return new

    def _keep(self, expr: Expr, depth: int) -> None:
        self.depths[id(expr)] = depth
        self.kept.append(expr)

    def _certain(self, node: Expr) -> tuple[Expr, ...]:
        """Return the operands that are computed whenever ``node`` is, and those that may be."""
        below = expr_children(node)
        match node:
            case Let():  # the body has a variable that is not known outside
                return below[:1]
            case Select() | Call(op=Builtin.IF_THEN_ELSE) | And() | Or():
                return (below[0], *(child for child in below[1:] if self.sizes.get(id(child), _LEAF).harmless))
            case _:
                return below

    def _always_computed(self, expr: Expr) -> list[Expr]:
        """Return the operations that are computed whenever ``expr`` is and are not known yet, operands first."""
        order: list[Expr] = []
        seen: set[int] = set()
        work = [(expr, False)]
        while work:
            node, ready = work.pop()
            if ready:
                order.append(node)
            elif id(node) not in seen and id(node) in self.sizes and id(node) not in self.made:
                seen.add(id(node))
                work.append((node, True))
                work += [(child, False) for child in reversed((*self._certain(node), *self._in_both_branches(node)))]
        return order

    def _in_both_branches(self, node: Expr) -> list[Expr]:
        """Return what is computed whichever branch of ``node`` is taken, as far as it is near its top."""
        match node:
            case Select(true_value=first, false_value=second):
                pass
            case Call(op=Builtin.IF_THEN_ELSE, args=(_, first, second)):
                pass
            case _:
                return []
        other = {id(found) for found in self._top(second)}
        return [found for found in self._top(first) if id(found) in other]

    def _top(self, expr: Expr) -> list[Expr]:
        """Return the first operations that are computed whenever ``expr`` is."""
        found, at = [expr], 0
        while at < len(found) < _NEAR:
            found += [child for child in self._certain(found[at]) if id(child) in self.sizes]
            at += 1
        return found


def _may_be_held(expr: Expr) -> bool:
    """Whether a variable may stand for ``expr``."""
    return expr.dtype.lanes == 1 and expr.dtype != "handle" and not isinstance(expr, _LEAVES)

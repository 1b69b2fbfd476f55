"""Reduce windows that do not overlap where they lie, instead of into accumulators of their own.

The first number of each window stands for the result: so nothing is filled with the value that a reduction begins with,
and a window of n numbers takes n - 1 operations instead of n + 1 or n + 2. Whoever reads the result reads it there.

Before, under pragma ``alu_in_place``::

    realize(p, ...) {
      attr "pragma_alu_in_place" {
        for (i, 0, 4) { p[i] = -2147483648 }
        for (k, 0, 3) { for (i, 0, 4) { p[i] = max(p[i], x[i*3 + k]) } }
      }
      y[0] = p[2] + 1
    }

After::

    attr "pragma_alu" { for (k, 0, 2) { for (i, 0, 4) { x[i*3] = max(x[i*3], x[i*3 + (k + 1)]) } } }
    y[0] = x[6] + 1

It is done where the windows lie in accumulators that nobody else reads, each number in one window at most, and where
the reduction begins with its neutral element. Conditions are those of incomplete tiles alone (``likely``): what they
leave out, nobody reads. Else the pragma becomes ``alu`` and all stays as it is. Expects the loops of te, before storage
is flattened.
Tests: tests/vta/passes/alu/test_reduce_in_place.py.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from isa.config import VTAConfig
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.passes.alu.annotate_alu_coproc_scope import ALU_PRAGMA
from vta.passes.fresh_definitions import with_fresh_definitions
from vta.passes.pragma import is_pragma
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import Add, And, BufferLoad, Builtin, Call, Expr, IntImm, Max, Min, Var, const, same
from vta.tir.func import PrimFunc
from vta.tir.scopes import ACC_SCOPE
from vta.tir.stmt import PRAGMA_PREFIX, AttrStmt, BufferRealize, BufferStore, For, IfThenElse, SeqStmt, Stmt, seq
from vta.tir.traverse import map_expr, map_stmt, substitute, uses_var, walk

__all__ = ["IN_PLACE_PRAGMA", "reduce_in_place"]

IN_PLACE_PRAGMA = "alu_in_place"

_ALU = PRAGMA_PREFIX + ALU_PRAGMA
_NEUTRAL = {Max: -(1 << 31), Min: (1 << 31) - 1, Add: 0}


def reduce_in_place(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
    """Return ``func`` with the reductions under the pragma done in place, where that can be, and without the pragma."""
    if not any(is_pragma(node, IN_PLACE_PRAGMA) for node in walk(func.body)):
        return func
    reads = Counter(node.buffer for node in walk(func.body) if isinstance(node, BufferLoad))

    def rewrite(stmt: Stmt) -> Stmt:
        if isinstance(stmt, BufferRealize):
            return _in_place(stmt, reads) or stmt
        return stmt

    return replace(func, body=map_stmt(map_stmt(func.body, rewrite), _plain))


def _plain(stmt: Stmt) -> Stmt:
    if isinstance(stmt, AttrStmt) and is_pragma(stmt, IN_PLACE_PRAGMA):
        return replace(stmt, key=_ALU)
    return stmt


@dataclass(frozen=True, slots=True)
class _Update:
    """``result[own] = op(result[own], source[windows])`` in loops over ``taps``, then over results."""

    taps: tuple[For, ...]
    loops: tuple[For, ...]
    guards: tuple[Expr, ...]
    store: BufferStore
    load: BufferLoad


def _in_place(realize: BufferRealize, reads: Mapping[Buffer, int]) -> Stmt | None:
    """Return what ``realize`` becomes, None where it stays."""
    if not isinstance(realize.body, SeqStmt):
        return None
    attr, *rest = realize.body.stmts
    if not isinstance(attr, AttrStmt) or not is_pragma(attr, IN_PLACE_PRAGMA):
        return None
    update = _update(attr.body, realize.buffer)
    if update is None or reads[update.load.buffer] != 1 or update.load.buffer.scope != ACC_SCOPE:
        return None
    place = _places(update)
    if place is None:
        return None
    uses = [node for stmt in rest for node in walk(stmt) if isinstance(node, BufferStore | Buffer)]
    if any(node.buffer is realize.buffer for node in uses if isinstance(node, BufferStore)):
        return None
    source = update.load.buffer

    def redirect(expr: Expr) -> Expr:
        if isinstance(expr, BufferLoad) and expr.buffer is realize.buffer:
            return BufferLoad(source, place(expr.indices))
        return expr

    behind = [map_stmt(stmt, on_expr=lambda expr: map_expr(redirect, expr)) for stmt in rest]
    return seq([*_nests(update, place, attr), *behind])


def _update(stmt: Stmt, result: Buffer) -> _Update | None:
    """Return the reduction into ``result`` that ``stmt`` is, None if it is none that begins with nothing."""
    if not isinstance(stmt, SeqStmt) or len(stmt.stmts) != 2:
        return None
    start, _, _ = _nest(stmt.stmts[0])
    store, loops, guards = _nest(stmt.stmts[1])
    if start is None or store is None or start.buffer is not result or store.buffer is not result:
        return None
    value = store.value
    if not isinstance(value, Max | Min | Add) or not isinstance(value.b, BufferLoad):
        return None
    own = value.a
    if not isinstance(own, BufferLoad) or own.buffer is not result or not same(own.indices, store.indices):
        return None
    if not isinstance(start.value, IntImm) or start.value.value != _NEUTRAL[type(value)]:
        return None
    used = {node for index in store.indices for node in walk(index) if isinstance(node, Var)}
    taps = tuple(loop for loop in loops if loop.loop_var not in used)
    if taps != tuple(loops[: len(taps)]) or not taps or not all(_is_whole(loop) for loop in loops):
        return None
    if any(uses_var(guard, [loop.loop_var for loop in taps]) for guard in guards):
        return None
    return _Update(taps, tuple(loops[len(taps) :]), tuple(guards), store, value.b)


def _nest(stmt: Stmt) -> tuple[BufferStore | None, list[For], list[Expr]]:
    """Return the store that loops and conditions are around, and these; None for anything else."""
    loops: list[For] = []
    guards: list[Expr] = []
    while True:
        match stmt:
            case For(body=body):
                loops.append(stmt)
                stmt = body
            case IfThenElse(condition=condition, then_case=body, else_case=None) if _is_of_a_tile(condition):
                guards.append(condition)
                stmt = body
            case BufferStore():
                return stmt, loops, guards
            case _:
                return None, loops, guards


@deep
def _is_of_a_tile(condition: Expr) -> bool:
    """Whether a condition says that a place is in a tile that is not whole."""
    match condition:
        case Call(op=Builtin.LIKELY):
            return True
        case And(a=a, b=b):
            return _is_of_a_tile(a) and _is_of_a_tile(b)
        case _:
            return False


def _is_whole(loop: For) -> bool:
    return isinstance(loop.extent, IntImm) and isinstance(loop.min, IntImm) and loop.min.value == 0


def _places(update: _Update) -> Callable[[Sequence[Expr]], tuple[Expr, ...]] | None:
    """Return what says where the result with some indices lies, None where windows overlap or places are not known."""
    every = (*update.taps, *update.loops)
    variables = [loop.loop_var for loop in every]
    sizes = {loop.loop_var: loop.extent.value for loop in every if isinstance(loop.extent, IntImm)}
    once: set[Var] = set()
    for index in update.load.indices:
        steps = _steps(index, variables)
        if steps is None or once & steps.keys() or not _is_injective(steps, sizes):
            return None
        once |= steps.keys()
    if any(sizes[var] > 1 and var not in once for var in variables):
        return None
    values: dict[Var, tuple[int, Expr]] = {}
    for dimension, index in enumerate(update.store.indices):
        steps = _steps(index, variables)
        if steps is None or len(steps) > 1 or any(step != 1 for step in steps.values()):
            return None
        for var in steps:
            values[var] = dimension, substitute(index, {var: const(0)})
    first = {loop.loop_var: const(0) for loop in update.taps}
    analyzer = Analyzer()

    def place(indices: Sequence[Expr]) -> tuple[Expr, ...]:
        own = {var: indices[dimension] - before for var, (dimension, before) in values.items()}
        own |= {var: const(0) for var in variables if var not in values}
        return tuple(analyzer.simplify(substitute(index, {**own, **first})) for index in update.load.indices)

    return place


def _steps(index: Expr, variables: Sequence[Var]) -> dict[Var, int] | None:
    """Return by how much ``index`` grows with each variable that it depends on, None if it is not linear."""
    linear = detect_linear_equation(index, variables)
    if linear is None:
        return None
    found: dict[Var, int] = {}
    for var, step in zip(variables, linear, strict=False):
        if not isinstance(step, IntImm):
            return None
        if step.value:
            found[var] = step.value
    return found


def _is_injective(steps: Mapping[Var, int], sizes: Mapping[Var, int]) -> bool:
    """Whether a sum of ``steps`` is another one for all values of their variables."""
    reach = 0
    for step, size in sorted((abs(step), sizes[var]) for var, step in steps.items() if sizes[var] > 1):
        if step <= reach:
            return False
        reach += step * (size - 1)
    return True


def _nests(update: _Update, place: Callable[[Sequence[Expr]], tuple[Expr, ...]], attr: AttrStmt) -> list[Stmt]:
    """Return the operations with all numbers of a window but the first: a nest for each loop of taps."""
    value = update.store.value
    assert isinstance(value, Max | Min | Add)
    found: list[Stmt] = []
    own = place(update.store.indices)
    source = update.load.buffer
    for number, loop in enumerate(update.taps):
        assert isinstance(loop.extent, IntImm)
        if loop.extent.value == 1:
            continue
        taken: dict[Var, Expr] = {each.loop_var: const(0) for each in update.taps[:number]}
        taken[loop.loop_var] = loop.loop_var + 1
        operand = tuple(substitute(index, taken) for index in update.load.indices)
        body: Stmt = replace(
            update.store,
            buffer=source,
            indices=own,
            value=replace(value, a=BufferLoad(source, own), b=BufferLoad(source, operand)),
        )
        for guard in reversed(update.guards):
            body = IfThenElse(guard, body)
        shorter = replace(loop, extent=const(loop.extent.value - 1))
        for each in reversed((shorter, *update.taps[number + 1 :], *update.loops)):
            body = replace(each, body=body)
        found.append(with_fresh_definitions(AttrStmt(attr.node, _ALU, attr.value, body, attr.origin)))
    return found

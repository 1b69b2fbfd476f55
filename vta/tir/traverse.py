"""Walking and rebuilding TIR: the one place that knows the children of every node.

Expressions inside a statement are its loop bounds, conditions, values and indices. What a ``Buffer`` is made of (its
data variable, shape, strides, offset) is not walked: a buffer is replaced as a whole, see ``substitute``.
An unchanged subtree always comes back as the same object. Tests: tests/vta/tir/test_traverse.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias, TypeVar, assert_never, overload

from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import (
    Binary,
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    Compare,
    Expr,
    ExprError,
    FloatImm,
    IntImm,
    IterVar,
    Let,
    Node,
    Not,
    ProducerLoad,
    Ramp,
    Range,
    Reduce,
    Select,
    Shuffle,
    StringImm,
    Var,
)
from vta.tir.regions import BufferRegion
from vta.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrKey,
    AttrStmt,
    Block,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Prefetch,
    ProducerRealize,
    ProducerStore,
    SeqStmt,
    Stmt,
    While,
    seq,
)

__all__ = [
    "OnExpr", "OnStmt", "TirNode", "children", "expr_children", "free_vars", "map_children", "map_expr", "map_stmt",
    "map_stmt_children", "substitute", "uses_var", "walk",
]  # fmt: skip

TirNode: TypeAlias = Stmt | Expr
OnExpr: TypeAlias = Callable[[Expr], Expr]
OnStmt: TypeAlias = Callable[[Stmt], Stmt]
_S = TypeVar("_S", bound=Stmt)


def expr_children(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct operands of ``expr``, in the order in which they are printed."""
    match expr:
        case Var() | IntImm() | FloatImm() | StringImm():
            return ()
        case Binary() | Compare():
            return (expr.a, expr.b)
        case BufferLoad() | ProducerLoad():
            return expr.indices
        case Call():
            return expr.args
        case Cast() | Broadcast():
            return (expr.value,)
        case Not():
            return (expr.a,)
        case Select():
            return (expr.condition, expr.true_value, expr.false_value)
        case Ramp():
            return (expr.base, expr.stride)
        case Shuffle():
            return expr.vectors
        case Let():
            return (expr.value, expr.body)
        case Reduce():
            return (*expr.source, *expr.init, *_domains(expr.axis), expr.condition)
        case _:
            assert_never(expr)


def _domains(axes: tuple[IterVar, ...]) -> Iterator[Expr]:
    for axis in axes:
        if axis.dom is not None:
            yield axis.dom.min
            yield axis.dom.extent


def children(node: TirNode) -> tuple[TirNode, ...]:
    """Return the direct children of a statement or expression, in the order in which they are printed."""
    match node:
        case BufferStore() | ProducerStore():
            return (*node.indices, node.value)
        case Evaluate():
            return (node.value,)
        case For():
            return (node.min, node.extent, node.body)
        case SeqStmt():
            return node.stmts
        case AttrStmt():
            return (node.value, node.body)
        case IfThenElse():
            return (node.condition, node.then_case, *([] if node.else_case is None else [node.else_case]))
        case Allocate():
            return (*node.extents, node.condition, node.body)
        case BufferRealize() | ProducerRealize():
            return (*(e for r in node.bounds for e in (r.min, r.extent)), node.condition, node.body)
        case Prefetch():
            return tuple(e for r in node.bounds for e in (r.min, r.extent))
        case While():
            return (node.condition, node.body)
        case LetStmt():
            return (node.value, node.body)
        case AssertStmt():
            return (node.condition, node.body)
        case Block():
            inits = () if node.init is None else (node.init,)
            regions = (e for part in _regions(node) for r in part.region for e in (r.min, r.extent))
            return (*_domains(node.iter_vars), *node.values, node.predicate, *regions, *inits, node.body)
        case _:
            return expr_children(node)


def _regions(block: Block) -> tuple[BufferRegion, ...]:
    """Return the regions that a block says it touches."""
    return (*(block.reads or ()), *(block.writes or ()))


def walk(node: TirNode) -> Iterator[TirNode]:
    """Yield ``node`` and everything below it, parents first, in the order in which it is printed.

    What an expression has in several places, as one object, is yielded once for each whole expression.
    """
    stack: list[TirNode] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Node):
            yield from _walk_expr(top.asexpr())
            continue
        yield top
        stack.extend(reversed(children(top)))


def _walk_expr(expr: Expr) -> Iterator[Expr]:
    stack, seen = [expr], set[int]()
    while stack:
        top = stack.pop()
        below = expr_children(top)
        if below:
            if id(top) in seen:
                continue
            seen.add(id(top))
            stack.extend(reversed(below))
        yield top


def _map_tuple(fn: OnExpr, items: tuple[Expr, ...]) -> tuple[Expr, ...]:
    new = tuple([fn(item) for item in items])
    return items if all(a is b for a, b in zip(new, items, strict=True)) else new


def map_children(fn: OnExpr, expr: Expr) -> Expr:
    """Return ``expr`` with ``fn`` applied to its direct operands; nothing is folded."""
    match expr:
        case Var() | IntImm() | FloatImm() | StringImm():
            return expr
        case Binary() | Compare():
            a, b = fn(expr.a), fn(expr.b)
            return expr if a is expr.a and b is expr.b else type(expr)(a, b)
        case BufferLoad():
            indices = _map_tuple(fn, expr.indices)
            return expr if indices is expr.indices else BufferLoad(expr.buffer, indices)
        case ProducerLoad():
            indices = _map_tuple(fn, expr.indices)
            return expr if indices is expr.indices else ProducerLoad(expr.producer, indices)
        case Call():
            args = _map_tuple(fn, expr.args)
            return expr if args is expr.args else Call(expr.dtype, expr.op, args)
        case Cast():
            value = fn(expr.value)
            return expr if value is expr.value else Cast(expr.dtype, value)
        case Broadcast():
            value = fn(expr.value)
            return expr if value is expr.value else Broadcast(value, expr.lanes)
        case Not():
            value = fn(expr.a)
            return expr if value is expr.a else Not(value)
        case Select():
            old = (expr.condition, expr.true_value, expr.false_value)
            new = _map_tuple(fn, old)
            return expr if new is old else Select(*new)
        case Ramp():
            base, stride = fn(expr.base), fn(expr.stride)
            return expr if base is expr.base and stride is expr.stride else Ramp(base, stride, expr.lanes)
        case Shuffle():
            vectors = _map_tuple(fn, expr.vectors)
            return expr if vectors is expr.vectors else Shuffle(vectors, expr.indices)
        case Let():
            value, body = fn(expr.value), fn(expr.body)
            return expr if value is expr.value and body is expr.body else Let(expr.var, value, body)
        case Reduce():
            return _map_reduce(fn, expr)
        case _:
            assert_never(expr)


def _map_reduce(fn: OnExpr, expr: Reduce) -> Expr:
    """Map source, init, condition; the axes keep their identity, hence their domains."""
    source, init, condition = _map_tuple(fn, expr.source), _map_tuple(fn, expr.init), fn(expr.condition)
    if source is expr.source and init is expr.init and condition is expr.condition:
        return expr
    return replace(expr, source=source, init=init, condition=condition)


def map_expr(fn: OnExpr, expr: Expr) -> Expr:
    """Rebuild ``expr`` from the leaves up: ``fn`` gets every node with its operands already mapped.

    An object that stands in several places is mapped once, and shared again.
    """

    done: dict[int, Expr] = {}

    def mapped(node: Expr) -> Expr:
        return done[id(node)]

    stack: list[tuple[Expr, bool]] = [(expr, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            done[id(node)] = fn(map_children(mapped, node))
        elif id(node) not in done:
            below = _mapped_operands(node)
            if below:
                stack.append((node, True))
                stack += [(child, False) for child in reversed(below)]
            else:
                done[id(node)] = fn(node)
    return done[id(expr)]


def _mapped_operands(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands that ``map_children`` maps: of a reduction, all but the domains of its axes."""
    return (*expr.source, *expr.init, expr.condition) if isinstance(expr, Reduce) else expr_children(expr)


def map_stmt_children(stmt: _S, on_stmt: OnStmt, on_expr: OnExpr) -> _S | Stmt:
    """Return ``stmt`` with the functions applied to its direct children; a changed sequence is flattened again."""
    match stmt:
        case SeqStmt():
            stmts = tuple([on_stmt(s) for s in stmt.stmts])
            if all(a is b for a, b in zip(stmts, stmt.stmts, strict=True)):
                return stmt
            return _with_origin(seq(stmts), stmt)
        case IfThenElse():
            condition, then_case = on_expr(stmt.condition), on_stmt(stmt.then_case)
            else_case = None if stmt.else_case is None else on_stmt(stmt.else_case)
            return _changed(stmt, condition=condition, then_case=then_case, else_case=else_case)
        case BufferStore():
            return _changed(stmt, indices=_map_tuple(on_expr, stmt.indices), value=on_expr(stmt.value))
        case Evaluate():
            return _changed(stmt, value=on_expr(stmt.value))
        case For():
            low, extent = on_expr(stmt.min), on_expr(stmt.extent)
            return _changed(stmt, min=low, extent=extent, body=on_stmt(stmt.body))
        case AttrStmt() | LetStmt():
            return _changed(stmt, value=on_expr(stmt.value), body=on_stmt(stmt.body))
        case Allocate():
            extents, condition = _map_tuple(on_expr, stmt.extents), on_expr(stmt.condition)
            return _changed(stmt, extents=extents, condition=condition, body=on_stmt(stmt.body))
        case While():
            return _changed(stmt, condition=on_expr(stmt.condition), body=on_stmt(stmt.body))
        case Prefetch():
            return _changed(stmt, bounds=_map_bounds(on_expr, stmt.bounds))
        case BufferRealize() | ProducerRealize():
            bounds = _map_bounds(on_expr, stmt.bounds)
            condition = on_expr(stmt.condition)
            return _changed(stmt, bounds=bounds, condition=condition, body=on_stmt(stmt.body))
        case AssertStmt():
            return _changed(stmt, condition=on_expr(stmt.condition), body=on_stmt(stmt.body))
        case Block():  # the axes keep their identity, hence their domains
            values, predicate = _map_tuple(on_expr, stmt.values), on_expr(stmt.predicate)
            reads, writes = _map_regions(on_expr, stmt.reads), _map_regions(on_expr, stmt.writes)
            init = None if stmt.init is None else on_stmt(stmt.init)
            body = on_stmt(stmt.body)
            return _changed(stmt, values=values, predicate=predicate, reads=reads, writes=writes, init=init, body=body)
        case ProducerStore():
            return _changed(stmt, indices=_map_tuple(on_expr, stmt.indices), value=on_expr(stmt.value))
        case _:
            assert_never(stmt)


def _map_bounds(fn: OnExpr, bounds: tuple[Range, ...]) -> tuple[Range, ...]:
    flat = tuple(e for r in bounds for e in (r.min, r.extent))
    new = _map_tuple(fn, flat)
    return bounds if new is flat else tuple(Range(new[i], new[i + 1]) for i in range(0, len(new), 2))


def _map_regions(fn: OnExpr, regions: tuple[BufferRegion, ...] | None) -> tuple[BufferRegion, ...] | None:
    if regions is None:
        return None
    new = tuple([replace(part, region=_map_bounds(fn, part.region)) for part in regions])
    same = all(a.region is b.region for a, b in zip(new, regions, strict=True))
    return regions if same else new


def _changed(stmt: _S, **fields: object) -> _S:
    """Return ``stmt`` with ``fields`` replaced, itself if none of them differs."""
    if all(getattr(stmt, name) is value for name, value in fields.items()):
        return stmt
    return replace(stmt, **fields)  # type: ignore[arg-type]  # names and types are those of the caller's node


def _with_origin(new: Stmt, old: Stmt) -> Stmt:
    return new if new is old or new.origin is not None or old.origin is None else replace(new, origin=old.origin)


def map_stmt(stmt: Stmt, on_stmt: OnStmt | None = None, on_expr: OnExpr | None = None) -> Stmt:
    """Rebuild ``stmt`` from the leaves up.

    ``on_stmt`` gets every statement with its children already mapped. ``on_expr`` gets every whole expression that a
    statement holds, not its sub-expressions (for those: ``on_expr=lambda e: map_expr(fn, e)``). A statement that
    ``on_stmt`` returns without an origin inherits the one it replaces; sequences stay flat, no-ops in them vanish.
    """
    expr_fn: OnExpr = on_expr if on_expr is not None else lambda expr: expr

    @deep
    def visit(node: Stmt) -> Stmt:
        mapped: Stmt = map_stmt_children(node, visit, expr_fn)
        return mapped if on_stmt is None else _with_origin(on_stmt(mapped), node)

    return visit(stmt)


@overload
def substitute(node: Stmt, mapping: Mapping[Var, Expr], *, buffers: Mapping[Buffer, Buffer] | None = None) -> Stmt: ...
@overload
def substitute(node: Expr, mapping: Mapping[Var, Expr], *, buffers: Mapping[Buffer, Buffer] | None = None) -> Expr: ...
def substitute(
    node: TirNode, mapping: Mapping[Var, Expr], *, buffers: Mapping[Buffer, Buffer] | None = None
) -> TirNode:
    """Replace variables by expressions, and buffers by buffers, all at once; nothing is folded.

    A variable that ``node`` itself defines (a loop's, an allocation's) is renamed where its replacement is a variable.
    Raises ``ExprError`` where it is not, and where a replacement has another dtype than its variable.
    """
    for var, value in mapping.items():
        if var.dtype != value.dtype:
            raise ExprError(f"variable {var.name!r} is {var.dtype}; its replacement is {value.dtype}; cast it first")
    renamed = buffers or {}

    def on_node(expr: Expr) -> Expr:
        match expr:
            case Var():
                return mapping.get(expr, expr)
            case BufferLoad() if expr.buffer in renamed:
                return BufferLoad(renamed[expr.buffer], expr.indices)
            case Let() if expr.var in mapping:
                return Let(_renamed(expr.var, mapping), expr.value, expr.body)
            case _:
                return expr

    def on_expr(expr: Expr) -> Expr:
        return map_expr(on_node, expr)

    if not isinstance(node, Stmt):
        return on_expr(node)
    return map_stmt(node, lambda stmt: _rename_definitions(stmt, mapping, renamed), on_expr)


def _renamed(var: Var, mapping: Mapping[Var, Expr]) -> Var:
    new = mapping.get(var, var)
    if not isinstance(new, Var):
        raise ExprError(f"variable {var.name!r} is defined inside; it can be renamed, but not replaced by a value")
    return new


def _rename_definitions(stmt: Stmt, mapping: Mapping[Var, Expr], buffers: Mapping[Buffer, Buffer]) -> Stmt:
    match stmt:
        case For() if stmt.loop_var in mapping:
            return replace(stmt, loop_var=_renamed(stmt.loop_var, mapping))
        case LetStmt() if stmt.var in mapping:
            return replace(stmt, var=_renamed(stmt.var, mapping))
        case Allocate() if stmt.buffer_var in mapping:
            return replace(stmt, buffer_var=_renamed(stmt.buffer_var, mapping))
        case BufferStore() | BufferRealize() if stmt.buffer in buffers:
            return replace(stmt, buffer=buffers[stmt.buffer])
        case AttrStmt():
            return _changed(stmt, node=_rename_attr_node(stmt.node, mapping, buffers))
        case Block() if any(part.buffer in buffers for part in _regions(stmt)):
            reads, writes = (
                None if parts is None else tuple([replace(p, buffer=buffers.get(p.buffer, p.buffer)) for p in parts])
                for parts in (stmt.reads, stmt.writes)
            )
            return replace(stmt, reads=reads, writes=writes)
        case _:
            return stmt


_AttrNode: TypeAlias = IterVar | Buffer | tuple[Buffer, Buffer] | Var | None


def _rename_attr_node(node: _AttrNode, mapping: Mapping[Var, Expr], buffers: Mapping[Buffer, Buffer]) -> _AttrNode:
    """Rename what an attribute is about; an axis whose variable became a value stays as it was."""
    match node:
        case None:
            return None
        case IterVar():
            new = mapping.get(node.var, node.var)
            return replace(node, var=new) if new is not node.var and isinstance(new, Var) else node
        case Var():
            new = mapping.get(node, node)
            return new if isinstance(new, Var) else node
        case Buffer():
            return buffers.get(node, node)
        case (view, target):
            pair = (buffers.get(view, view), buffers.get(target, target))
            return node if pair[0] is view and pair[1] is target else pair


def uses_var(node: TirNode, variables: Var | Collection[Var]) -> bool:
    """Whether one of ``variables`` is used (read, or the data of an accessed buffer) anywhere in ``node``."""
    wanted = {variables} if isinstance(variables, Var) else set(variables)
    return any(var in wanted for var in _uses(node))


def _uses(node: TirNode) -> Iterator[Var]:
    """Yield the variables that occur, buffers' data variables included, in order and with repetitions."""
    for item in walk(node):
        match item:
            case Var():
                yield item
            case BufferLoad() | BufferStore():
                yield item.buffer.data
            case _:
                continue


def free_vars(node: TirNode) -> list[Var]:
    """Return the variables that ``node`` uses and does not define, in order of first use.

    Loops, lets, allocations, realised buffers, reductions, thread attributes and buffer views define variables. A
    variable is defined once in a program, so a definition anywhere in ``node`` counts.
    """
    defined = {var for item in walk(node) for var in _definitions(item)}
    return [var for var in dict.fromkeys(_uses(node)) if var not in defined]


def _definitions(node: TirNode) -> tuple[Var, ...]:
    match node:
        case For():
            return (node.loop_var,)
        case Let() | LetStmt():
            return (node.var,)
        case Allocate():
            return (node.buffer_var,)
        case BufferRealize():
            return (node.buffer.data,)
        case Block():
            return (*(axis.var for axis in node.iter_vars), *(buffer.data for buffer in node.alloc_buffers))
        case Reduce():
            return tuple(axis.var for axis in node.axis)
        case AttrStmt(node=IterVar(var=var), key=AttrKey.VIRTUAL_THREAD | AttrKey.THREAD_EXTENT):
            return (var,)
        case AttrStmt(node=(Buffer() as view, _)):
            return (view.data, *(e for e in (view.elem_offset, *view.strides) if isinstance(e, Var)))
        case _:
            return ()

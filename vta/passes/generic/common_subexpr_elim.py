"""Compute index expressions that occur more than once a single time.

Before::

    for (ic.outer, 0, 4) {
      load(data, ic.outer*16)
      load(weight, i1.outer*1024 + ic.outer*16)
    }

After::

    for (ic.outer, 0, 4) {
      let cse_var_1 = ic.outer*16
      load(data, cse_var_1)
      load(weight, i1.outer*1024 + cse_var_1)
    }

An expression is computed where the last of its variables becomes known. Only integer arithmetic that cannot fail takes
part. Micro-op kernels are left alone: they would capture the new variables, and the runtime keeps a kernel for every
value of what it captures. So what the program asks of the runtime is the same with and without this pass.
Tests: tests/vta/passes/generic/test_common_subexpr_elim.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from isa.config import VTAConfig
from vta.passes.coproc_axis import is_uop_scope
from vta.tir.deep import deep
from vta.tir.expr import (
    Add,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Sub,
    Var,
)
from vta.tir.func import PrimFunc
from vta.tir.stmt import AttrKey, AttrStmt, For, LetStmt, Stmt
from vta.tir.traverse import OnExpr, expr_children, map_children, map_stmt_children, walk

__all__ = ["common_subexpr_elim"]

_FUNCTION = 0
"""The scope that is the whole function; others count up in the order in which their statements are walked."""

_Key = tuple[object, ...]


def common_subexpr_elim(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
    """Return ``func`` with repeated index expressions in ``cse_var_N``; one for a GPU stays as it is."""
    if any(isinstance(node, AttrStmt) and node.key == AttrKey.THREAD_EXTENT for node in walk(func.body)):
        return func
    table = _Table()
    _Walk(table, table.count, {}).enter(func.body)
    chosen = table.choose()
    if not chosen:
        return func
    return replace(func, body=_Walk(table, table.replaced, chosen).enter(func.body))


@dataclass(slots=True)
class _Node:
    """An expression that occurs; all equal ones share a node. ``scope`` is where its variables are known."""

    expr: Expr
    scope: int
    uses: int = 0
    var: Var | None = None


@dataclass(slots=True)
class _Table:
    """Expressions numbered by structure: a node's key is its kind and the numbers of its operands."""

    numbers: dict[_Key, int] = field(default_factory=dict)
    nodes: list[_Node] = field(default_factory=list)
    scopes: dict[Var, int] = field(default_factory=dict)

    @deep
    def count(self, expr: Expr) -> Expr:
        """Note an occurrence of ``expr``, which is not part of a larger one that could be shared."""
        number = self.number(expr)
        if number is None:
            for child in expr_children(expr):
                self.count(child)
        else:
            self.nodes[number].uses += 1
        return expr

    @deep
    def number(self, expr: Expr) -> int | None:
        """Return the number of ``expr``, a new one at its first occurrence; None if it cannot be shared."""
        match expr:
            case Var() if expr.dtype.is_int:
                return self._numbered(("var", id(expr)), expr, ())
            case IntImm():
                return self._numbered(("const", expr.value, expr.dtype), expr, ())
            case _ if not _is_shareable(expr):
                return None
            case _:
                operands = [self.number(child) for child in expr_children(expr)]
                known = tuple(number for number in operands if number is not None)
                if len(known) < len(operands):
                    return None
                return self._numbered((type(expr), expr.dtype, *known), expr, known)

    def _numbered(self, key: _Key, expr: Expr, operands: tuple[int, ...]) -> int:
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.nodes)
            own = self.scopes.get(expr, _FUNCTION) if isinstance(expr, Var) else _FUNCTION
            self.nodes.append(_Node(expr, max([own, *(self.nodes[i].scope for i in operands)])))
            for i in operands:
                self.nodes[i].uses += 1
        return number

    def choose(self) -> dict[int, list[_Node]]:
        """Return the nodes to compute once, by scope and operands first; names them."""
        chosen: dict[int, list[_Node]] = {}
        for node in self.nodes:
            if node.uses > 1 and not isinstance(node.expr, Var | IntImm):
                chosen.setdefault(node.scope, []).append(node)
        for count, node in enumerate((n for scope in sorted(chosen) for n in chosen[scope]), start=1):
            node.var = Var(f"cse_var_{count}", node.expr.dtype)
        return chosen

    @deep
    def replaced(self, expr: Expr) -> Expr:
        """Return ``expr`` with chosen expressions replaced by their variables."""
        number = self.number(expr)
        var = None if number is None else self.nodes[number].var
        return map_children(self.replaced, expr) if var is None else var

    def value(self, node: _Node) -> Expr:
        """Return what the variable of a chosen node stands for."""
        return map_children(self.replaced, node.expr)


@dataclass(slots=True)
class _Walk:
    """A walk over the statements: ``on_expr`` gets every expression outside of kernels, ``chosen`` becomes lets."""

    table: _Table
    on_expr: OnExpr
    chosen: Mapping[int, Sequence[_Node]]
    scopes: int = _FUNCTION

    @deep
    def enter(self, body: Stmt) -> Stmt:
        """Return the body of the scope whose number is the current one, inside of its lets."""
        nodes = self.chosen.get(self.scopes, ())
        body = self._visit(body)
        for node in reversed(nodes):
            if node.var is not None:
                body = LetStmt(node.var, self.table.value(node), body)
        return body

    def _enter_with(self, var: Var, body: Stmt) -> Stmt:
        self.scopes += 1
        self.table.scopes[var] = self.scopes
        return self.enter(body)

    @deep
    def _visit(self, stmt: Stmt) -> Stmt:
        match stmt:
            case For():
                low, extent = self.on_expr(stmt.min), self.on_expr(stmt.extent)
                body = self._enter_with(stmt.loop_var, stmt.body)
                same = low is stmt.min and extent is stmt.extent and body is stmt.body
                return stmt if same else replace(stmt, min=low, extent=extent, body=body)
            case LetStmt():
                value = self.on_expr(stmt.value)
                body = self._enter_with(stmt.var, stmt.body)
                return stmt if value is stmt.value and body is stmt.body else replace(stmt, value=value, body=body)
            case _ if is_uop_scope(stmt):
                return stmt
            case _:
                return map_stmt_children(stmt, self._visit, self.on_expr)


def _is_shareable(expr: Expr) -> bool:
    """Whether ``expr`` is integer arithmetic that cannot fail, apart from its operands."""
    if not expr.dtype.is_int or expr.dtype.lanes != 1:
        return False
    match expr:
        case Add() | Sub() | Mul() | Min() | Max():
            return True
        case Div() | Mod() | FloorDiv() | FloorMod():
            return isinstance(expr.b, IntImm) and expr.b.value != 0
        case Cast():
            return expr.value.dtype.is_int
        case _:
            return False

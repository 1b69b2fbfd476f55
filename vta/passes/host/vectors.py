"""Statements for all values of a vector at once: the rewriting that ``vectorize`` asks for.

Every expression that depends on the vector becomes one of its lanes; what does not stays scalar until it meets a
vector. Tests: tests/vta/passes/host/test_vectorize_loop.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import assert_never, cast

from isa.errors import VTAError
from vta.arith.const_bounds import is_index
from vta.arith.const_interval import ConstInterval
from vta.arith.simplify import Analyzer
from vta.tir.deep import deep
from vta.tir.expr import (
    Add,
    And,
    Binary,
    Broadcast,
    BufferLoad,
    Builtin,
    Call,
    Cast,
    Compare,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Mod,
    Mul,
    Not,
    Or,
    ProducerLoad,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    StringImm,
    Sub,
    Var,
    cast_to,
    const,
)
from vta.tir.stmt import (
    AssertStmt,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    is_noop,
)
from vta.tir.traverse import substitute, uses_var, walk

__all__ = ["NotVectorError", "has_vectors", "vectorized"]


class NotVectorError(VTAError):
    """A statement that no operation on vectors does; it never leaves the pass, whose loop then stays a loop."""


def has_vectors(stmt: Stmt) -> bool:
    """Whether something below ``stmt`` is a vector already."""
    return any(isinstance(node, Ramp | Broadcast | Shuffle) for node in walk(stmt))


def vectorized(stmt: Stmt, var: Var, values: Ramp, analyzer: Analyzer) -> Stmt:
    """Return ``stmt`` for all ``values`` of ``var``; raises ``NotVectorError``."""
    done = _Vectorizer(var, values, analyzer, {var: values}).stmt(stmt)
    if not has_vectors(done):
        raise NotVectorError("each iteration does something else")
    return done


@dataclass(slots=True)
class _Vectorizer:
    var: Var
    values: Ramp
    analyzer: Analyzer
    vectors: dict[Var, Expr] = field(default_factory=dict)
    scalars: dict[Var, Expr] = field(default_factory=dict)
    """What the variables of lets stand for in one iteration."""

    @property
    def lanes(self) -> int:
        return self.values.lanes

    @deep
    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case IfThenElse() if self.expr(stmt.condition).dtype.lanes > 1:
                return self._lane_by_lane(stmt)
            case BufferStore():
                return self._store(stmt)
            case SeqStmt():
                return replace(stmt, stmts=tuple(map(self.stmt, stmt.stmts)))
            case For():
                low, extent = self._scalar(stmt.min), self._scalar(stmt.extent)
                return replace(stmt, min=low, extent=extent, body=self.stmt(stmt.body))
            case IfThenElse():
                condition = self._scalar(stmt.condition)
                else_case = None if stmt.else_case is None else self.stmt(stmt.else_case)
                return replace(stmt, condition=condition, then_case=self.stmt(stmt.then_case), else_case=else_case)
            case LetStmt():
                return self._let(stmt)
            case AttrStmt():
                return replace(stmt, value=self._scalar(stmt.value), body=self.stmt(stmt.body))
            case AssertStmt():
                return replace(stmt, condition=self._scalar(stmt.condition), body=self.stmt(stmt.body))
            case Evaluate() if is_noop(stmt):
                return stmt
            case _:
                raise NotVectorError(f"a {type(stmt).__name__} is done once for each iteration")

    def _lane_by_lane(self, stmt: Stmt) -> Stmt:
        """Return a loop over the lanes for a statement that differs from lane to lane; others stay vectors."""
        if any(isinstance(node, Call) and node.op is Builtin.RET for node in walk(stmt)):
            raise NotVectorError("what comes first would be done for all iterations, and this ends them")
        if uses_var(stmt, [let for let in self.vectors if let not in self.scalars and let is not self.var]):
            raise NotVectorError("it needs what a variable holds for one lane")
        for let, value in reversed(self.scalars.items()):
            stmt = substitute(stmt, {let: value})
        lane = Var(self.var.name, self.var.dtype)
        body = substitute(stmt, {self.var: self.values.base + lane})
        return For(lane, const(0, lane.dtype), const(self.lanes, lane.dtype), body)

    def _store(self, stmt: BufferStore) -> Stmt:
        indices = tuple(map(self.expr, stmt.indices))
        if len(indices) != 1 or not _are_neighbours(indices[0]):
            raise NotVectorError("iterations do not store side by side")
        return replace(stmt, value=self._vector(self.expr(stmt.value)), indices=indices)

    def _let(self, stmt: LetStmt) -> Stmt:
        """Return the let, or what is below it with the vector in place of the variable."""
        value = self.expr(stmt.value)
        if value.dtype.lanes == 1:
            return replace(stmt, value=value, body=self.stmt(stmt.body))
        if not isinstance(value, Ramp) and any(isinstance(node, BufferLoad | Call) for node in walk(value)):
            vector = Var(stmt.var.name, value.dtype)  # computed once, before memory changes
            self.vectors[stmt.var] = vector
            return LetStmt(vector, value, self.stmt(stmt.body), origin=stmt.origin)
        self.vectors[stmt.var] = value
        self.scalars[stmt.var] = stmt.value
        return self.stmt(stmt.body)

    def _scalar(self, expr: Expr) -> Expr:
        value = self.expr(expr)
        if value.dtype.lanes > 1:
            raise NotVectorError("it differs from iteration to iteration")
        return value

    def _vector(self, value: Expr) -> Expr:
        return value if value.dtype.lanes > 1 else Broadcast(value, self.lanes)

    # --- expressions -------------------------------------------------------------------------------------------------

    @deep
    def expr(self, expr: Expr) -> Expr:
        """Return ``expr`` for all lanes: a vector if it depends on one."""
        match expr:
            case Var():
                return self.vectors.get(expr, expr)
            case Binary() | Compare():
                return self._pair(expr)
            case BufferLoad():
                return self._load(expr)
            case Cast():
                return self._cast(expr)
            case Not():
                a = self.expr(expr.a)
                return expr if a is expr.a else Not(a)
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case Let():
                self.vectors[expr.var] = self.expr(expr.value)
                return self.expr(expr.body)
            case Ramp() | Broadcast() | Shuffle():
                raise NotVectorError("vectors of vectors")
            case IntImm() | FloatImm() | StringImm():
                return expr
            case ProducerLoad() | Reduce():
                raise NotVectorError("it is not lowered yet")
            case _:
                assert_never(expr)

    def _pair(self, expr: Binary | Compare) -> Expr:
        a, b = self.expr(expr.a), self.expr(expr.b)
        if a is expr.a and b is expr.b:
            return cast("Expr", expr)
        kind: type[Binary | Compare] = type(expr)
        if kind in (And, Or):
            self._check_harmless(b)
        if a.dtype.lanes == b.dtype.lanes == 1:
            return _node(kind, a, b)
        if kind in (Add, Sub, Mul) and is_index(expr.dtype):
            ramp = self._ramp(kind, a, b)
            if ramp is not None:
                return ramp
        return _node(kind, self._vector(a), self._vector(b))

    def _ramp(self, kind: type[Expr], a: Expr, b: Expr) -> Ramp | None:
        """Return ``a kind b`` of indices as a ramp, None if it is none."""
        match kind, a, b:
            case _, Ramp(), Ramp() if kind is Add:
                return self._checked(a.base + b.base, a.stride + b.stride)
            case _, Ramp(), Ramp() if kind is Sub:
                return self._checked(a.base - b.base, a.stride - b.stride)
            case _, Ramp(), _ if b.dtype.lanes == 1:
                if kind is Mul:
                    return self._checked(a.base * b, a.stride * b)
                return self._checked(a.base + b if kind is Add else a.base - b, a.stride)
            case _, _, Ramp() if a.dtype.lanes == 1:
                if kind is Mul:
                    return self._checked(b.base * a, b.stride * a)
                return self._checked(
                    a + b.base if kind is Add else a - b.base, b.stride if kind is Add else 0 - b.stride
                )
            case _:
                return None

    def _checked(self, base: Expr, stride: Expr) -> Ramp:
        return Ramp(self.analyzer.simplify(base), self.analyzer.simplify(stride), self.lanes)

    def _load(self, expr: BufferLoad) -> Expr:
        indices = tuple(map(self.expr, expr.indices))
        vectors = [index for index in indices if index.dtype.lanes > 1]
        if vectors and not (len(indices) == 1 and _are_neighbours(indices[0])):
            raise NotVectorError("iterations do not read side by side")
        same_ones = all(new is old for new, old in zip(indices, expr.indices, strict=True))
        return expr if same_ones else BufferLoad(expr.buffer, indices)

    def _cast(self, expr: Cast) -> Expr:
        value = self.expr(expr.value)
        if value is expr.value:
            return expr
        if isinstance(value, Ramp) and is_index(expr.dtype) and is_index(expr.value.dtype):
            wide = expr.dtype
            if wide.bits >= expr.value.dtype.bits:
                return Ramp(cast_to(value.base, wide), cast_to(value.stride, wide), value.lanes)
        return Cast(expr.dtype.with_lanes(value.dtype.lanes), value)

    def _select(self, expr: Select) -> Expr:
        condition = self.expr(expr.condition)
        first, second = self.expr(expr.true_value), self.expr(expr.false_value)
        if condition.dtype.lanes > 1:
            self._check_harmless(first, second)
        return Select(condition, *self._alike(first, second, vectors=condition.dtype.lanes > 1))

    def _alike(self, first: Expr, second: Expr, *, vectors: bool) -> tuple[Expr, Expr]:
        if vectors or first.dtype.lanes > 1 or second.dtype.lanes > 1:
            return self._vector(first), self._vector(second)
        return first, second

    def _call(self, expr: Call) -> Expr:
        args = [self.expr(arg) for arg in expr.args]
        if all(new is old for new, old in zip(args, expr.args, strict=True)):
            if expr.op is Builtin.CALL_EXTERN:
                raise NotVectorError("a function is called once for each iteration")
            return expr
        if expr.op is Builtin.IF_THEN_ELSE:
            condition, first, second = args
            if condition.dtype.lanes > 1:
                self._check_harmless(first, second)
                return Select(condition, *self._alike(first, second, vectors=True))
            first, second = self._alike(first, second, vectors=False)
            return Call(first.dtype, expr.op, (condition, first, second))
        if not expr.op.is_lanewise:
            raise NotVectorError(f"{expr.op} has no form for vectors")
        if all(arg.dtype.lanes == 1 for arg in args):
            return replace(expr, args=tuple(args))
        return Call(expr.dtype.with_lanes(self.lanes), expr.op, tuple(map(self._vector, args)))

    def _check_harmless(self, *values: Expr) -> None:
        """Refuse what must not be evaluated where its lane was not chosen: foreign memory, a division by zero."""
        for value in values:
            for node in walk(value):
                match node:
                    case Call(op=Builtin.CALL_EXTERN):
                        raise NotVectorError("lanes that were not chosen would call a function")
                    case BufferLoad() if not self._is_inside(node):
                        raise NotVectorError("lanes that were not chosen might read foreign memory")
                    case Div() | Mod() | FloorDiv() | FloorMod() if not _is_nonzero(node.b):
                        raise NotVectorError("lanes that were not chosen might divide by zero")
                    case _:
                        continue

    def _is_inside(self, load: BufferLoad) -> bool:
        """Whether all lanes of ``load`` lie in its buffer."""
        for index, extent in zip(load.indices, load.buffer.shape, strict=True):
            bounds = self.analyzer.const_bounds(index)
            if not isinstance(extent, IntImm) or not bounds.within(ConstInterval(0, extent.value - 1)):
                return False
        return True


def _are_neighbours(index: Expr) -> bool:
    match index:
        case Ramp(stride=IntImm(value=1)):
            return True
        case _:
            return False


def _node(kind: type[Binary | Compare], a: Expr, b: Expr) -> Expr:
    return cast("Expr", kind(a, b))


def _is_nonzero(divisor: Expr) -> bool:
    while isinstance(divisor, Broadcast):
        divisor = divisor.value
    return divisor.dtype.is_float or (isinstance(divisor, IntImm) and divisor.value != 0)

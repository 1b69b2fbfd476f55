"""Turn the loops that a transposed convolution's schedule marks into micro-ops, and leave out those that add zeros.

Expects the nests under pragma ``conv2d_transpose_gemm`` as te lowers them: loops over the lanes of one element around
one store, either of zero (the reset) or of the old value plus data times weights. Where the product is zero unless a
condition holds (``Select``, ``if_then_else`` with a zero), the condition stands around the micro-op. Which of the
operands is data and which weights, their scratchpads tell; batch and block are the configuration's.

Before::

    attr [IterVar(bi)] "pragma_conv2d_transpose_gemm" = 1;
    for (ci, 0, 16) { for (k_i, 0, 16) {
      res[0, co, i, j, 0, ci] = res[0, co, i, j, 0, ci]
        + int32(select((i + d_i) % 2 == 0, data[0, k_o, (i + d_i) / 2, j, 0, k_i], 0)) * int32(kernel[co, ..., ci, k_i])
    } }

After::

    if ((i + d_i) % 2 == 0) {
      attr [[acc, res]] "buffer_bind_scope" = tuple(0, 1, co, 1, i, 1, j, 1, 0, 1, 0, 16);
      attr [[inp, data]] ...; attr [[wgt, kernel]] ...;
      uop_push(0, 0, access_ptr(acc), access_ptr(inp), access_ptr(wgt), 0, 0, 0)
    }

Tests: tests/vta/passes/gemm, and tests/vta/passes/test_pass_origins.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from isa.config import VTAConfig
from isa.origin import Origin
from vta.passes.errors import PassError
from vta.passes.gemm.micro_op import GemmViews, gemm_views, reset_micro_op, update_micro_op
from vta.passes.pragma import is_pragma
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.dtype import HANDLE
from vta.tir.expr import Add, BufferLoad, Builtin, Call, Cast, Expr, IntImm, Mul, Range, Select, Var, same
from vta.tir.func import PrimFunc
from vta.tir.printer import to_text
from vta.tir.scopes import INP_SCOPE, WGT_SCOPE
from vta.tir.stmt import AttrKey, AttrStmt, BufferStore, For, IfThenElse, Stmt
from vta.tir.traverse import map_stmt_children, substitute, uses_var

__all__ = ["TRANSPOSE_PRAGMA", "TransposeSkipError", "inject_conv2d_transpose_skip"]

TRANSPOSE_PRAGMA = "conv2d_transpose_gemm"

_Access: TypeAlias = BufferStore | BufferLoad

_ZERO = IntImm(0)
_HINT = (
    "compute it as an ordinary convolution over the dilated, padded data, and put the pragma on the batch lanes' axis"
)


class TransposeSkipError(PassError):
    """Marked loops that are no step of a convolution."""


def inject_conv2d_transpose_skip(func: PrimFunc, config: VTAConfig) -> PrimFunc:
    """Return ``func`` with micro-ops for the marked loops; raises ``TransposeSkipError`` for loops that are none."""
    return replace(func, body=_visit(func.body, config, None))


@deep
def _visit(stmt: Stmt, config: VTAConfig, origin: Origin | None) -> Stmt:
    origin = stmt.origin or origin
    if isinstance(stmt, AttrStmt) and is_pragma(stmt, TRANSPOSE_PRAGMA):
        return _NestReader(config, origin).micro_op(stmt.body)
    return map_stmt_children(stmt, lambda child: _visit(child, config, origin), lambda expr: expr)


@dataclass(frozen=True, slots=True)
class _Product:
    """Two loads that are multiplied, where ``conditions`` hold; elsewhere the product is zero."""

    loads: tuple[BufferLoad, ...] = ()
    conditions: tuple[Expr, ...] = ()

    def times(self, other: "_Product") -> "_Product":
        """Return the product of both."""
        return _Product((*self.loads, *other.loads), (*self.conditions, *other.conditions))


@dataclass(frozen=True, slots=True)
class _NestReader:
    """Reads one marked nest."""

    config: VTAConfig
    origin: Origin | None

    def micro_op(self, nest: Stmt) -> Stmt:
        """Return the micro-op that does what ``nest`` does."""
        loops: list[For] = []
        conditions: list[Expr] = []
        while not isinstance(nest, BufferStore):
            match nest:
                case For(min=IntImm(value=0)):
                    loops.append(nest)
                    nest = nest.body
                case IfThenElse(else_case=None):
                    conditions.append(nest.condition)
                    nest = nest.then_case
                case _:
                    raise self._error("loops from zero, around one store", to_text(nest).splitlines()[0])
        lanes = _Lanes(self, {loop.loop_var: loop.extent for loop in loops}, gemm_views(self.config))
        if _is_zero(nest.value):
            body = lanes.reset(nest)
        else:
            product = self._added(nest)
            conditions += product.conditions
            body = lanes.update(nest, product.loads)
        for condition in reversed(list(dict.fromkeys(conditions))):
            if uses_var(condition, tuple(lanes.extents)):
                raise self._error("conditions that hold for all lanes of an element", to_text(condition))
            body = IfThenElse(condition, body, None, self.origin)
        return body

    def _added(self, store: BufferStore) -> _Product:
        """Return what ``store`` adds to its element."""
        old = BufferLoad(store.buffer, store.indices)
        match store.value:
            case Add(a=a, b=b) if same(a, old):
                added = b
            case Add(a=a, b=b) if same(b, old):
                added = a
            case _:
                raise self._error("zero, or a product added to the element", to_text(store.value))
        product = self._product(added)
        if len(product.loads) != 2:
            raise self._error("the product of two loads", to_text(added))
        return product

    @deep
    def _product(self, expr: Expr) -> _Product:
        match expr:
            case Mul():
                return self._product(expr.a).times(self._product(expr.b))
            case Cast():
                return self._product(expr.value)
            case BufferLoad():
                return _Product((expr,))
            case Select() if _is_zero(expr.false_value):
                return _Product(conditions=(expr.condition,)).times(self._product(expr.true_value))
            case Call(op=Builtin.IF_THEN_ELSE, args=(condition, value, other)) if _is_zero(other):
                return _Product(conditions=(condition,)).times(self._product(value))
            case _:
                raise self._error("loads, perhaps zero where a condition does not hold", to_text(expr))

    def _error(self, expected: str, got: str) -> TransposeSkipError:
        return TransposeSkipError(
            f"pragma {TRANSPOSE_PRAGMA}", expected=expected, got=got, hint=_HINT, origin=self.origin
        )


@dataclass(frozen=True, slots=True)
class _Lanes:
    """The lanes of one element of each scratchpad, as the marked loops walk over them: ``extents`` by variable."""

    step: _NestReader
    extents: dict[Var, Expr]
    views: GemmViews

    def reset(self, store: BufferStore) -> Stmt:
        """Return the micro-op that clears the stored element."""
        self._element(store.buffer, store.indices, self.views.acc)
        return self._bound([(self.views.acc, store)], reset_micro_op(self.views, self.step.origin))

    def update(self, store: BufferStore, loads: Sequence[BufferLoad]) -> Stmt:
        """Return the micro-op that adds the product of ``loads`` to the stored element."""
        by_scope = {load.buffer.scope: load for load in loads}
        if set(by_scope) != {INP_SCOPE, WGT_SCOPE}:
            got = " and ".join(f"{load.buffer.name!r} in {load.buffer.scope}" for load in loads)
            raise self.step._error(f"one operand in {INP_SCOPE} and one in {WGT_SCOPE}", got)
        inp, wgt = by_scope[INP_SCOPE], by_scope[WGT_SCOPE]
        rows = self._element(store.buffer, store.indices, self.views.acc)
        data = self._element(inp.buffer, inp.indices, self.views.inp)
        weights = self._element(wgt.buffer, wgt.indices, self.views.wgt)
        if (rows[0], rows[1], data[1]) != (data[0], weights[0], weights[1]):
            raise self.step._error("acc[i, j] += inp[i, k] * wgt[j, k]", to_text(store.value))
        accesses: list[tuple[Buffer, _Access]] = [
            (self.views.acc, store), (self.views.inp, inp), (self.views.wgt, wgt)
        ]  # fmt: skip
        return self._bound(accesses, update_micro_op(self.views, self.step.origin))

    def _element(self, buffer: Buffer, indices: Sequence[Expr], view: Buffer) -> tuple[Var | None, Var | None]:
        """Return the variables that walk over the two dimensions of an element; None where there is one lane."""
        if buffer.scope != view.scope:
            raise self.step._error(f"{buffer.name!r} in {view.scope}", buffer.scope)
        if len(indices) < 2 or any(uses_var(index, tuple(self.extents)) for index in indices[:-2]):
            raise self.step._error("lanes in the last two dimensions", to_text(BufferLoad(buffer, tuple(indices))))
        first, second = (self._lane(i, size, buffer) for i, size in zip(indices[-2:], view.shape, strict=True))
        return first, second

    def _lane(self, index: Expr, size: Expr, buffer: Buffer) -> Var | None:
        if same(index, _ZERO) and same(size, IntImm(1)):
            return None
        if isinstance(index, Var) and index in self.extents and same(self.extents[index], size):
            return index
        raise self.step._error(f"a loop over the {to_text(size)} lanes of {buffer.name!r}", to_text(index))

    def _bound(self, accesses: Sequence[tuple[Buffer, _Access]], body: Stmt) -> Stmt:
        """Return ``body`` with each view bound to the element that is accessed."""
        origin = self.step.origin
        for view, access in reversed(accesses):
            sizes = [IntImm(1)] * (len(access.indices) - 2)
            lows = [substitute(index, dict.fromkeys(self.extents, _ZERO)) for index in access.indices]
            region = [Range(low, size) for low, size in zip(lows, [*sizes, *view.shape], strict=True)]
            ends = tuple(e for dom in region for e in (dom.min, dom.extent))
            body = AttrStmt(
                (view, access.buffer), AttrKey.BUFFER_BIND_SCOPE, Call(HANDLE, Builtin.TUPLE, ends), body, origin
            )
        return body


@deep
def _is_zero(expr: Expr) -> bool:
    match expr:
        case Cast():
            return _is_zero(expr.value)
        case IntImm():
            return expr.value == 0
        case _:
            return False

"""Make every buffer one-dimensional, and resolve the views that tensor intrinsics declare.

Expects what te lowers to. Afterwards realised buffers are allocations of the realised region, row-major (or with the
strides that ``storage_align`` asks for); loads, stores and access pointers count elements from the region's beginning;
the function's own buffers have one dimension, and ``declared`` keeps them as the user shaped them.

Before::

    realize(A_buf, [0:1, (o*16):((o*16) + 16), 0:1, 0:16], True {
      A_buf[0, (i1 + (o*16)), 0, i3] = A[0, (i1 + (o*16)), 0, i3]
      attr [[view, A_buf]] "buffer_bind_scope" = tuple(0, 1, ((o*16) + c), 1, 0, 1, 0, 16);
      uop_push(..., access_ptr(view.data, view_elem_offset, 16, "r"), ...)
    })

After::

    allocate(A_buf, int8, [256]), storage_scope = local.inp_buffer {
      A_buf[((i1*16) + i3)] = A[(((o*256) + (i1*16)) + i3)]
      uop_push(..., access_ptr(A_buf, (c*16), 16, "r"), ...)
    }

A view's trailing dimensions are those of the region that it is bound to; dimensions of the region before them must be
one element long. The region must lie in memory as the view says, at an offset that is provably a multiple of its
``offset_factor``; otherwise ``FlattenError`` says which view and why.

Memory that a person allocated, and bare pointers among the parameters, are one-dimensional already; buffers in them are
their elements in the buffers' own order. A pointer becomes an array of one dimension, as long as the caller's.

Every store and call gets the origin that it has inherited so far, because later passes move statements around.

Tests: tests/vta/passes/storage, and tests/vta/passes/test_pass_origins.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import mul

from isa.config import VTAConfig
from isa.origin import Origin
from vta.arith.simplify import Analyzer
from vta.passes.index_sum import index_sum
from vta.passes.storage.buffer_views import bind_view
from vta.passes.storage.flat_buffer import FlatBuffer, FlattenError, flat_argument, flat_region
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import BufferLoad, Builtin, Call, Expr, IntImm, IterVar, PointerType, Range, Var
from vta.tir.func import PrimFunc
from vta.tir.printer import to_text
from vta.tir.stmt import Allocate, AttrKey, AttrStmt, BufferRealize, BufferStore, Evaluate, For, Prefetch, Stmt
from vta.tir.traverse import map_expr, map_stmt_children, walk

__all__ = ["storage_flatten"]


def storage_flatten(func: PrimFunc, config: VTAConfig) -> PrimFunc:
    """Return ``func`` with one-dimensional buffers."""
    pointers = {param: _behind(param, param.pointer) for param in func.params if _is_pointer(param, func)}
    arguments = {buffer: flat_argument(buffer) for buffer in (*func.buffer_map.values(), *pointers.values())}
    own_buffers = frozenset(arguments)
    known = dict(arguments)
    for param, whole in pointers.items():
        known.update(_views_of(param, func.body, whole))
    flattener = _Flattener(config, Analyzer(), _alignments(func.body), known, {}, own_buffers)
    buffer_map = {**func.buffer_map, **pointers}
    return replace(
        func,
        body=flattener.visit(func.body),
        buffer_map={handle: arguments[buffer].buffer for handle, buffer in buffer_map.items()},
        declared={**buffer_map, **func.declared},
    )


def _is_pointer(param: Var, func: PrimFunc) -> bool:
    return param.pointer is not None and param not in func.buffer_map


def _behind(param: Var, pointer: PointerType | None) -> Buffer:
    """Return the memory behind a parameter that is a bare pointer: one dimension, as long as the caller's array is."""
    assert pointer is not None
    return Buffer(param.name, param, pointer.element, (Var(f"{param.name}_size"),), scope=pointer.scope)


def _views_of(data: Var, body: Stmt, whole: Buffer | None) -> dict[Buffer, FlatBuffer]:
    """Return how the buffers of ``body`` lie that are in the memory ``data`` points to, which is ``whole`` if given."""
    found: dict[Buffer, FlatBuffer] = {}
    for node in walk(body):
        if isinstance(node, BufferLoad | BufferStore) and node.buffer.data is data and node.buffer not in found:
            flat = flat_argument(node.buffer)
            found[node.buffer] = flat if whole is None else replace(flat, buffer=whole)
    return found


def _alignments(body: Stmt) -> dict[Buffer, dict[int, tuple[int, int]]]:
    """Return what ``storage_align`` asked for: by buffer and dimension, (factor, offset) of its stride."""
    found: dict[Buffer, dict[int, tuple[int, int]]] = {}
    for node in walk(body):
        match node:
            case AttrStmt(node=Buffer() as buffer, key=AttrKey.STORAGE_ALIGN, value=Call(args=(dim, factor, offset))):
                found.setdefault(buffer, {})[_int(dim)] = (_int(factor), _int(offset))
            case _:
                continue
    return found


def _int(expr: Expr) -> int:
    if not isinstance(expr, IntImm):
        raise FlattenError("storage_align with a variable", expected="constants", got=to_text(expr))
    return expr.value


@dataclass(frozen=True, slots=True)
class _Flattener:
    """Visits statements from the outside in; ``buffers`` and ``values`` say what is known where it stands."""

    config: VTAConfig
    analyzer: Analyzer
    alignments: Mapping[Buffer, Mapping[int, tuple[int, int]]]
    buffers: Mapping[Buffer, FlatBuffer]
    values: Mapping[Var, Expr]
    arguments: frozenset[Buffer]
    origin: Origin | None = None

    @deep
    def visit(self, stmt: Stmt) -> Stmt:
        """Return ``stmt`` with one-dimensional buffers."""
        here = self if stmt.origin is None or stmt.origin == self.origin else replace(self, origin=stmt.origin)
        return here._flatten(stmt)

    def _flatten(self, stmt: Stmt) -> Stmt:
        match stmt:
            case BufferRealize() if stmt.buffer in self.arguments:
                return self.visit(stmt.body)
            case BufferRealize():
                return self._realize(stmt)
            case Allocate():
                return self._allocation(stmt)
            case AttrStmt(node=(Buffer() as view, Buffer() as target), key=AttrKey.BUFFER_BIND_SCOPE):
                return self._bind(stmt, view, target)
            case AttrStmt(key=AttrKey.STORAGE_ALIGN):
                return self.visit(stmt.body)
            case Prefetch():
                return Evaluate(IntImm(0), self.origin)
            case BufferStore():
                flat = self._known(stmt.buffer)
                index = self._index(flat, tuple(map(self.expr, stmt.indices)))
                return BufferStore(flat.buffer, self.expr(stmt.value), (index,), self.origin)
            case Evaluate():
                return Evaluate(self.expr(stmt.value), self.origin)
            case For():
                low, extent = self.expr(stmt.min), self.expr(stmt.extent)
                self.analyzer.bind(stmt.loop_var, Range(low, extent))
            case AttrStmt(node=IterVar(var=var), key=AttrKey.VIRTUAL_THREAD):
                self.analyzer.bind(var, Range(IntImm(0), stmt.value))
            case _:
                pass
        return map_stmt_children(stmt, self.visit, self.expr)

    def _realize(self, stmt: BufferRealize) -> Stmt:
        bounds = [Range(self.expr(r.min), self.expr(r.extent)) for r in stmt.bounds]
        alignment = self.alignments.get(stmt.buffer, {})
        flat = flat_region(stmt.buffer, bounds, alignment, self.config, self.analyzer, stmt.origin or self.origin)
        inner = replace(self, buffers={**self.buffers, stmt.buffer: flat})
        return Allocate(
            buffer_var=stmt.buffer.data,
            dtype=stmt.buffer.dtype,
            extents=flat.buffer.shape,
            body=inner.visit(stmt.body),
            condition=self.expr(stmt.condition),
            origin=stmt.origin,
        )

    def _allocation(self, stmt: Allocate) -> Stmt:
        """Return an allocation that a person wrote, of one dimension; buffers in it are its elements in their order."""
        inner = replace(self, buffers={**self.buffers, **_views_of(stmt.buffer_var, stmt.body, None)})
        size = reduce(mul, map(self.expr, stmt.extents))
        extents = stmt.extents if len(stmt.extents) == 1 else (self.analyzer.simplify(size),)
        return replace(stmt, extents=extents, condition=self.expr(stmt.condition), body=inner.visit(stmt.body))

    def _bind(self, stmt: AttrStmt, view: Buffer, target: Buffer) -> Stmt:
        assert isinstance(stmt.value, Call)
        parts = [self.expr(arg) for arg in stmt.value.args]
        region = [Range(low, extent) for low, extent in zip(parts[::2], parts[1::2], strict=True)]
        binding = bind_view(view, self._known(target), region, self.analyzer, self.origin)
        buffers = {**self.buffers, view: binding.flat}
        return replace(self, buffers=buffers, values={**self.values, **binding.values}).visit(stmt.body)

    def expr(self, expr: Expr) -> Expr:
        """Return ``expr`` with flat loads, bound variables, and access pointers into the flat buffers."""
        return map_expr(self._expr_node, expr)

    def _expr_node(self, expr: Expr) -> Expr:
        match expr:
            case Var():
                return self.values.get(expr, expr)
            case BufferLoad():
                flat = self._known(expr.buffer)
                return BufferLoad(flat.buffer, (self._index(flat, expr.indices),))
            case Call(op=Builtin.ACCESS_PTR, args=(annotation, data, offset, extent, mask)):
                moved = (annotation, data, index_sum(offset, self.analyzer), self.analyzer.simplify(extent), mask)
                return Call(expr.dtype, expr.op, moved)
            case _:
                return expr

    def _index(self, flat: FlatBuffer, indices: tuple[Expr, ...]) -> Expr:
        return index_sum(flat.offset(indices, self.origin), self.analyzer)

    def _known(self, buffer: Buffer) -> FlatBuffer:
        if buffer not in self.buffers:
            raise FlattenError(
                f"buffer {buffer.name!r} is used where it does not exist",
                expected="a parameter of the function, or a realised buffer around the statement",
                got=", ".join(sorted(b.name for b in self.buffers)) or "none",
                origin=self.origin,
            )
        return self.buffers[buffer]

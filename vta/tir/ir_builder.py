"""Statements written with ``with``, under TVM's names: ``ib = tir.ir_builder.create()``.

::

    with ib.for_range(0, n, name="i") as i:
        with ib.if_scope(i < 10):
            A[i] = A[i] + 1
    body = ib.get()

Tests: tests/vta/tir/test_ir_builder.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from isa.errors import VTAError
from vta.tir import ops
from vta.tir.buffer import Buffer
from vta.tir.dtype import HANDLE, DType
from vta.tir.expr import (
    BufferLoad,
    Expr,
    ExprLike,
    IntImm,
    IterVar,
    Node,
    PointerType,
    StringImm,
    Var,
    cast_to,
    convert,
)
from vta.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    While,
    seq,
)

__all__ = ["BufferVar", "BuilderError", "IRBuilder", "create"]

_KINDS = {
    "unroll": ForKind.UNROLLED,
    "vectorize": ForKind.VECTORIZED,
    **{kind.value: kind for kind in ForKind if kind is not ForKind.THREAD_BINDING},
}


class BuilderError(VTAError, ValueError):
    """A statement that cannot stand where it was written."""


class BufferVar:
    """Elements of memory that a builder writes and reads: ``A[i]``, ``A[i] = value``."""

    def __init__(self, builder: IRBuilder, buffer: Buffer) -> None:
        self._builder = builder
        self.buffer = buffer

    @property
    def data(self) -> Var:
        """The pointer, for calls."""
        return self.buffer.data

    @property
    def dtype(self) -> DType:
        """The type of an element."""
        return self.buffer.dtype

    def asexpr(self) -> Expr:
        """Return the pointer."""
        return self.buffer.data

    def asobject(self) -> Buffer:
        """Return the buffer, for parameters of a function."""
        return self.buffer

    def _indices(self, index: object) -> tuple[Expr, ...]:
        given = index if isinstance(index, tuple) else (index,)
        indices = tuple(convert(i) for i in given)
        if len(indices) == len(self.buffer.shape):
            return indices
        if len(indices) > 1 or not self.buffer.shape:
            raise BuilderError(
                f"memory {self.buffer.name!r} has {len(self.buffer.shape)} dimensions, but {len(indices)} indices "
                "were given"
            )
        return _unravelled(indices[0], self.buffer.shape)

    def __getitem__(self, index: object) -> Expr:
        return BufferLoad(self.buffer, self._indices(index))

    def __setitem__(self, index: object, value: ExprLike) -> None:
        stored = convert(value, self.dtype if isinstance(value, int | float) else None)
        if self.dtype not in (stored.dtype, stored.dtype.element):
            raise BuilderError(
                f"memory {self.buffer.name!r} holds {self.dtype}, not {stored.dtype}; convert the value with "
                f".astype({str(self.dtype)!r})"
            )
        self._builder.emit(BufferStore(self.buffer, stored, self._indices(index)))


def _unravelled(index: Expr, shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the indices, one for each dimension, of the element at ``index`` in the order of memory."""
    result: list[Expr] = []
    rest = index
    for extent in reversed(shape[1:]):
        result.insert(0, rest % extent)
        rest = rest // extent
    return (rest, *result)


class IRBuilder:
    """Collects statements; ``get`` returns them as one."""

    def __init__(self) -> None:
        self._blocks: list[list[Stmt | Callable[[Stmt], Stmt]]] = [[]]

    def emit(self, stmt: Stmt | ExprLike | Callable[[Stmt], Stmt]) -> None:
        """Append a statement, an expression for its effect, or a function that wraps all that follows in its block."""
        match stmt:
            case Node():
                self._blocks[-1].append(Evaluate(stmt.asexpr()))
            case _ if isinstance(stmt, Stmt) or callable(stmt):
                self._blocks[-1].append(stmt)
            case _:
                self._blocks[-1].append(Evaluate(convert(stmt)))

    def get(self) -> Stmt:
        """Return what was written, and begin anew."""
        if len(self._blocks) != 1:
            raise BuilderError("ir_builder.get: a `with` block of the builder is still open")
        return self._popped([])

    def _popped(self, fresh: list[Stmt | Callable[[Stmt], Stmt]] | None = None) -> Stmt:
        parts = self._blocks.pop()
        if fresh is not None:
            self._blocks.append(fresh)
        body: Stmt = Evaluate(IntImm(0))
        for part in reversed(parts):
            body = part(body) if not isinstance(part, Stmt) else seq([part, body])
        return body

    @contextmanager
    def _block(self, wrap: Callable[[Stmt], Stmt]) -> Iterator[None]:
        """Collect a block; an error inside leaves nothing of it."""
        self._blocks.append([])
        depth = len(self._blocks)
        try:
            yield
        except BaseException:
            del self._blocks[depth - 1 :]
            raise
        body = self._popped()
        self._blocks[-1].append(wrap(body))

    @contextmanager
    def for_range(
        self, begin: ExprLike, end: ExprLike, name: str = "i", dtype: str | None = None, kind: str = "serial"
    ) -> Iterator[Var]:
        """Write a loop from ``begin`` to ``end`` (not included); gives its variable."""
        if kind not in _KINDS:
            raise BuilderError(f"for_range: kind {kind!r} is unknown; there are {', '.join(_KINDS)}")
        low, high = convert(begin), convert(end)
        wide = DType(dtype) if dtype is not None else max((low.dtype, high.dtype), key=lambda d: d.bits)
        low, high = cast_to(low, wide), cast_to(high, wide)
        var = Var(name, wide)
        extent = high if isinstance(low, IntImm) and low.value == 0 else high - low
        with self._block(lambda body: For(var, low, extent, body, _KINDS[kind])):
            yield var

    @contextmanager
    def new_scope(self) -> Iterator[None]:
        """Write a block of its own: what is wrapped around the rest of it ends with it."""
        with self._block(lambda body: body):
            yield

    @contextmanager
    def while_loop(self, condition: ExprLike) -> Iterator[None]:
        """Write what is done again and again, as long as ``condition`` holds."""
        test = ops.all(condition)
        with self._block(lambda body: While(test, body)):
            yield

    @contextmanager
    def if_scope(self, cond: ExprLike) -> Iterator[None]:
        """Write what is done if ``cond`` holds."""
        test = ops.all(cond)
        with self._block(lambda body: IfThenElse(test, body)):
            yield

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """Write what is done otherwise: right after an ``if_scope``."""
        last = self._blocks[-1][-1] if self._blocks[-1] else None
        if not isinstance(last, IfThenElse) or last.else_case is not None:
            raise BuilderError("else_scope must follow an if_scope")
        before = self._blocks[-1].pop()
        assert isinstance(before, IfThenElse)
        try:
            with self._block(lambda body: IfThenElse(before.condition, before.then_case, body)):
                yield
        except BaseException:
            self._blocks[-1].append(before)
            raise

    def scope_attr(self, node: IterVar | Buffer | Var | IntImm | str | None, attr_key: str, value: ExprLike) -> None:
        """Put all that follows in this block under an attribute; about a constant means about nothing in particular."""
        if isinstance(node, IntImm):
            node = None
        if node is not None and not isinstance(node, IterVar | Buffer | Var):
            raise BuilderError(f"scope_attr: an attribute is about an axis, a buffer or a variable, not {node!r}")
        held = convert(value)
        self.emit(lambda body: AttrStmt(node, attr_key, held, body))

    def let(self, var_name: str | Var, value: ExprLike) -> Var:
        """Let a new variable stand for ``value`` in all that follows in this block; return it."""
        held = convert(value)
        var = var_name if isinstance(var_name, Var) else Var(var_name, held.dtype)
        self.emit(lambda body: LetStmt(var, held, body))
        return var

    def assert_stmt(self, cond: ExprLike, message: str) -> None:
        """Let all that follows in this block fail with ``message`` unless ``cond`` holds."""
        test = ops.all(cond)
        self.emit(lambda body: AssertStmt(test, StringImm(message), body))

    def allocate(
        self, dtype: str, shape: ExprLike | Sequence[ExprLike], name: str = "buf", scope: str = ""
    ) -> BufferVar:
        """Allocate memory for all that follows in this block."""
        sizes = list(shape) if isinstance(shape, tuple | list) else [shape]
        extents = tuple(convert(size) for size in sizes)
        memory = scope or "global"
        var = Var(name, HANDLE, PointerType(DType(dtype), memory))
        self.emit(lambda body: Allocate(var, DType(dtype), extents, body))
        return BufferVar(self, Buffer(name, var, DType(dtype), extents, scope=memory))

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "") -> BufferVar:
        """Return memory behind a new pointer variable, for a parameter: its length is the caller's."""
        memory = scope or "global"
        var = Var(name, HANDLE, PointerType(DType(content_type), memory))
        return BufferVar(self, Buffer(name, var, DType(content_type), (IntImm(1),), scope=memory))

    def buffer_ptr(self, buffer: Buffer) -> BufferVar:
        """Return the elements of a declared buffer; one index of several dimensions walks over all of them."""
        if not isinstance(buffer, Buffer):
            raise BuilderError(f"buffer_ptr takes a buffer, not {type(buffer).__name__}; for a tensor see te.extern")
        return BufferVar(self, buffer)

    def likely(self, expr: ExprLike) -> Expr:
        """Return the condition, marked as true almost always."""
        return ops.likely(expr)


def create() -> IRBuilder:
    """Return a new builder."""
    return IRBuilder()

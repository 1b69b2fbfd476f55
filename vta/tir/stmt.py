"""The statements of TIR: immutable nodes, closed by the union ``Stmt``.

Any statement may carry its ``origin`` (schedule stage and source line); it takes no part in comparison, passes keep it,
a statement without one inherits that of the statement around it. Tests: tests/vta/tir/test_stmt.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from isa.origin import Origin
from vta.tir.buffer import Buffer
from vta.tir.dtype import BOOL, DType
from vta.tir.expr import DataProducer, Expr, IntImm, IterKind, IterVar, Node, Range, StringImm, Var, convert
from vta.tir.regions import BufferRegion

__all__ = [
    "Allocate", "Annotation", "AssertStmt", "AttrKey", "AttrStmt", "Block", "BufferRealize", "BufferStore", "Evaluate",
    "For", "ForKind", "IfThenElse", "LetStmt", "Prefetch", "ProducerRealize", "ProducerStore", "SeqStmt", "Stmt",
    "While", "is_noop", "seq", "stmt_list",
]  # fmt: skip

_TRUE = IntImm(1, BOOL)

Annotation: TypeAlias = "int | float | str | tuple[Annotation, ...]"
"""What a schedule says about a loop or block under a key: a number, a text, or several of these."""


class ForKind(StrEnum):
    """How the iterations of a loop run."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unrolled"
    THREAD_BINDING = "thread_binding"

    @classmethod
    def _missing_(cls, value: object) -> ForKind | None:
        """Take TVM's numbers, too."""
        return list(cls)[value] if isinstance(value, int) and 0 <= value < len(cls) else None


class AttrKey(StrEnum):
    """The attributes that passes know. A pragma's key is ``pragma_`` and the name the user gave."""

    COPROC_SCOPE = "coproc_scope"
    COPROC_UOP_SCOPE = "coproc_uop_scope"
    VIRTUAL_THREAD = "virtual_thread"
    THREAD_EXTENT = "thread_extent"
    BUFFER_BIND_SCOPE = "buffer_bind_scope"
    REDUCE_SCOPE = "reduce_scope"
    STORAGE_ALIGN = "buffer_dim_align"
    DOUBLE_BUFFER = "double_buffer_scope"


PRAGMA_PREFIX = "pragma_"


def _settle(stmt: object, name: str, dtype: str | None = None) -> None:
    """Make field ``name`` of a new statement an expression, if it was given a number, an element or ``a == b``."""
    value = getattr(stmt, name)
    if not isinstance(value, Node):
        object.__setattr__(stmt, name, convert(value, dtype))


def _settle_all(stmt: object, name: str) -> None:
    """Make field ``name`` of a new statement a tuple of expressions."""
    values = getattr(stmt, name)
    if type(values) is not tuple or not all(isinstance(value, Node) for value in values):
        object.__setattr__(stmt, name, tuple(map(convert, values)))


def _condition_first(stmt: Allocate | BufferRealize | ProducerRealize) -> None:
    """Let a new statement that was given its condition first have both in their places."""
    if not isinstance(stmt.body, Stmt):
        condition: object = stmt.body
        object.__setattr__(stmt, "body", stmt.condition)
        object.__setattr__(stmt, "condition", condition)
    _settle(stmt, "condition")


class _Identity:
    """What statements have in common under TVM's names."""

    __slots__ = ()

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this very statement."""
        return self is other


@dataclass(frozen=True, slots=True)
class BufferStore(_Identity):
    """``buffer[indices] = value``."""

    buffer: Buffer
    value: Expr
    indices: tuple[Expr, ...]
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _settle(self, "value", self.buffer.dtype)
        _settle_all(self, "indices")


@dataclass(frozen=True, slots=True)
class Evaluate(_Identity):
    """``value`` computed for its effect; ``Evaluate(IntImm(0))`` does nothing."""

    value: Expr
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _settle(self, "value")


@dataclass(frozen=True, slots=True)
class For(_Identity):
    """``body`` for ``loop_var`` from ``min`` to ``min + extent - 1``; also in TVM's order, ``kind`` before ``body``.

    ``thread`` is the tag of the thread axis that a loop of kind THREAD_BINDING is bound to; a script may give the axis.
    ``annotations`` are for whoever schedules or lowers the loop: those that begin with ``pragma_`` become attributes.
    """

    loop_var: Var
    min: Expr
    extent: Expr
    body: Stmt
    kind: ForKind = ForKind.SERIAL
    thread: str = ""
    annotations: Mapping[str, Annotation] = field(default_factory=dict, hash=False)
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.body, str | int):
            kind = ForKind(self.body)
            object.__setattr__(self, "body", self.kind)
            object.__setattr__(self, "kind", kind)
        if type(self.thread) is not str:
            axis: object = self.thread
            object.__setattr__(self, "thread", axis.thread_tag if isinstance(axis, IterVar) else "")
        if self.annotations is None:
            object.__setattr__(self, "annotations", {})
        _settle(self, "min", self.loop_var.dtype)
        _settle(self, "extent", self.loop_var.dtype)

    @property
    def thread_binding(self) -> IterVar | None:
        """The thread axis that the loop is bound to, under TVM's name."""
        return IterVar(None, Var(self.thread), IterKind.THREAD_INDEX, self.thread) if self.thread else None


@dataclass(frozen=True, slots=True)
class While(_Identity):
    """``body`` again and again, as long as ``condition`` holds before it; host programs only."""

    condition: Expr
    body: Stmt
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _settle(self, "condition")


@dataclass(frozen=True, slots=True)
class Prefetch(_Identity):
    """A hint that ``bounds`` of ``buffer`` will be read soon; it computes nothing."""

    buffer: Buffer
    bounds: tuple[Range, ...]
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if type(self.bounds) is not tuple:
            object.__setattr__(self, "bounds", tuple(self.bounds))


@dataclass(frozen=True, slots=True)
class ProducerStore(_Identity):
    """``producer[indices] = value`` of a tensor that has no buffer yet; lowering replaces it by a ``BufferStore``."""

    producer: DataProducer
    value: Expr
    indices: tuple[Expr, ...]
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _settle(self, "value", self.producer.dtype)
        _settle_all(self, "indices")


@dataclass(frozen=True, slots=True)
class ProducerRealize(_Identity):
    """``bounds`` of a tensor exist in memory ``storage_scope`` while ``body`` runs, before it has a buffer.

    Also in TVM's order, ``condition`` before ``body``.
    """

    producer: DataProducer
    bounds: tuple[Range, ...]
    body: Stmt
    condition: Expr = _TRUE
    storage_scope: str = ""
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if type(self.bounds) is not tuple:
            object.__setattr__(self, "bounds", tuple(self.bounds))
        _condition_first(self)


@dataclass(frozen=True, slots=True)
class SeqStmt(_Identity):
    """Statements one after the other; at least two, none of them a ``SeqStmt`` (see ``seq``).

    A script may give it nested ones, and take statements by number.
    """

    stmts: tuple[Stmt, ...]
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if type(self.stmts) is not tuple or any(isinstance(stmt, SeqStmt) for stmt in self.stmts):
            flat = (part for stmt in self.stmts for part in (stmt.stmts if isinstance(stmt, SeqStmt) else (stmt,)))
            object.__setattr__(self, "stmts", tuple(flat))

    def __getitem__(self, place: int) -> Stmt:
        return self.stmts[place]

    def __len__(self) -> int:
        return len(self.stmts)

    @property
    def seq(self) -> tuple[Stmt, ...]:
        """The statements, under TVM's name."""
        return self.stmts


@dataclass(frozen=True, slots=True)
class AttrStmt(_Identity):
    """``body`` under an attribute: ``node`` is what it is about (an axis, buffers), ``value`` its value.

    ``key`` is an ``AttrKey`` or ``pragma_*``. BUFFER_BIND_SCOPE: node is (view, target), value the TUPLE call with
    min and extent of each dimension of the target.
    """

    node: IterVar | Buffer | tuple[Buffer, Buffer] | Var | None
    key: str
    value: Expr
    body: Stmt
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _settle(self, "value")

    @property
    def attr_key(self) -> str:
        """The key, under TVM's name."""
        return self.key


@dataclass(frozen=True, slots=True)
class Allocate(_Identity):
    """``buffer_var`` points to ``extent`` elements of ``dtype`` while ``body`` runs, in the memory of its pointer type.

    ``extents`` multiply; uninitialised. Passes after storage flattening see memory through this node alone. Also in
    TVM's order, ``condition`` before ``body``. ``annotations`` are a script's; no pass looks at them.
    """

    buffer_var: Var
    dtype: DType
    extents: tuple[Expr, ...]
    body: Stmt
    condition: Expr = _TRUE
    origin: Origin | None = field(default=None, compare=False)
    annotations: Mapping[str, Annotation] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.annotations is None:
            object.__setattr__(self, "annotations", {})
        if type(self.dtype) is not DType:
            object.__setattr__(self, "dtype", DType(self.dtype))
        _condition_first(self)
        _settle_all(self, "extents")

    @property
    def scope(self) -> str:
        """The memory that holds it, for example "local.acc_buffer"."""
        return self.buffer_var.pointer.scope if self.buffer_var.pointer else "global"


@dataclass(frozen=True, slots=True)
class BufferRealize(_Identity):
    """``bounds`` of ``buffer`` exist while ``body`` runs; storage flattening turns it into ``Allocate``.

    Also in TVM's order, ``condition`` before ``body``.
    """

    buffer: Buffer
    bounds: tuple[Range, ...]
    body: Stmt
    condition: Expr = _TRUE
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if type(self.bounds) is not tuple:
            object.__setattr__(self, "bounds", tuple(self.bounds))
        _condition_first(self)


@dataclass(frozen=True, slots=True)
class LetStmt(_Identity):
    """``body`` with ``var`` standing for ``value``."""

    var: Var
    value: Expr
    body: Stmt
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _settle(self, "value", self.var.dtype)


@dataclass(frozen=True, slots=True)
class IfThenElse(_Identity):
    """``then_case`` if ``condition`` else ``else_case`` (which may be missing)."""

    condition: Expr
    then_case: Stmt
    else_case: Stmt | None = None
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _settle(self, "condition")


@dataclass(frozen=True, slots=True)
class AssertStmt(_Identity):
    """Fail with ``message`` unless ``condition`` holds, then ``body``."""

    condition: Expr
    message: StringImm
    body: Stmt
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _settle(self, "message")
        _settle(self, "condition")


@dataclass(frozen=True, slots=True)
class Block(_Identity):
    """What one iteration of the loops around computes: ``body``, where ``predicate`` holds.

    ``iter_vars`` are the axes that the body uses, ``values`` what they stand for in terms of the loops around.
    ``init`` starts a reduction: it runs where every reduction axis is at its beginning. ``alloc_buffers`` exist while
    the block runs. ``reads`` and ``writes`` are the parts of buffers that a block touches whose body does not show it
    (a call of an intrinsic); they follow from the body where they are None. ``annotations`` as in ``For``. For
    ``tir.Schedule``; a pass turns blocks into plain statements.
    """

    name: str
    iter_vars: tuple[IterVar, ...]
    values: tuple[Expr, ...]
    body: Stmt
    init: Stmt | None = None
    predicate: Expr = _TRUE
    alloc_buffers: tuple[Buffer, ...] = ()
    origin: Origin | None = field(default=None, compare=False)
    reads: tuple[BufferRegion, ...] | None = None
    writes: tuple[BufferRegion, ...] | None = None
    annotations: Mapping[str, Annotation] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _settle_all(self, "values")
        _settle(self, "predicate")

    @property
    def name_hint(self) -> str:
        """The name, under TVM's."""
        return self.name


Stmt: TypeAlias = (
    BufferStore | Evaluate | For | While | SeqStmt | AttrStmt | Allocate | BufferRealize | LetStmt | IfThenElse
    | AssertStmt | Block | Prefetch | ProducerStore | ProducerRealize
)  # fmt: skip


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """Return the statements of a sequence, or the statement by itself in a list."""
    return list(stmt.stmts) if isinstance(stmt, SeqStmt) else [stmt]


def is_noop(stmt: Stmt) -> bool:
    """Whether ``stmt`` is the statement that does nothing."""
    return isinstance(stmt, Evaluate) and isinstance(stmt.value, IntImm)


def seq(stmts: Iterable[Stmt]) -> Stmt:
    """Return ``stmts`` as one statement: nested sequences flattened, no-ops dropped, a single one as it is."""
    flat: list[Stmt] = []
    for stmt in stmts:
        if isinstance(stmt, SeqStmt):
            flat.extend(stmt.stmts)
        elif not is_noop(stmt):
            flat.append(stmt)
    if len(flat) == 1:
        return flat[0]
    return SeqStmt(tuple(flat)) if flat else Evaluate(IntImm(0))

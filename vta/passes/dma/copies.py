"""Recognising a copy: a nest of loops that stores elements of one buffer into another, perhaps padded with zeros.

``match_copy`` reads, below a ``dma_copy`` pragma::

    for (y, 0, 5) {
      for (x, 0, 7) {
        for (c, 0, 16) {
          if (likely(...)) {                                 // a guard, where a split does not divide
            A_buf[(((y*112) + (x*16)) + c)] = if_then_else((1 <= y) && (y < 4) && ..., A[...], 0)
    } } } }

as axes with an extent and a stride on either side, and what is padded, left out or left to the host.

Tests: tests/vta/passes/dma/test_inject_dma_intrin.py and the rest of tests/vta/passes/dma.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from isa.origin import Origin
from vta.arith.facts import conjuncts
from vta.arith.linear import detect_clip_bound, detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.passes.errors import PassError
from vta.passes.index_sum import index_sum
from vta.passes.pragma import SYNC_PRAGMA, is_pragma
from vta.tir.buffer import Buffer, is_global
from vta.tir.deep import deep
from vta.tir.dtype import BOOL, DType
from vta.tir.expr import (
    And,
    BufferLoad,
    Builtin,
    Call,
    Cast,
    Expr,
    FloatImm,
    IntImm,
    IterVar,
    Max,
    Min,
    Range,
    Select,
    Var,
    binary,
)
from vta.tir.printer import to_text
from vta.tir.stmt import AttrKey, AttrStmt, BufferStore, For, IfThenElse, LetStmt, Stmt
from vta.tir.traverse import substitute, uses_var

__all__ = ["Axis", "Copy", "DmaError", "match_copy"]

_ZERO = IntImm(0)


class DmaError(PassError):
    """A statement under ``dma_copy`` that no load or store of the accelerator does."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a copy.

    ``extent`` elements are copied; ``source`` and ``target`` are their distances in the two buffers. On the target's
    side ``pad_before`` and ``pad_after`` positions before and after them are filled with zeros.
    """

    name: str
    extent: Expr
    source: Expr
    target: Expr
    pad_before: Expr = _ZERO
    pad_after: Expr = _ZERO

    @property
    def is_padded(self) -> bool:
        """Whether zeros may be written."""
        return not (_is_zero(self.pad_before) and _is_zero(self.pad_after))

    @property
    def total(self) -> Expr:
        """Positions on the target's side."""
        return self.pad_before + self.extent + self.pad_after


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy between two buffers, in elements of the buffers' types.

    ``axes`` run from the outside in. ``loops`` are left to the host around it, as is ``guard``, without which nothing
    is copied. Where ``present`` does not hold there is no data, and all of the target is filled with zeros.
    ``source_offset`` belongs to the first element that is copied, ``target_offset`` to the first position that is
    written. Numbers of the source are converted to the target's type if they differ.
    """

    source: Buffer
    target: Buffer
    axes: tuple[Axis, ...]
    source_offset: Expr
    target_offset: Expr
    loops: tuple[tuple[Var, Expr], ...] = ()
    guard: Expr | None = None
    present: Expr | None = None
    origin: Origin | str | None = None

    @property
    def is_padded(self) -> bool:
        """Whether zeros may be written."""
        return self.present is not None or any(axis.is_padded for axis in self.axes)


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, IntImm) and expr.value == 0


def match_copy(stmt: Stmt, analyzer: Analyzer, origin: Origin | None, unread: Buffer | None = None) -> Copy:
    """Return the copy that ``stmt`` is; raises ``DmaError`` naming the first condition that does not hold.

    ``analyzer`` knows the variables around ``stmt``, and learns the loops' ranges. Where all of a scratchpad's part is
    padding, ``unread`` (some memory in DRAM) stands for what is not read.
    """
    nest = _Nest(analyzer, origin)
    store = nest.peel(stmt)
    nest.place = store.origin or origin or store.buffer.name
    if unread is not None and _is_constant_zero(store.value) and not is_global(store.buffer.scope):
        nest.pads.append(IntImm(0, BOOL))
        load = BufferLoad(replace(unread, dtype=store.buffer.dtype), store.indices)
    else:
        load = nest.peel_value(store.value)
    return _Matcher(nest, store, load).match()


@dataclass(slots=True)
class _Nest:
    """What is found around the store, and around the load in it."""

    analyzer: Analyzer
    place: Origin | str | None
    loops: list[tuple[Var, Expr]] = field(default_factory=list)
    guards: list[Expr] = field(default_factory=list)
    pads: list[Expr] = field(default_factory=list)
    casts: list[DType] = field(default_factory=list)

    def error(self, subject: str, *, expected: str, got: str, hint: str = "") -> DmaError:
        """Return the error that names the place."""
        return DmaError(f"dma_copy: {subject}", expected=expected, got=got, hint=hint, origin=self.place)

    @deep
    def peel(self, stmt: Stmt) -> BufferStore:
        """Collect loops and guards down to the store."""
        match stmt:
            case BufferStore():
                return stmt
            case For():
                if not self.analyzer.can_prove((stmt.min == 0).asexpr()):
                    raise self.error(
                        f"the loop over {stmt.loop_var.name} does not start at 0",
                        expected="a nest of loops that start at 0",
                        got=f"a start of {to_text(stmt.min)}",
                    )
                return self._loop(stmt.loop_var, stmt.extent, stmt.body)
            case AttrStmt(key=AttrKey.VIRTUAL_THREAD, node=IterVar(var=var)):
                return self._loop(var, stmt.value, stmt.body)  # the pragma is around the threads: one copy for all
            case IfThenElse(else_case=None):
                self.guards.extend(conjuncts(stmt.condition))
                return self.peel(stmt.then_case)
            case LetStmt():
                return self.peel(substitute(stmt.body, {stmt.var: stmt.value}))
            case AttrStmt() if not is_pragma(stmt, SYNC_PRAGMA):
                return self.peel(stmt.body)
            case _:
                raise self.error(
                    "the body is no copy",
                    expected="loops around one store of an element",
                    got=_kind(stmt),
                    hint="put the pragma on a stage that only copies",
                )

    def _loop(self, var: Var, extent: Expr, body: Stmt) -> BufferStore:
        self.analyzer.bind(var, Range(_ZERO, extent))
        self.loops.append((var, self.analyzer.simplify(extent)))
        return self.peel(body)

    @deep
    def peel_value(self, value: Expr) -> BufferLoad:
        """Collect conversions and padding conditions down to the load."""
        match value:
            case BufferLoad():
                return value
            case Cast():
                self.casts.append(value.dtype)
                return self.peel_value(value.value)
            case Select() | Call(op=Builtin.IF_THEN_ELSE):
                condition, data, fill = _choice(value)
                if not _is_constant_zero(fill):
                    raise self.error(
                        "the padding is not zero",
                        expected="0 where the condition does not hold (a load pads with zeros)",
                        got=to_text(fill),
                        hint="pad on the host, or with an ALU stage",
                    )
                self.pads.extend(conjuncts(condition))
                return self.peel_value(data)
            case _:
                raise self.error(
                    "the value is no element of another buffer",
                    expected="A[...], a conversion of it, or if_then_else(condition, A[...], 0)",
                    got=to_text(value),
                    hint="use pragma alu for what computes, and dma_copy for the stage that only copies",
                )


def _choice(value: Select | Call) -> tuple[Expr, Expr, Expr]:
    if isinstance(value, Select):
        return value.condition, value.true_value, value.false_value
    condition, data, fill = value.args
    return condition, data, fill


def _is_constant_zero(expr: Expr) -> bool:
    while isinstance(expr, Cast):
        expr = expr.value
    return isinstance(expr, IntImm | FloatImm) and expr.value == 0


def _kind(stmt: Stmt) -> str:
    """Return how an error names a statement."""
    if is_pragma(stmt, SYNC_PRAGMA):
        return f"pragma {SYNC_PRAGMA} on a loop of the copy"
    names = {"SeqStmt": "several statements", "IfThenElse": "a condition with else"}
    return names.get(type(stmt).__name__, type(stmt).__name__)


@dataclass(slots=True)
class _Matcher:
    nest: _Nest
    store: BufferStore
    load: BufferLoad
    host: list[Var] = field(default_factory=list)
    guard: list[Expr] = field(default_factory=list)
    present: list[Expr] = field(default_factory=list)

    def match(self) -> Copy:
        self._check_conversion()
        self._leave_bent_loops()
        clips = self._sort_guards()
        variables = [var for var, _ in self.nest.loops if var not in self.host]
        source = self._linear(self.load.buffer, self.load.indices, variables)
        target = self._linear(self.store.buffer, self.store.indices, variables)
        pads = self._pad_bounds(variables)
        axes: list[Axis] = []
        offsets = [source[-1], target[-1]]
        for i, (var, extent) in enumerate((v, e) for v, e in self.nest.loops if v not in self.host):
            axis = Axis(var.name, extent, source[i], target[i])
            axis, begin = self._clipped(axis, *clips.get(var, (None, None)))
            offsets = [offsets[0] + begin * axis.source, offsets[1] + begin * axis.target]
            low, high = pads[i]
            axis = self._padded(axis, None if low is None else low - begin, None if high is None else high - begin)
            offsets[0] = offsets[0] + axis.pad_before * axis.source
            axes.append(axis)
        return Copy(
            source=self.load.buffer,
            target=self.store.buffer,
            axes=tuple(axes),
            source_offset=index_sum(offsets[0], self.analyzer),
            target_offset=index_sum(offsets[1], self.analyzer),
            loops=tuple((v, e) for v, e in self.nest.loops if v in self.host),
            guard=_all(self.guard),
            present=_all(self.present),
            origin=self.nest.place,
        )

    @property
    def analyzer(self) -> Analyzer:
        return self.nest.analyzer

    def _check_conversion(self) -> None:
        if len(self.nest.casts) > 1:
            raise self.nest.error(
                "the value is converted more than once",
                expected="at most one conversion",
                got=to_text(self.store.value),
            )

    def _leave_bent_loops(self) -> None:
        """Leave to the host the loops in which an index is not linear: a fused one may turn into the next row."""
        for index in (*self.load.indices, *self.store.indices):
            straight: list[Var] = []
            for var, _ in reversed(self.nest.loops):
                if detect_linear_equation(index, [*straight, var], self.analyzer) is None:
                    self.host.append(var)
                else:
                    straight.append(var)

    def _linear(self, buffer: Buffer, indices: Sequence[Expr], variables: Sequence[Var]) -> tuple[Expr, ...]:
        form = detect_linear_equation(indices[0], variables, self.analyzer) if len(indices) == 1 else None
        if form is None:
            raise self.nest.error(
                f"buffer {buffer.name!r} has {len(indices)} dimensions",
                expected="one-dimensional memory",
                got=", ".join(map(to_text, indices)),
                hint="run StorageFlatten first",
            )
        return form

    def _sort_guards(self) -> dict[Var, tuple[Expr | None, Expr | None]]:
        """Decide whether each guard clips one loop or is left to the host with its loops; return the clips."""
        clips: dict[Var, tuple[Expr | None, Expr | None]] = {}
        for condition in self._simplified(self.nest.guards):
            used = [var for var, _ in self.nest.loops if uses_var(condition, var)]
            bound = detect_clip_bound(condition, used[-1:], self.analyzer) if used else None
            if bound is None:
                self.host.extend(used)
                self.guard.append(condition)
                continue
            self.host.extend(used[:-1])
            low, high = clips.get(used[-1], (None, None))
            clips[used[-1]] = (_tighter(Max, low, bound[0][0]), _tighter(Min, high, bound[0][1]))
        for var in [v for v in clips if v in self.host]:
            low, high = clips.pop(var)
            self.guard.extend([] if low is None else [low <= var])
            self.guard.extend([] if high is None else [var <= high])
        return clips

    def _pad_bounds(self, variables: Sequence[Var]) -> list[tuple[Expr | None, Expr | None]]:
        """Return the first and last value of each variable for which there is data."""
        bounds: list[tuple[Expr | None, Expr | None]] = [(None, None) for _ in variables]
        for condition in self._simplified(self.nest.pads):
            if not uses_var(condition, variables):
                self.present.append(condition)
                continue
            found = detect_clip_bound(condition, variables, self.analyzer)
            if found is None:
                raise self.nest.error(
                    "the padding condition is no bound of one loop",
                    expected="a conjunction of comparisons, each linear in one loop of the copy",
                    got=to_text(condition),
                    hint="pad before splitting or fusing the axes, or compute the stage on the host",
                )
            pairs = zip(bounds, found, strict=True)
            bounds = [(_tighter(Max, low, a), _tighter(Min, high, b)) for (low, high), (a, b) in pairs]
        return bounds

    def _simplified(self, conditions: Sequence[Expr]) -> Iterator[Expr]:
        """Yield the parts of the conditions that do not hold anyway."""
        for condition in conditions:
            for part in conjuncts(self.analyzer.simplify(condition)):
                if not (isinstance(part, IntImm) and part.value):
                    yield part

    def _clipped(self, axis: Axis, low: Expr | None, high: Expr | None) -> tuple[Axis, Expr]:
        """Return what a guard leaves of ``axis``, and where that begins."""
        begin = _ZERO if low is None else self.analyzer.simplify(binary(Max, low, _ZERO))
        if low is None and high is None:
            return axis, begin
        end = axis.extent if high is None else binary(Min, high + 1, axis.extent)
        return replace(axis, extent=self.analyzer.simplify(binary(Max, end - begin, _ZERO))), begin

    def _padded(self, axis: Axis, low: Expr | None, high: Expr | None) -> Axis:
        """Return ``axis`` with data from ``low`` to ``high`` and zeros around it."""
        if low is None and high is None:
            return axis
        size, simplify = axis.extent, self.analyzer.simplify
        before = _ZERO if low is None else simplify(binary(Min, binary(Max, low, _ZERO), size))
        after = _ZERO if high is None else binary(Max, size - high - 1, _ZERO)
        after = simplify(binary(Min, after, size - before))
        return replace(axis, extent=simplify(size - before - after), pad_before=before, pad_after=after)


def _tighter(kind: type[Max | Min], a: Expr | None, b: Expr | None) -> Expr | None:
    return b if a is None else a if b is None else binary(kind, a, b)


def _all(conditions: Sequence[Expr]) -> Expr | None:
    return reduce(lambda a, b: binary(And, a, b), conditions) if conditions else None

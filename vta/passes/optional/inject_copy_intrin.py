"""A copy under a pragma of the caller's becomes what a function makes of it: TVM's ``InjectCopyIntrin``.

Before, with the pragma ``memcpy``::

    attr [IterVar(i)] "pragma_memcpy" = 1;
    for (i, 0, 16) {
      for (j, 0, 16) {
        B[((i*16) + j)] = A[((i*32) + j)]
    } }

The function gets the source and the target as buffers of the loops' extents, with strides and an offset of their own
(``A``: shape [16, 16], strides [32, 1]), how many zeros are around the numbers in each dimension of the target (nothing
where there are none), and the zero; it returns the statement that takes the loops' place. Loops and conditions that are
no dimension of a copy stay around it. Expects one-dimensional buffers. Tests:
tests/vta/passes/optional/test_inject_copy_intrin.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from isa.config import VTAConfig
from isa.origin import Origin
from vta.arith.simplify import Analyzer
from vta.passes.dma.copies import Copy, DmaError, match_copy
from vta.passes.errors import PassError
from vta.passes.pragma import is_pragma
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import Expr, FloatImm, IntImm, Range, const
from vta.tir.func import Pass, PrimFunc
from vta.tir.printer import to_text
from vta.tir.stmt import AttrStmt, Evaluate, For, IfThenElse, Stmt
from vta.tir.traverse import map_stmt_children

__all__ = ["CopyIntrinError", "MakeCopy", "inject_copy_intrin"]

MakeCopy: TypeAlias = Callable[
    [Buffer, Buffer, Sequence[Expr], Sequence[Expr], IntImm | FloatImm | None], "Stmt | Expr"
]
"""(source, target, zeros before, zeros after, the zero) -> what copies."""


class CopyIntrinError(PassError):
    """A statement under the caller's pragma that is no copy."""


def inject_copy_intrin(pragma_key: str, make: MakeCopy) -> Pass:
    """Return the pass that gives copies under ``pragma_key`` to ``make``.

    It raises ``CopyIntrinError`` for what is no copy.
    """

    def run(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
        return replace(func, body=_visit(func.body, pragma_key, make, Analyzer(), None))

    return run


@deep
def _visit(stmt: Stmt, key: str, make: MakeCopy, analyzer: Analyzer, origin: Origin | None) -> Stmt:
    origin = stmt.origin or origin
    if isinstance(stmt, AttrStmt) and is_pragma(stmt, key):
        try:
            copy = match_copy(stmt.body, analyzer, origin)
        except DmaError as error:
            subject = error.subject.replace("dma_copy", key)
            raise CopyIntrinError(subject, expected=error.expected, got=error.got, origin=error.origin) from None
        return _copied(copy, key, make)
    if isinstance(stmt, For):
        analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
    return map_stmt_children(stmt, lambda child: _visit(child, key, make, analyzer, origin), lambda expr: expr)


def _copied(copy: Copy, key: str, make: MakeCopy) -> Stmt:
    if copy.source.dtype != copy.target.dtype:
        kinds = f"{copy.source.dtype} to {copy.target.dtype}"
        raise CopyIntrinError(f"{key}: a copy", expected="numbers of one type", got=kinds, origin=copy.origin)
    if copy.present is not None:
        when = f"none unless {to_text(copy.present)}"
        raise CopyIntrinError(f"{key}: a copy", expected="data everywhere", got=when, origin=copy.origin)
    extents = tuple(axis.extent for axis in copy.axes) or (const(1),)
    totals = tuple(axis.total for axis in copy.axes) or (const(1),)
    source = _part(copy.source, extents, tuple(a.source for a in copy.axes) or (const(1),), copy.source_offset)
    target = _part(copy.target, totals, tuple(a.target for a in copy.axes) or (const(1),), copy.target_offset)
    before = [axis.pad_before for axis in copy.axes] if copy.is_padded else []
    after = [axis.pad_after for axis in copy.axes] if copy.is_padded else []
    zero = const(0, copy.target.dtype) if copy.is_padded else None
    assert zero is None or isinstance(zero, IntImm | FloatImm)
    made = make(source, target, before, after, zero)
    body = made if isinstance(made, Stmt) else Evaluate(made)
    if copy.guard is not None:
        body = IfThenElse(copy.guard, body)
    for var, extent in reversed(copy.loops):
        body = For(var, const(0, var.dtype), extent, body)
    return body


def _part(buffer: Buffer, shape: tuple[Expr, ...], strides: tuple[Expr, ...], offset: Expr) -> Buffer:
    simplify = Analyzer().simplify
    return replace(
        buffer,
        shape=tuple(map(simplify, shape)),
        strides=tuple(map(simplify, strides)),
        elem_offset=simplify(offset),
    )

"""Whether a block computes what an intrinsic's description does, and on which parts of its buffers.

Tests: tests/vta/tir/schedule/test_tensorize.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vta.arith.equal_terms import canonical, equal_terms
from vta.arith.simplify import Analyzer
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import BufferLoad, Expr, Var, cast_to, const
from vta.tir.printer import to_text
from vta.tir.stmt import Block, BufferStore, Evaluate, IfThenElse, Stmt, stmt_list
from vta.tir.structural import structural_equal
from vta.tir.traverse import uses_var

__all__ = ["Pairing", "difference", "same_statements"]


@dataclass(slots=True)
class Pairing:
    """Which buffer each one of the description stands for, and where its elements begin there."""

    axes: Sequence[Var]
    analyzer: Analyzer
    found: dict[Buffer, tuple[Buffer, tuple[Expr, ...]]] = field(default_factory=dict)

    def known(self) -> object:
        """Return what was learnt so far."""
        return dict(self.found)

    def forget(self, known: object) -> None:
        """Go back to what was known."""
        assert isinstance(known, dict)
        self.found = dict(known)

    def pair(self, own: BufferLoad, other: BufferLoad) -> bool:
        """Return whether the two loads stand for each other."""
        return self.places(own.buffer, own.indices, other.buffer, other.indices)

    def places(self, own: Buffer, at: Sequence[Expr], other: Buffer, like: Sequence[Expr]) -> bool:
        """Return whether ``own[at]`` is the element of a part of ``own`` that ``like`` is of ``other``."""
        extra = len(at) - len(like)
        if own.dtype != other.dtype or extra < 0:
            return False
        wanted = [const(0, index.dtype) for index in at[:extra]] + list(like)
        offsets: list[Expr] = []
        for index, inside in zip(at, wanted, strict=True):
            begin = self.analyzer.simplify(index - cast_to(inside, index.dtype))
            if uses_var(begin, self.axes):
                return False
            offsets.append(begin)
        before = self.found.setdefault(other, (own, tuple(offsets)))
        same_place = all(self.analyzer.can_prove_equal(a, b) for a, b in zip(before[1], offsets, strict=False))
        return before[0] is own and len(before[1]) == len(offsets) and same_place


@deep
def same_statements(own: Stmt | None, like: Stmt | None, pairing: Pairing) -> bool:
    """Whether two statements in the same axes compute the same; ``pairing`` learns which buffers they do it on."""
    if own is None or like is None:
        return own is like
    ours, theirs = stmt_list(own), stmt_list(like)
    if len(ours) != 1 or len(theirs) != 1:
        pairs = zip(ours, theirs, strict=False)
        return len(ours) == len(theirs) and all(same_statements(a, b, pairing) for a, b in pairs)
    match own, like:
        case BufferStore(), BufferStore():
            places = pairing.places(own.buffer, own.indices, like.buffer, like.indices)
            return places and _same(own.value, like.value, pairing)
        case IfThenElse(), IfThenElse():
            return (
                _same(own.condition, like.condition, pairing)
                and same_statements(own.then_case, like.then_case, pairing)
                and same_statements(own.else_case, like.else_case, pairing)
            )
        case Evaluate(), Evaluate():
            return _same(own.value, like.value, pairing)
        case _:
            return structural_equal(own, like)


def _same(own: Expr, like: Expr, pairing: Pairing) -> bool:
    analyzer = pairing.analyzer
    return equal_terms(canonical(own, analyzer), canonical(like, analyzer), analyzer, pairing)


def difference(own: Block, like: Block) -> str:
    """Return what both compute, for an error."""
    ours, theirs = ("\n".join(f"    {line}" for line in _lines(block)) for block in (own, like))
    return f"the block computes\n{ours}\nbut the intrinsic computes\n{theirs}"


def _lines(block: Block) -> list[str]:
    start = [] if block.init is None else ["start:", *to_text(block.init).splitlines(), "step:"]
    return [*start, *to_text(block.body).splitlines()]

"""Binding the views that a tensor intrinsic declares to the regions that a schedule gives it.

Tests: tests/vta/passes/storage/test_storage_flatten.py and the rest of tests/vta/passes/storage.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isa.origin import Origin
from vta.arith.simplify import Analyzer
from vta.passes.index_sum import index_sum
from vta.passes.storage.flat_buffer import FlatBuffer, FlattenError
from vta.tir.buffer import Buffer
from vta.tir.expr import Expr, IntImm, Range, Var
from vta.tir.printer import to_text

__all__ = ["Binding", "bind_view"]

_ZERO = IntImm(0)


@dataclass(frozen=True, slots=True)
class Binding:
    """``flat``: where the view's elements lie; ``values``: what the variables stand for that it was declared with."""

    flat: FlatBuffer
    values: Mapping[Var, Expr]


def bind_view(
    view: Buffer, target: FlatBuffer, region: Sequence[Range], analyzer: Analyzer, origin: Origin | None
) -> Binding:
    """Bind ``view`` to ``region`` of ``target``; raises ``FlattenError`` if it does not lie there as declared."""
    return _Binder(view, target, analyzer, origin).bind(region)


@dataclass(frozen=True, slots=True)
class _Binder:
    view: Buffer
    target: FlatBuffer
    analyzer: Analyzer
    origin: Origin | None
    values: dict[Var, Expr] = field(default_factory=dict)

    def bind(self, region: Sequence[Range]) -> Binding:
        view, target = self.view, self.target
        self._require(
            "memory",
            expected=f"{view.scope} {view.dtype}",
            got=f"{target.buffer.scope} {target.buffer.dtype}",
            holds=(view.scope, view.dtype) == (target.buffer.scope, target.buffer.dtype),
            hint=f"set_scope({view.scope!r}) and a dtype of {view.dtype} on that stage would fit",
        )
        offset = index_sum(target.offset([r.min for r in region], self.origin), self.analyzer)
        own = self._trailing(region)
        pairs = enumerate(zip(view.shape, own, strict=True))
        extents = [self._bound(size, r.extent, f"dimension {i}") for i, (size, r) in pairs]
        strides = self._strides(extents)
        self._bind_offset(offset)
        if view.data is not target.buffer.data:
            self.values[view.data] = target.buffer.data
        return Binding(FlatBuffer(target.buffer, tuple(_ZERO for _ in extents), strides, offset), self.values)

    def _trailing(self, region: Sequence[Range]) -> Sequence[Range]:
        """Return the part of the region that the view covers, after checking that the rest is one element long."""
        rest = len(region) - len(self.view.shape)
        sizes = [to_text(self.analyzer.simplify(r.extent)) for r in region]
        shape = ", ".join(map(to_text, self.view.shape))
        fits = rest >= 0 and all(self.analyzer.can_prove((r.extent == 1).asexpr()) for r in region[: max(rest, 0)])
        self._require(
            "region",
            expected=f"extents that end with ({shape}), 1 before that",
            got=f"({', '.join(sizes)})",
            holds=fits,
            hint="tensorize an axis below which the stage computes exactly what the intrinsic does",
        )
        return region[rest:]

    def _bound(self, declared: Expr, actual: Expr, what: str) -> Expr:
        """Bind a declared variable, or check a declared value, and return the actual one."""
        actual = self.analyzer.simplify(actual)
        if isinstance(declared, Var) and declared not in self.values:
            self.values[declared] = actual
            return actual
        known = self.values.get(declared, declared) if isinstance(declared, Var) else declared
        self._require(
            what, expected=to_text(known), got=to_text(actual), holds=self.analyzer.can_prove_equal(known, actual)
        )
        return actual

    def _strides(self, extents: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return the view's strides: those of the target, which must be what the view says (row-major if nothing)."""
        actual = self.target.strides[len(self.target.strides) - len(extents) :]
        if self.view.strides:
            pairs = zip(self.view.strides, actual, strict=True)
            return tuple(self._bound(d, a, f"stride of dimension {i}") for i, (d, a) in enumerate(pairs))
        compact: Expr = IntImm(1)
        for dim in reversed(range(len(extents))):
            one = self.analyzer.can_prove((extents[dim] == 1).asexpr())
            self._require(
                f"stride of dimension {dim}",
                expected=to_text(compact),
                got=to_text(actual[dim]),
                holds=one or self.analyzer.can_prove_equal(compact, actual[dim]),
                hint="the region is not contiguous; order or split the producer's axes so that it is, or declare the "
                "intrinsic's buffer with strides, as in strides=[te.var('ld'), 1]",
            )
            compact = self.analyzer.simplify(compact * extents[dim])
        return tuple(actual)

    def _bind_offset(self, offset: Expr) -> None:
        declared = self._bound(self.view.elem_offset, offset, "offset")
        factor = self.view.offset_factor
        self._require(
            "offset",
            expected=f"a multiple of {factor}",
            got=to_text(offset),
            holds=factor == 1 or self.analyzer.can_prove((declared % factor == 0).asexpr()),
            hint="the tile must begin at a whole element of the scratchpad",
        )

    def _require(self, what: str, *, expected: str, got: str, holds: bool, hint: str = "") -> None:
        if not holds:
            raise FlattenError(
                f"{what} of {self.target.buffer.name!r} bound to the view {self.view.name!r}",
                expected=expected,
                got=got,
                hint=hint,
                origin=self.origin,
            )

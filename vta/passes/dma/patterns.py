"""Cutting a copy into two-dimensional transfers of whole scratchpad elements.

A LOAD or STORE moves ``y`` rows of ``x`` elements. In the scratchpad rows lie one after the other; in DRAM a row is
contiguous and rows are ``stride`` elements apart. What a copy has beyond that becomes loops of the host around it.

From the inside out: the innermost axes make one element (a tile of the scratchpad's numbers, in the same order on both
sides); axes that continue each other are merged; the next axis is ``x`` if it is contiguous on both sides; the next one
is ``y`` if its rows follow each other in the scratchpad and do not run backwards in DRAM; all others are loops.

Tests: tests/vta/passes/dma/test_inject_dma_intrin.py and the rest of tests/vta/passes/dma.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vta.arith.simplify import Analyzer
from vta.passes.dma.copies import Copy, DmaError
from vta.passes.index_sum import index_sum
from vta.passes.memory_info import MemoryInfo
from vta.tir.expr import Expr, ExprLike, IntImm
from vta.tir.printer import to_text

__all__ = ["DmaDimension", "DmaTransfer", "plan_transfer"]

_ZERO, _ONE = IntImm(0), IntImm(1)


@dataclass(frozen=True, slots=True)
class DmaDimension:
    """One dimension of a transfer: ``extent`` elements of the scratchpad, ``dram`` and ``sram`` elements apart.

    ``pad_before`` and ``pad_after`` positions in the scratchpad around them are filled with zeros.
    """

    name: str
    extent: Expr
    dram: Expr
    sram: Expr
    pad_before: Expr = _ZERO
    pad_after: Expr = _ZERO

    @property
    def is_padded(self) -> bool:
        """Whether zeros may be written."""
        return not all(isinstance(pad, IntImm) and pad.value == 0 for pad in (self.pad_before, self.pad_after))

    @property
    def total(self) -> Expr:
        """Positions in the scratchpad."""
        return self.pad_before + self.extent + self.pad_after


@dataclass(frozen=True, slots=True)
class DmaTransfer:
    """``y`` rows of ``x`` elements, for each position of ``loops`` (from the outside in); offsets count elements."""

    loops: tuple[DmaDimension, ...]
    y: DmaDimension
    x: DmaDimension
    stride: Expr
    dram_offset: Expr
    sram_offset: Expr


def plan_transfer(copy: Copy, memory: MemoryInfo, analyzer: Analyzer, *, load: bool) -> DmaTransfer:
    """Return how a load into ``memory`` (or a store from it) does ``copy``; raises ``DmaError`` if none can."""
    return _TransferPlanner(copy, memory, analyzer, load).plan()


@dataclass(frozen=True, slots=True)
class _TransferPlanner:
    copy: Copy
    memory: MemoryInfo
    analyzer: Analyzer
    load: bool

    def plan(self) -> DmaTransfer:
        dims = self._in_elements(self._without_element(self._dimensions()))
        dims = self._merged([d for d in dims if d.is_padded or not self._equal(d.extent, 1)])
        x = y = DmaDimension("", _ONE, _ONE, _ONE)
        if dims and self._equal(dims[-1].dram, 1) and self._equal(dims[-1].sram, 1):
            x = dims.pop()
        stride = x.extent
        if dims and self._equal(dims[-1].sram, x.total) and self.analyzer.can_prove(dims[-1].dram >= 0):
            y = dims.pop()
            stride = y.dram
        source, target = self.copy.source_offset, self.copy.target_offset
        dram, sram = (source, target) if self.load else (target, source)
        return DmaTransfer(
            loops=tuple(dims),
            y=y,
            x=x,
            stride=stride,
            dram_offset=self._elements(dram, "the offset in DRAM"),
            sram_offset=self._elements(sram, f"the offset in {self.memory.scope}"),
        )

    def _dimensions(self) -> list[DmaDimension]:
        """Return the axes from the outside in, as they lie in the scratchpad."""
        dims = []
        for axis in self.copy.axes:
            dram, sram = (axis.source, axis.target) if self.load else (axis.target, axis.source)
            dims.append(DmaDimension(axis.name, axis.extent, dram, sram, axis.pad_before, axis.pad_after))
        dims = [d for d in dims if d.is_padded or not self._equal(d.extent, 1)]
        return sorted(dims, key=_depth) if all(isinstance(d.sram, IntImm) for d in dims) else dims

    def _without_element(self, dims: list[DmaDimension]) -> list[DmaDimension]:
        """Return ``dims`` without the innermost part that makes one element."""
        found, lanes = 1, self.memory.lanes
        while found < lanes:
            if not dims:
                raise self._error(
                    "it copies less than an element",
                    expected=self._element,
                    got="1 number" if found == 1 else f"{found} numbers",
                )
            inner = dims.pop()
            self._check_contiguous(inner, found)
            extent = inner.extent
            if not isinstance(extent, IntImm) or inner.is_padded:
                hint = "pad or guard whole elements only"
                raise self._error(
                    f"axis {inner.name} pads or cuts within an element",
                    expected=self._element,
                    got=_size(inner),
                    hint=hint,
                )
            part = min(extent.value, lanes // found)
            if lanes % (found * part) or extent.value % part:
                raise self._error(
                    f"axis {inner.name} does not divide into elements",
                    expected=self._element,
                    got=f"{found * extent.value} numbers in a row",
                )
            found *= part
            if part < extent.value:
                rest = replace(
                    inner, extent=IntImm(extent.value // part), dram=inner.dram * part, sram=inner.sram * part
                )
                dims.append(rest)
        return dims

    def _check_contiguous(self, inner: DmaDimension, stride: int) -> None:
        for where, actual in (("DRAM", inner.dram), (self.memory.scope, inner.sram)):
            if not self._equal(actual, stride):
                raise self._error(
                    f"axis {inner.name} is not contiguous in {where}",
                    expected=f"{self._element}, so a stride of {stride}",
                    got=f"a stride of {to_text(actual)}",
                    hint="the numbers of an element must have the same order on both sides (no transpose)",
                )

    @property
    def _element(self) -> str:
        memory = self.memory
        return f"elements of {memory.scope}, which are {memory.rows} x {memory.columns} numbers"

    def _in_elements(self, dims: Sequence[DmaDimension]) -> list[DmaDimension]:
        """Return ``dims`` with strides that count elements."""
        return [
            replace(
                dim,
                dram=self._elements(dim.dram, f"the stride of axis {dim.name} in DRAM"),
                sram=self._elements(dim.sram, f"the stride of axis {dim.name} in {self.memory.scope}"),
            )
            for dim in dims
        ]

    def _elements(self, count: Expr, what: str) -> Expr:
        lanes = self.memory.lanes
        if not self.analyzer.can_prove((count % lanes == 0).asexpr()):
            raise self._error(
                f"{what} is no whole number of elements", expected=f"a multiple of {lanes}", got=to_text(count)
            )
        return index_sum(count // lanes, self.analyzer)

    def _merged(self, dims: Sequence[DmaDimension]) -> list[DmaDimension]:
        """Return ``dims`` with those that continue each other on both sides made one."""
        merged: list[DmaDimension] = []
        for outer in reversed(dims):
            inner = merged[-1] if merged else None
            if inner is None or not self._continues(outer, inner):
                merged.append(outer)
                continue
            extent = self.analyzer.simplify(outer.extent * inner.extent)
            merged[-1] = replace(inner, name=f"{outer.name}.{inner.name}", extent=extent)
        return merged[::-1]

    def _continues(self, outer: DmaDimension, inner: DmaDimension) -> bool:
        return (
            not (outer.is_padded or inner.is_padded)
            and self._equal(outer.dram, inner.dram * inner.extent)
            and self._equal(outer.sram, inner.sram * inner.extent)
        )

    def _equal(self, a: Expr, b: ExprLike) -> bool:
        return self.analyzer.can_prove_equal(a, b)

    def _error(self, subject: str, *, expected: str, got: str, hint: str = "") -> DmaError:
        return DmaError(f"dma_copy: {subject}", expected=expected, got=got, hint=hint, origin=self.copy.origin)


def _depth(dim: DmaDimension) -> tuple[bool, int]:
    """Sort key: what repeats one place first (its last round counts), then longer strides before shorter ones."""
    assert isinstance(dim.sram, IntImm)
    return dim.sram.value != 0, -abs(dim.sram.value)


def _size(dim: DmaDimension) -> str:
    pads = f", padded by {to_text(dim.pad_before)} and {to_text(dim.pad_after)}" if dim.is_padded else ""
    return f"an extent of {to_text(dim.extent)}{pads}"

"""The calls that do a transfer, inside the loops and conditions that are left to the host.

Tests: tests/vta/passes/dma/test_inject_dma_intrin.py and the rest of tests/vta/passes/dma.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from isa.instructions import MemoryId
from isa.origin import Origin
from vta.arith.simplify import Analyzer
from vta.passes.dma.copies import Copy
from vta.passes.dma.patterns import DmaDimension, DmaTransfer
from vta.passes.index_sum import index_sum
from vta.passes.sync.calls import command_handle
from vta.tir.buffer import Access, Buffer
from vta.tir.deep import deep
from vta.tir.dtype import INT32
from vta.tir.expr import And, Builtin, Call, Expr, IntImm, Range, StringImm, Var, binary
from vta.tir.stmt import Evaluate, For, IfThenElse, Stmt

__all__ = ["TransferCalls"]

_ZERO = IntImm(0)


@dataclass(frozen=True, slots=True)
class TransferCalls:
    """Writes one transfer: ``lanes`` numbers in an element, ``memory`` as LOAD and STORE number it."""

    copy: Copy
    transfer: DmaTransfer
    lanes: int
    memory: MemoryId
    analyzer: Analyzer
    origin: Origin | None

    def emit(self) -> Stmt:
        """Return the statement that does all of the copy."""
        copy, transfer = self.copy, self.transfer
        with_data = self._nest(transfer.loops, transfer.dram_offset, transfer.sram_offset)
        body = with_data
        if copy.present is not None:
            zeros = self._clear(transfer.loops, transfer.sram_offset)
            never = isinstance(copy.present, IntImm) and not copy.present.value
            body = zeros if never else self._either(copy.present, with_data, zeros)
        if copy.guard is not None:
            body = IfThenElse(copy.guard, body, origin=self.origin)
        for var, extent in reversed(copy.loops):
            body = For(var, _ZERO, extent, body, origin=self.origin)
        return body

    @deep
    def _nest(self, loops: Sequence[DmaDimension], dram: Expr, sram: Expr) -> Stmt:
        """Return the loops around the call that moves data."""
        if not loops:
            return self._move(dram, sram)
        dim, *rest = loops
        var = self._variable(dim)
        position = var - dim.pad_before
        inner = self._nest(rest, dram + position * dim.dram, sram + var * dim.sram)
        if dim.is_padded:
            inside = binary(And, dim.pad_before <= var, var < dim.pad_before + dim.extent)
            inner = self._either(inside, inner, self._clear(rest, sram + var * dim.sram))
        return For(var, _ZERO, self.analyzer.simplify(dim.total), inner, origin=self.origin)

    def _move(self, dram: Expr, sram: Expr) -> Stmt:
        """Return the call that moves data; if there may be none, offsets could lie anywhere: then the pads alone."""
        x, y = self.transfer.x, self.transfer.y
        call = self._call(x, y, dram, sram)
        without = self._clear((), sram) if self.copy.is_padded else None
        return self._if_any((y.extent, x.extent), call, without)

    def _if_any(self, sizes: Sequence[Expr], call: Stmt, without: Stmt | None = None) -> Stmt:
        """Return ``call``, under the condition that no size is zero unless that is certain."""
        uncertain = [size >= 1 for size in sizes if not self.analyzer.can_prove(size >= 1)]
        if not uncertain:
            return call
        some = self.analyzer.simplify(reduce(lambda a, b: binary(And, a, b), uncertain))
        return IfThenElse(some, call, without, origin=self.origin)

    @deep
    def _clear(self, loops: Sequence[DmaDimension], sram: Expr) -> Stmt:
        """Return the loops around the call that writes zeros alone."""
        if loops:
            dim, *rest = loops
            var = self._variable(dim)
            inner = self._clear(rest, sram + var * dim.sram)
            return For(var, _ZERO, self.analyzer.simplify(dim.total), inner, origin=self.origin)
        x, y = (
            replace(dim, extent=_ZERO, pad_before=self.analyzer.simplify(dim.total), pad_after=_ZERO)
            for dim in (self.transfer.x, self.transfer.y)
        )
        return self._if_any((y.total, x.total), self._call(x, y, _ZERO, sram))

    def _either(self, condition: Expr, with_data: Stmt, without: Stmt) -> Stmt:
        return IfThenElse(self.analyzer.simplify(condition), with_data, without, origin=self.origin)

    def _variable(self, dim: DmaDimension) -> Var:
        var = Var(dim.name, INT32)
        self.analyzer.bind(var, Range(_ZERO, dim.total))
        return var

    def _call(self, x: DmaDimension, y: DmaDimension, dram: Expr, sram: Expr) -> Stmt:
        offset = index_sum(dram, self.analyzer)
        sizes = (x.extent, y.extent, self.transfer.stride)
        memory = IntImm(int(self.memory))
        if self.memory is MemoryId.OUT:
            place = self._place(self.copy.source, x, y, sram)
            return self._runtime("VTAStoreBuffer2D", place, memory, self.copy.target.data, offset, *sizes)
        place = self._place(self.copy.target, x, y, sram)
        pads = (x.pad_before, y.pad_before, x.pad_after, y.pad_after)
        return self._runtime("VTALoadBuffer2D", self.copy.source.data, offset, *sizes, *pads, place, memory)

    def _place(self, buffer: Buffer, x: DmaDimension, y: DmaDimension, sram: Expr) -> Expr:
        """Return the access pointer to the elements of the scratchpad that a call covers."""
        start = index_sum(sram * self.lanes, self.analyzer)
        count = self.analyzer.simplify(x.total * y.total * self.lanes)
        annotation = Call(buffer.dtype, Builtin.TYPE_ANNOTATION)
        return Call(INT32, Builtin.ACCESS_PTR, (annotation, buffer.data, start, count, IntImm(int(Access.READ))))

    def _runtime(self, symbol: str, *args: Expr) -> Stmt:
        call = Call(INT32, Builtin.CALL_EXTERN, (StringImm(symbol), command_handle(), *args))
        return Evaluate(call, self.origin)

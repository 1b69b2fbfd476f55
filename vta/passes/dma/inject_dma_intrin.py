"""Replace copies under pragma ``dma_copy`` by LOADs and STOREs of the accelerator.

Expects one-dimensional buffers. A copy from DRAM to a scratchpad becomes loads, one from the accumulator to DRAM
becomes stores; each goes to the queue of the module that executes it.

Before::

    attr [IterVar(i0)] "pragma_dma_copy" = 1;
    for (y, 0, 5) {
      for (x, 0, 7) {
        for (c, 0, 16) {
          A_buf[(((y*112) + (x*16)) + c)] = if_then_else((1 <= y) && (y < 4) && (1 <= x) && (x < 6),
                                                         A[((((y*80) + (x*16)) + c) - 96)], 0)
    } } }

After::

    attr [IterVar(vta)] "coproc_scope" = 2;
    VTALoadBuffer2D(handle, A, 0, 5, 3, 5, 1, 1, 1, 1, access_ptr(A_buf, 0, 560, "r"), 3)

Arguments: DRAM buffer and offset, x_size, y_size, x_stride, then pads (x before, y before, x after, y after), the place
in the scratchpad, the memory id. All but the place count elements of the scratchpad. int8 data for the accumulator is
widened by the load (memory ACC_8BIT).

Loops around a two-dimensional transfer, and conditions that split axes bring, are left to the host. Sizes and pads are
not limited here: the command queue cuts what an instruction's fields do not hold (rows beyond 65535, pads beyond 15),
and where no data is left it writes the pads alone.

The scopes of tensor intrinsics, each of which brings an axis of the accelerator, get the one that the copies use.

Tests: tests/vta/passes/dma, and tests/vta/passes/test_pass_origins.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from isa.config import VTAConfig
from isa.instructions import MemoryId
from isa.origin import Origin
from vta.arith.simplify import Analyzer
from vta.passes.coproc_axis import coproc_scope, find_coproc_axis, is_coproc_axis
from vta.passes.dma.calls import TransferCalls
from vta.passes.dma.copies import Copy, DmaError, match_copy
from vta.passes.dma.patterns import plan_transfer
from vta.passes.memory_info import MemoryInfo, memory_info, output_memory
from vta.passes.pragma import is_pragma, sync_outside
from vta.tir.buffer import Buffer, is_global
from vta.tir.deep import deep
from vta.tir.dtype import DType
from vta.tir.expr import IntImm, IterVar, Range
from vta.tir.func import PrimFunc
from vta.tir.scopes import ACC_SCOPE
from vta.tir.stmt import AttrKey, AttrStmt, For, IfThenElse, Stmt
from vta.tir.traverse import map_stmt_children

__all__ = ["DMA_PRAGMA", "inject_dma_intrin"]

DMA_PRAGMA = "dma_copy"

_ZERO = IntImm(0)
_WIDENED_BITS = 8
"""Width of the numbers that an ACC_8BIT load widens."""
_USE_ACC = "compute the result in the accumulator"


def inject_dma_intrin(func: PrimFunc, config: VTAConfig) -> PrimFunc:
    """Return ``func`` with its copies as calls of the runtime; raises ``DmaError`` for a copy that is none."""
    unread = next((buffer for buffer in func.buffer_map.values() if is_global(buffer.scope)), None)
    injector = _DmaInjector(config, find_coproc_axis(func.body), Analyzer(), unread)
    return replace(func, body=injector.visit(func.body))


@dataclass(frozen=True, slots=True)
class _DmaInjector:
    config: VTAConfig
    axis: IterVar
    analyzer: Analyzer
    unread: Buffer | None
    origin: Origin | None = None

    @deep
    def visit(self, stmt: Stmt) -> Stmt:
        """Return ``stmt`` with its copies replaced."""
        here = self if stmt.origin is None or stmt.origin == self.origin else replace(self, origin=stmt.origin)
        return here._inject(stmt)

    def _inject(self, stmt: Stmt) -> Stmt:
        match stmt:
            case AttrStmt() if is_pragma(stmt, DMA_PRAGMA):
                return self._transfer(stmt)
            case AttrStmt() if is_coproc_axis(stmt.node) and stmt.node is not self.axis:
                return self.visit(replace(stmt, node=self.axis))
            case For():
                self.analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
            case AttrStmt(node=IterVar(var=var), key=AttrKey.VIRTUAL_THREAD):
                self.analyzer.bind(var, Range(_ZERO, stmt.value))
            case IfThenElse():
                return self._condition(stmt)
            case _:
                pass
        return map_stmt_children(stmt, self.visit, lambda expr: expr)

    def _condition(self, stmt: IfThenElse) -> Stmt:
        with self.analyzer.constraint(stmt.condition):
            then_case = self.visit(stmt.then_case)
        else_case = None if stmt.else_case is None else self.visit(stmt.else_case)
        if then_case is stmt.then_case and else_case is stmt.else_case:
            return stmt
        return replace(stmt, then_case=then_case, else_case=else_case)

    def _transfer(self, stmt: AttrStmt) -> Stmt:
        sync, pragma = sync_outside(stmt)
        if sync is not None:
            return replace(sync, body=self._transfer(pragma))
        copy = match_copy(stmt.body, self.analyzer, self.origin, self.unread)
        source, target = is_global(copy.source.scope), is_global(copy.target.scope)
        if source == target:
            raise _error(
                copy,
                "it does not cross the chip's border",
                expected="a copy from DRAM to a scratchpad, or from the accumulator to DRAM",
                got=f"{copy.source.scope} to {copy.target.scope}",
                hint="set_scope() decides where a stage's result lives",
            )
        return self._load(copy) if source else self._store(copy)

    def _load(self, copy: Copy) -> Stmt:
        memory = memory_info(self.config, copy.target.scope, copy.origin)
        number = self._loaded_memory(copy, memory)
        return self._calls(copy, memory, number, load=True)

    def _loaded_memory(self, copy: Copy, memory: MemoryInfo) -> MemoryId:
        """Return the memory id of a load: that of the scratchpad, or ACC_8BIT if the load widens its data."""
        source, target = copy.source.dtype, copy.target.dtype
        narrow = DType(self.config.inp_dtype)
        if target == memory.dtype:
            if source == target:
                return memory.memory
            if memory.scope == ACC_SCOPE and source == narrow and narrow.bits == _WIDENED_BITS:
                return MemoryId.ACC_8BIT
        accepted = [f"{memory.dtype} to {memory.dtype}"]
        if memory.scope == ACC_SCOPE and narrow.bits == _WIDENED_BITS:
            accepted.append(f"{narrow} to {memory.dtype}")
        raise _error(
            copy,
            f"a load into {memory.scope} cannot convert like this",
            expected=" or ".join(accepted),
            got=f"{source} to {target}",
        )

    def _store(self, copy: Copy) -> Stmt:
        memory = output_memory(self.config)
        source, target = copy.source.dtype, copy.target.dtype
        if copy.source.scope != ACC_SCOPE:
            memory_info(self.config, copy.source.scope, copy.origin)
            hint = "compute the result in the accumulator"
            raise _error(
                copy, "only the accumulator can be stored", expected=ACC_SCOPE, got=copy.source.scope, hint=hint
            )
        if source != self.config.acc_dtype or not target.is_int or target.bits != memory.dtype.bits:
            raise _error(
                copy,
                f"a store keeps the low {memory.dtype.bits} bits of each number",
                expected=f"{self.config.acc_dtype} to {memory.dtype}",
                got=f"{source} to {target}",
                hint=f"end the computation with a cast to {memory.dtype}",
            )
        if copy.is_padded:
            raise _error(copy, "a store cannot pad", expected="a plain copy", got="if_then_else(condition, A[...], 0)")
        return self._calls(copy, memory, memory.memory, load=False)

    def _calls(self, copy: Copy, memory: MemoryInfo, number: MemoryId, *, load: bool) -> Stmt:
        transfer = plan_transfer(copy, memory, self.analyzer, load=load)
        origin = copy.origin if isinstance(copy.origin, Origin) else self.origin
        calls = TransferCalls(copy, transfer, memory.lanes, number, self.analyzer, origin)
        return coproc_scope(self.axis, memory.queue, calls.emit(), origin)


def _error(copy: Copy, subject: str, *, expected: str, got: str, hint: str = "") -> DmaError:
    return DmaError(f"dma_copy: {subject}", expected=expected, got=got, hint=hint, origin=copy.origin)

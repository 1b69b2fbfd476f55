"""Give every allocation its place: results over dead operands, free memory used again, one block a scratchpad.

Before::

    allocate(A_buf, int32, [1024]), storage_scope = local.acc_buffer;
    allocate(B_buf, int32, [1024]), storage_scope = local.acc_buffer;
    allocate(C_buf, int32, [1024]), storage_scope = local.acc_buffer {
      load(access_ptr(A_buf, 0)); load(access_ptr(B_buf, 0))
      for (i, 0, 1024) { C_buf[i] = A_buf[i] + B_buf[i] }
      store(access_ptr(C_buf, 0))
    }

After::

    allocate(A_buf, int32, [2048]), storage_scope = local.acc_buffer {
      load(access_ptr(A_buf, 0)); load(access_ptr(A_buf, 1024))
      for (i, 0, 1024) { C_buf[i] = A_buf[i] + B_buf[i + 1024] }
      store(access_ptr(A_buf, 0))
    }

A buffer keeps its name, as a view of the allocation that it is in. Expects one-dimensional memory. Allocations move to
the beginning of their attach scope: the innermost virtual thread or parallel loop around them, or the function. Where
virtual threads have been expanded, their parts of a block are not used again for other memory: the tokens order
accesses within one thread alone.
Modules: ``liveness`` (when memory is in use), ``in_place``, ``reuse`` (who shares), ``tagged_merge`` (offsets, limits).
Tests: tests/vta/passes/storage/test_storage_rewrite.py and the rest of tests/vta/passes/storage.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from isa.config import VTAConfig
from vta.passes.errors import PassError
from vta.passes.host.host_only import is_accelerator_scope
from vta.passes.storage.liveness import is_attach_scope, liveness
from vta.passes.storage.reuse import ROOT, Sharing, constant_bits, is_tagged, plan_places
from vta.passes.storage.tagged_merge import StorageBlock, check_capacity, index_constant, lay_out
from vta.passes.vthread.inject_virtual_thread import VIRTUAL_THREADS
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import BufferLoad, Builtin, Call, Expr, IntImm, Var
from vta.tir.func import PrimFunc
from vta.tir.stmt import Allocate, AttrStmt, BufferStore, For, Stmt
from vta.tir.traverse import map_expr, map_stmt_children, walk

__all__ = ["StorageError", "rewrite_storage", "storage_rewrite"]


class StorageError(PassError):
    """Memory whose place cannot be planned."""


def storage_rewrite(func: PrimFunc, config: VTAConfig) -> PrimFunc:
    """Return ``func`` with at most one allocation a scratchpad.

    Raises ``CapacityError`` naming buffers, need and limit, ``StorageError`` for scratchpad memory of unknown size.
    """
    # In place is safe with virtual threads: operand and result are one statement of one thread.
    of_host = not any(map(is_accelerator_scope, walk(func.body)))
    sharing = Sharing(in_place=True, reuse=not func.attrs.get(VIRTUAL_THREADS, False), of_host=of_host)
    body, blocks = rewrite_storage(func.body, config, sharing)
    check_capacity(blocks, config)
    return replace(func, body=body)


def rewrite_storage(body: Stmt, config: VTAConfig, sharing: Sharing) -> tuple[Stmt, list[StorageBlock]]:
    """Return ``body`` with its memory in the places that ``sharing`` allows, and the blocks; checks no limits."""
    live = liveness(body)
    for stmt in live.allocations.values():
        if is_tagged(stmt.scope):
            _check_tagged(stmt, is_addressed=stmt.buffer_var in live.addressed)
    places = plan_places(live, sharing)
    attached: dict[int, list[StorageBlock]] = {}
    for attach in dict.fromkeys(place.attach for place in places):
        attached[attach] = lay_out([p for p in places if p.attach == attach], config)
    blocks = [block for group in attached.values() for block in group]
    unused = set(live.allocations).difference(*(point.touched for point in live.points))
    rewriter = _Rewriter(_locations(blocks), attached, unused)
    return rewriter.rewrite_scope(body), blocks


def _check_tagged(stmt: Allocate, *, is_addressed: bool) -> None:
    if is_addressed:
        raise StorageError(
            f"buffer {stmt.buffer_var.name!r} in {stmt.scope!r}",
            expected="accesses by element or by access_ptr",
            got="a call that takes its address",
            hint="the host cannot address this memory; pass buffer.access_ptr(..., 'int32')",
            origin=stmt.origin,
        )
    if constant_bits(stmt) is None:
        raise StorageError(
            f"buffer {stmt.buffer_var.name!r} in {stmt.scope!r}",
            expected="a constant size",
            got="one that is computed when the program runs",
            hint="split the loops so that the tile on the accelerator has a fixed shape",
            origin=stmt.origin,
        )


@dataclass(frozen=True, slots=True)
class _Location:
    """Where an allocation went: ``offset_bits`` into ``block``."""

    block: StorageBlock
    offset_bits: int


def _locations(blocks: Sequence[StorageBlock]) -> dict[Var, _Location]:
    return {
        stmt.buffer_var: _Location(block, offset)
        for block in blocks
        for place, offset in zip(block.places, block.offsets, strict=True)
        for stmt in place.allocations
    }


@dataclass(slots=True)
class _Rewriter:
    locations: Mapping[Var, _Location]
    attached: Mapping[int, Sequence[StorageBlock]]
    unused: set[Var]
    scope_count: int = ROOT
    buffers: dict[Buffer, Buffer] = field(default_factory=dict)

    @deep
    def rewrite_scope(self, body: Stmt) -> Stmt:
        """Return the body of an attach scope inside of the allocations that belong there."""
        blocks = self.attached.get(self.scope_count, ())
        body = self._rewrite(body)
        for block in reversed(blocks):
            body = _allocate(block, body)
        return body

    @deep
    def _rewrite(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Allocate() if stmt.buffer_var in self.locations or stmt.buffer_var in self.unused:
                return self._rewrite(stmt.body)
            case AttrStmt() | For() if is_attach_scope(stmt):
                self.scope_count += 1
                body = self.rewrite_scope(stmt.body)
                return stmt if body is stmt.body else replace(stmt, body=body)
            case BufferStore() if stmt.buffer.data in self.locations:
                stored: Stmt = map_stmt_children(stmt, self._rewrite, self._move_all)
                return self._move_store(stored) if isinstance(stored, BufferStore) else stored
            case _:
                return map_stmt_children(stmt, self._rewrite, self._move_all)

    def _move_store(self, stmt: BufferStore) -> BufferStore:
        indices = self._moved_indices(stmt.buffer, stmt.indices)
        return replace(stmt, buffer=self._moved_buffer(stmt.buffer), indices=indices)

    def _move_all(self, expr: Expr) -> Expr:
        return map_expr(self._move, expr)

    def _move(self, node: Expr) -> Expr:
        match node:
            case BufferLoad() if node.buffer.data in self.locations:
                indices = self._moved_indices(node.buffer, node.indices)
                buffer = self._moved_buffer(node.buffer)
                return node if buffer is node.buffer else BufferLoad(buffer, indices)
            case Call(op=Builtin.ACCESS_PTR, args=(annotation, Var() as data, offset, extent, mask)):
                location = self.locations.get(data)
                if location is None or (location.offset_bits == 0 and location.block.var is data):
                    return node
                unit = annotation.dtype.bits * annotation.dtype.lanes
                moved = offset + _elements(location.offset_bits, unit, data)
                return Call(node.dtype, node.op, (annotation, location.block.var, moved, extent, mask))
            case _:
                return node

    def _moved_indices(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        location = self.locations[buffer.data]
        if location.offset_bits == 0:
            return indices
        if len(indices) != 1:
            raise StorageError(
                f"buffer {buffer.name!r} in {buffer.scope!r}",
                expected="one dimension",
                got=f"{len(indices)} dimensions",
                hint="run StorageFlatten first",
            )
        return (indices[0] + _elements(location.offset_bits, buffer.dtype.bits, buffer.data),)

    def _moved_buffer(self, buffer: Buffer) -> Buffer:
        """Return ``buffer`` as a view of its block."""
        location = self.locations[buffer.data]
        block = location.block
        if block.var is buffer.data and location.offset_bits == 0 and len(block.places) == 1:
            return buffer
        # One view for each buffer: types differ between the buffers of a block, and passes compare buffers by identity.
        if buffer not in self.buffers:
            shape = (index_constant(block.bits // buffer.dtype.bits),) if block.bits else buffer.shape
            self.buffers[buffer] = replace(buffer, data=block.var, shape=shape)
        return self.buffers[buffer]


def _elements(bits: int, unit: int, var: Var) -> Expr:
    if bits % unit:
        raise StorageError(
            f"buffer {var.name!r}",
            expected="elements that fit the alignment of its memory",
            got=f"elements of {unit} bits at bit {bits}",
        )
    return index_constant(bits // unit)


def _allocate(block: StorageBlock, body: Stmt) -> Allocate:
    first = block.places[0].allocations[0]
    if not block.bits or (len(block.places) == 1 and block.bits == constant_bits(first)):
        return replace(first, body=body)
    return Allocate(block.var, block.dtype, (_extent(block),), body, IntImm(1, first.condition.dtype), first.origin)


def _extent(block: StorageBlock) -> Expr:
    return index_constant(-(-block.bits // block.dtype.bits))

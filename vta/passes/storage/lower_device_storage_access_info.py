"""Replace access pointers into scratchpads by scratchpad indices; the allocations vanish.

Before::

    allocate(x_buf, int8, [4608]), storage_scope = local.inp_buffer {
      load(..., access_ptr(x_buf, i*256 + 2304, dtype=int32))
    }

After::

load(..., i*16 + 144)

Expects one allocation a scratchpad, which then starts at index 0 (StorageRewrite). An access pointer into other memory
becomes an address.

Tests: tests/vta/passes/storage/test_lower_device_storage_access_info.py and the rest of tests/vta/passes/storage.
"""

from collections.abc import Sequence
from dataclasses import replace

from isa.config import VTAConfig
from isa.origin import Origin
from vta.arith.simplify import Analyzer
from vta.passes.errors import PassError
from vta.passes.generic.remove_no_op import is_index_arithmetic
from vta.passes.memory_info import MemoryInfo, memory_info
from vta.passes.storage.reuse import is_tagged
from vta.tir.buffer import decl_buffer
from vta.tir.deep import deep
from vta.tir.expr import BufferLoad, Builtin, Call, Expr, IntImm, Range, Var
from vta.tir.func import PrimFunc
from vta.tir.scopes import DEPTHWISE_MODE, INP_SCOPE
from vta.tir.stmt import Allocate, BufferStore, For, LetStmt, Stmt
from vta.tir.traverse import map_expr, map_stmt_children, walk

__all__ = ["DeviceStorageError", "lower_device_storage_access_info"]


class DeviceStorageError(PassError):
    """An access to a scratchpad that the host's program cannot express."""


def lower_device_storage_access_info(func: PrimFunc, config: VTAConfig) -> PrimFunc:
    """Return ``func`` with scratchpad indices; raises ``DeviceStorageError`` and ``MemoryScopeError``."""
    return replace(func, body=_AccessLowering(config).lower(func.body))


class _AccessLowering:
    """The walk: the scratchpads that are allocated, and what is known about the loop variables."""

    def __init__(self, config: VTAConfig) -> None:
        self._config = config
        self._memories: dict[Var, MemoryInfo] = {}
        self._owners: dict[str, Var] = {}
        self._analyzer = Analyzer()
        self._origin: Origin | None = None

    @deep
    def lower(self, stmt: Stmt) -> Stmt:
        outer = self._origin
        self._origin = stmt.origin or outer
        lowered = self._lower(stmt)
        self._origin = outer
        return lowered

    def _lower(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Allocate() if is_tagged(stmt.scope):
                self._enter(stmt)
                return self.lower(stmt.body)
            case BufferStore() if stmt.buffer.data in self._memories:
                raise self._host_access(stmt.buffer.data)
            case For():
                self._analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
            case LetStmt() if is_index_arithmetic(stmt.value):
                self._analyzer.bind(stmt.var, stmt.value)
            case _:
                pass
        return map_stmt_children(stmt, self.lower, self._lower_expr)

    def _enter(self, stmt: Allocate) -> None:
        self._memories[stmt.buffer_var] = memory_info(self._config, stmt.scope, stmt.origin or self._origin)
        owner = self._owners.setdefault(stmt.scope, stmt.buffer_var)
        if owner is not stmt.buffer_var:
            raise DeviceStorageError(
                f"memory {stmt.scope!r}",
                expected="one allocation a function",
                got=f"{owner.name!r} and {stmt.buffer_var.name!r}",
                hint="StorageRewrite puts them into one; do not disable it",
                origin=self._origin,
            )

    def _host_access(self, data: Var) -> DeviceStorageError:
        return DeviceStorageError(
            f"buffer {data.name!r} in {self._memories[data].scope!r}",
            expected="a stage that the accelerator computes",
            got="a loop nest that runs on the host, which cannot address this memory",
            hint="give the stage a pragma (env.alu, env.dma_copy) or tensorize it, or leave it in DRAM",
            origin=self._origin,
        )

    def _lower_expr(self, expr: Expr) -> Expr:
        for node in walk(expr):
            match node:
                case Call(op=Builtin.UOP_PUSH, args=args):
                    self._check_operands(args)
                case _:
                    continue
        return map_expr(self._lower_access, expr)

    def _check_operands(self, operands: Sequence[Expr]) -> None:
        """Refuse a micro-op whose operand is no element of this accelerator's memory."""
        mode = operands[0]
        lane_by_lane = isinstance(mode, IntImm) and mode.value == DEPTHWISE_MODE
        for operand in operands:
            match operand:
                case Call(op=Builtin.ACCESS_PTR, args=(_, Var() as data, _, IntImm(value=count), _)):
                    info = self._memories.get(data)
                case _:
                    continue
            elements = self._config.depthwise_taps if lane_by_lane and info and info.scope == INP_SCOPE else 1
            if info is not None and count != elements * info.lanes:
                raise DeviceStorageError(
                    f"an operand of a micro-op in {info.scope!r}",
                    expected=f"{'an element' if elements == 1 else f'{elements} elements'} of "
                    f"{info.rows}x{info.columns} numbers",
                    got=f"{count} numbers",
                    hint="an intrinsic belongs to one environment; tensorize with env.gemm of the current one",
                    origin=self._origin,
                )

    def _lower_access(self, node: Expr) -> Expr:
        match node:
            case BufferLoad() if node.buffer.data in self._memories:
                raise self._host_access(node.buffer.data)
            case Call(op=Builtin.ACCESS_PTR, args=(annotation, Var() as data, offset, extent, _)):
                if data in self._memories:
                    return self._index(node, annotation, data, offset)
                view = decl_buffer((offset + extent,), annotation.dtype.element, data.name, data)
                return Call(node.dtype, Builtin.ADDRESS_OF, (BufferLoad(view, (offset,)),))
            case _:
                return node

    def _index(self, node: Call, annotation: Expr, data: Var, offset: Expr) -> Expr:
        """Return the scratchpad index of an access pointer."""
        info = self._memories[data]
        if not node.dtype.is_int:
            raise DeviceStorageError(
                f"buffer {data.name!r} in {info.scope!r}",
                expected="an access pointer of an integer type, which is an index",
                got=f"one of type {node.dtype}",
                hint="the host cannot address this memory; use access_ptr(..., 'int32')",
                origin=self._origin,
            )
        lanes = info.unit_bits // (annotation.dtype.bits * annotation.dtype.lanes)
        if not self._analyzer.can_prove((offset % lanes == 0).asexpr()):
            raise DeviceStorageError(
                f"buffer {data.name!r} in {info.scope!r}",
                expected=f"an offset that is a multiple of the {info.rows}x{info.columns} numbers of an element",
                got=_described(self._analyzer.simplify(offset % lanes), lanes),
                hint="tile so that every access starts at a whole element",
                origin=self._origin,
            )
        return self._analyzer.simplify((offset // lanes).astype(node.dtype))


def _described(remainder: Expr, lanes: int) -> str:
    names = [node.name for node in walk(remainder) if isinstance(node, Var)]
    if not names:
        return f"one with a constant remainder modulo {lanes}"
    return f"one that depends on {', '.join(dict.fromkeys(names))}"

"""What a program for a GPU takes of it: threads of a block, memory of a block, vectors; and whether a GPU has that.

There is no code for GPUs here; a schedule for one is lowered, and can be looked at and checked.
Tests: tests/vta/passes/optional/test_verify_gpu_code.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from isa.errors import VTAError
from vta.tir.deep import deep
from vta.tir.expr import BufferLoad, Expr, IntImm, IterVar
from vta.tir.func import PrimFunc
from vta.tir.stmt import Allocate, AttrKey, AttrStmt, BufferRealize, BufferStore, Stmt
from vta.tir.traverse import TirNode, children

__all__ = ["GpuLimitsError", "verify_gpu_code"]

_THREADS = {f"threadIdx.{axis}": f"max_thread_{axis}" for axis in "xyz"}
_LIMITS = (
    "max_local_memory_per_block", "max_shared_memory_per_block", "max_threads_per_block", *_THREADS.values(),
    "max_vthread", "max_vector_bytes", "max_kernels",
)  # fmt: skip

Demand: TypeAlias = dict[str, int]


class GpuLimitsError(VTAError, ValueError):
    """A limit that there is not, or a demand that is no number."""


def verify_gpu_code(func: PrimFunc, constraints: Mapping[str, int]) -> bool:
    """Return whether a program keeps to a GPU's limits, by TVM's names of them; bytes for memory and vectors.

    Threads and memory are those of each outermost part with threads: what is launched. Raises ``GpuLimitsError``.
    """
    for name in constraints:
        if name not in _LIMITS:
            raise GpuLimitsError(f"verify_gpu_code: there is no limit {name!r}; there are {', '.join(_LIMITS)}")
    found = _Demands()
    found.visit(func.body)
    most: Demand = {"max_kernels": len(found.kernels), "max_vector_bytes": found.vector_bytes}
    for kernel in found.kernels:
        for name, amount in kernel.items():
            most[name] = max(most.get(name, 0), amount)
    return all(most.get(name, 0) <= int(limit) for name, limit in constraints.items())


@dataclass(slots=True)
class _Demands:
    """What each kernel takes, found on a walk."""

    kernels: list[Demand] = field(default_factory=list)
    vector_bytes: int = 0
    _threads: dict[str, int] | None = None

    @deep
    def visit(self, node: TirNode) -> None:
        """Count what ``node`` and all in it take."""
        match node:
            case AttrStmt(node=IterVar() as axis) if node.key == AttrKey.THREAD_EXTENT and "Idx." in axis.thread_tag:
                self._launch(node, axis.thread_tag)
                return
            case AttrStmt() if node.key == AttrKey.VIRTUAL_THREAD:
                self._take("max_vthread", _number(node.value))
            case Allocate():
                self._allocate(node.scope, _product(node.extents), node.dtype.bits * node.dtype.lanes // 8)
            case BufferRealize():
                size = _product(tuple(bound.extent for bound in node.bounds))
                self._allocate(node.buffer.scope, size, node.buffer.dtype.bits // 8)
            case BufferStore():
                self._vector(node.value)
            case BufferLoad():
                self._vector(node)
            case _:
                pass
        for child in children(node):
            self.visit(child)

    def _launch(self, stmt: AttrStmt, tag: str) -> None:
        outermost = self._threads is None
        if outermost:
            self._threads = {}
            self.kernels.append({})
        assert self._threads is not None
        extent = _number(stmt.value)
        if tag in _THREADS:
            self._threads[tag] = max(self._threads.get(tag, 1), extent)
            self.kernels[-1][_THREADS[tag]] = self._threads[tag]
            self.kernels[-1]["max_threads_per_block"] = math.prod(self._threads.values())
        self.visit(stmt.body)
        if outermost:
            self._threads = None

    def _take(self, name: str, amount: int) -> None:
        if self.kernels:
            self.kernels[-1][name] = max(self.kernels[-1].get(name, 1), amount)

    def _allocate(self, scope: str, elements: int, size: int) -> None:
        kind = scope.partition(".")[0]
        if kind in ("local", "shared") and self._threads is not None:
            name = f"max_{kind}_memory_per_block"
            self.kernels[-1][name] = self.kernels[-1].get(name, 0) + elements * size

    def _vector(self, value: Expr) -> None:
        if value.dtype.lanes > 1:
            self.vector_bytes = max(self.vector_bytes, value.dtype.lanes * value.dtype.bits // 8)


def _number(value: Expr | Stmt) -> int:
    if not isinstance(value, IntImm):
        raise GpuLimitsError(f"verify_gpu_code: expected extents that are numbers, found {value}")
    return value.value


def _product(extents: tuple[Expr, ...]) -> int:
    return math.prod(map(_number, extents))

"""Parts of GEMM and ALU instructions: those of their steps that write a given range of accumulators.

Tests: ``tests/runtime/queue/ends/test_cut_loops.py``.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from isa.instructions import Alu, Gemm, MicroOp
from isa.known_uops import UopRange
from runtime.queue.kernel_lowering import indices_that_matter
from runtime.queue.loop_fitting import Nest, order_cannot_matter
from runtime.queue.uop_kernel import KernelMode, KernelOperation, UopKernel, UopLoop

__all__ = ["cut_kernel", "in_runs", "kernel_of", "span_of"]

_MOST_UOPS = 256
"""Micro-ops of sums in runs; loading takes half a cycle for each."""

_Points = npt.NDArray[np.int64]


def kernel_of(loops: Gemm | Alu, uops: UopRange) -> UopKernel:
    """Return the kernel that an instruction runs, its micro-ops written as loops as far as they are evenly spaced."""
    match loops:
        case Gemm():
            lane_by_lane = loops.depthwise and not loops.reset
            operation = KernelOperation(mode=KernelMode.GEMM, reset=loops.reset, depthwise=lane_by_lane)
            factors = (loops.wgt_factor_out, loops.wgt_factor_in)
            used = (True, not loops.reset, not loops.reset)
        case Alu():
            operation = KernelOperation(
                mode=KernelMode.ALU,
                alu_opcode=loops.alu_opcode,
                fused=loops.fused,
                use_imm=loops.use_imm,
                imm=loops.imm,
            )
            factors = (0, 0)
            used = (True, not loops.use_imm, False)
    outer = UopLoop(loops.iter_out, loops.dst_factor_out, loops.src_factor_out * used[1], factors[0] * used[2])
    inner = UopLoop(loops.iter_in, loops.dst_factor_in, loops.src_factor_in * used[1], factors[1] * used[2])
    points = np.array([uops.dst, uops.src, uops.wgt], np.int64).T * np.array(used, np.int64)
    written, heads = _as_loops(points)
    every = [loop for loop in (outer, inner, *written) if loop.extent != 1]
    return UopKernel(operation, tuple(every), tuple(MicroOp(dst=d, src=s, wgt=w) for d, s, w in heads.tolist()))


def _as_loops(points: _Points) -> tuple[list[UopLoop], _Points]:
    """Return loops, outermost first, around the points that are left."""
    loops: list[UopLoop] = []
    while len(points) > 1:
        step = points[1] - points[0]
        changes = np.flatnonzero((np.diff(points, axis=0) != step).any(axis=1))
        run = int(changes[0]) + 1 if changes.size else len(points)
        if len(points) % run or run == 1 or (step < 0).any():
            break
        groups = points.reshape(-1, run, points.shape[1])
        if (groups != groups[:, :1] + np.arange(run)[:, None] * step).any():
            break
        loops.insert(0, UopLoop(run, *step.tolist()))
        points = groups[:, 0]
    return loops, points


def span_of(kernel: UopKernel) -> tuple[int, int]:
    """Return the first accumulator that a kernel writes, and the one after the last."""
    return _span(kernel.loops, kernel.uops)


def _span(loops: Sequence[UopLoop], uops: Sequence[MicroOp]) -> tuple[int, int]:
    more = sum((loop.extent - 1) * loop.dst for loop in loops)
    return min(uop.dst for uop in uops), max(uop.dst for uop in uops) + more + 1


def cut_kernel(kernel: UopKernel, begin: int, end: int) -> list[UopKernel] | None:
    """Return kernels that together do the steps of ``kernel`` that write accumulators ``begin`` to ``end - 1``.

    None stands for steps whose order matters, which several kernels would change.
    """
    parts = [UopKernel(kernel.operation, loops, uops) for loops, uops in _within(kernel.loops, kernel.uops, begin, end)]
    if len(parts) > 1 and kernel.operation is not None and kernel.operation.mode is KernelMode.ALU:
        nest = Nest(kernel.loops, kernel.uops)
        indices = indices_that_matter(kernel.operation)
        if not order_cannot_matter(nest, indices):
            return None
    return parts


_Part = tuple[tuple[UopLoop, ...], tuple[MicroOp, ...]]


def _within(loops: tuple[UopLoop, ...], uops: tuple[MicroOp, ...], begin: int, end: int) -> Iterator[_Part]:
    low, high = _span(loops, uops)
    if high <= begin or end <= low:
        return
    if begin <= low and high <= end:
        yield loops, uops
        return
    steps = [loop.dst if loop.extent > 1 else 0 for loop in loops]
    if not any(steps):
        left = tuple(uop for uop in uops if begin <= uop.dst < end)
        if left:
            yield loops, left
        return
    place = steps.index(max(steps))
    loop, rest = loops[place], (*loops[:place], *loops[place + 1 :])
    low, high = _span(rest, uops)
    # Trips that lie within the range whole stay a loop; the one before and the one after them are cut further.
    first = max(0, -((low - begin) // loop.dst))
    last = min(loop.extent, (end - high) // loop.dst + 1)
    if first >= last:
        first = last = max(0, min(first, loop.extent))
    reached = max(0, (begin - high) // loop.dst + 1), min(loop.extent, -((low - end) // loop.dst))
    for trip in range(reached[0], min(first, reached[1])):
        yield from _within(rest, _shifted(uops, loop, trip), begin, end)
    if first < last:
        whole = dataclasses.replace(loop, extent=last - first)
        yield (*loops[:place], whole, *loops[place + 1 :]), _shifted(uops, loop, first)
    for trip in range(max(last, reached[0]), reached[1]):
        yield from _within(rest, _shifted(uops, loop, trip), begin, end)


def in_runs(kernel: UopKernel) -> UopKernel:
    """Return the sums of ``kernel`` in an order in which neighbouring accumulators follow each other.

    Two loops stay, those that change no accumulator first; the others become micro-ops, if these are not too many.
    """
    if kernel.operation is None or kernel.operation.mode is KernelMode.ALU or len(kernel.loops) < 2:
        return kernel
    order = sorted(kernel.loops, key=lambda loop: (loop.dst > 0, -loop.dst if loop.dst else -loop.extent))
    kept, written = tuple(order[:2]), order[2:]
    count = len(kernel.uops) * math.prod(loop.extent for loop in written)
    if count > _MOST_UOPS:
        return kernel
    uops = kernel.uops
    for loop in reversed(written):
        uops = tuple(each for trip in range(loop.extent) for each in _shifted(uops, loop, trip))
    return UopKernel(kernel.operation, kept, uops)


def _shifted(uops: tuple[MicroOp, ...], loop: UopLoop, trip: int) -> tuple[MicroOp, ...]:
    if not trip:
        return uops
    return tuple(
        MicroOp(dst=uop.dst + trip * loop.dst, src=uop.src + trip * loop.src, wgt=uop.wgt + trip * loop.wgt)
        for uop in uops
    )

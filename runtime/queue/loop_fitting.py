"""Loop nests of any depth, extent and stride, fitted to instructions that have two loops.

A GEMM or ALU instruction runs its micro-ops inside two loops whose extents and factors are bit fields. ``fit_loops``
turns a nest into nests that fit, keeping the order in which iterations run unless the order cannot matter:

1. loops of one iteration go, and two loops that count through evenly spaced indices become one;
2. a loop longer than its field becomes two, and a rest;
3. two loops stay loops, and the others become micro-ops (inner loops) or separate instructions (outer loops). All
   choices are compared; the one with the fewest instructions wins, then the one with the fewest micro-ops.

Tests: ``tests/runtime/queue/test_kernel_lowering.py``.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.instructions import MicroOp
from isa.layout import instruction_layouts, uop_layout
from runtime.queue.uop_kernel import KernelError, UopLoop

__all__ = [
    "Indices",
    "LoopLimits",
    "Nest",
    "fit_loops",
    "fits_one_instruction",
    "loop_limits",
    "order_cannot_matter",
    "visits_each_once",
]

_MAX_UOPS = 1 << 20
"""Micro-ops that an expanded kernel may have (4 MiB): a guard against tiles that would take minutes to describe."""


@dataclass(frozen=True, slots=True)
class Indices:
    """Which of a micro-op's three indices have a meaning; with ``neighbour``, what follows ``src`` is read as well."""

    dst: bool
    src: bool
    wgt: bool
    neighbour: bool = False


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """The largest values that the fields of an instruction and its micro-ops hold."""

    extent: int
    dst: int
    src: int
    wgt: int
    uop_src: int
    uop_wgt: int
    uop_count: int

    def allow(self, loop: UopLoop) -> bool:
        """Whether ``loop`` can be a loop of an instruction."""
        return (
            1 <= loop.extent <= self.extent
            and 0 <= loop.dst <= self.dst
            and 0 <= loop.src <= self.src
            and 0 <= loop.wgt <= self.wgt
        )


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops, outermost first, around micro-ops."""

    loops: tuple[UopLoop, ...]
    uops: tuple[MicroOp, ...]

    @property
    def trips(self) -> int:
        """Micro-ops that are executed in all."""
        return len(self.uops) * math.prod(loop.extent for loop in self.loops)

    def keep(self, indices: Indices) -> "Nest":
        """Return the nest without the loop factors of indices that have no meaning."""
        loops = (UopLoop(loop.extent, loop.dst, loop.src * indices.src, loop.wgt * indices.wgt) for loop in self.loops)
        return Nest(tuple(loops), self.uops)


def loop_limits(config: VTAConfig, *, alu: bool) -> LoopLimits:
    """Return the limits of the configuration's ALU or GEMM instruction; an ALU instruction ignores ``wgt`` factors."""
    layout = instruction_layouts(config)["ALU" if alu else "GEMM"]
    uop = uop_layout(config)
    return LoopLimits(
        extent=min(layout.field("iter_out").high, layout.field("iter_in").high),
        dst=layout.field("dst_factor_out").high,
        src=layout.field("src_factor_out").high,
        wgt=(1 << 32) if alu else layout.field("wgt_factor_out").high,
        uop_src=uop.field("src").high,
        uop_wgt=uop.field("wgt").high,
        uop_count=config.uop_depth,
    )


def fits_one_instruction(nest: Nest, limits: LoopLimits) -> bool:
    """Whether the nest, as it is, is one instruction."""
    return (
        len(nest.loops) <= 2 and len(nest.uops) <= limits.uop_count and all(limits.allow(loop) for loop in nest.loops)
    )


def visits_each_once(nest: Nest) -> bool:
    """Whether no two iterations and micro-ops name the same ``dst``."""
    if nest.trips > 1 << 16:  # more than any accumulator buffer has elements
        return False
    return len(np.unique(_all_indices(nest, "dst"))) == nest.trips


def fit_loops(nest: Nest, limits: LoopLimits, indices: Indices, *, is_sum: bool) -> tuple[Nest, ...]:
    """Return nests that each fit one instruction and that, run in turn, do what ``nest`` does.

    ``is_sum`` says that the operation only adds to (or only zeroes) ``dst`` and reads nothing that it writes, so that
    any order gives the same result. Raises ``KernelError`` where the expansion has more than 2^20 micro-ops.
    """
    if fits_one_instruction(nest, limits):
        return (nest,)
    free = is_sum or order_cannot_matter(nest, indices)
    parts: list[Nest] = []
    for part in _split_long_loops(nest, limits.extent, free=free):
        merged = Nest(_merge_loops(part.loops, limits.extent, free=free), part.uops)
        parts.extend(_best_expansion(merged, limits, free=free))
    return tuple(parts)


def _all_indices(nest: Nest, name: str) -> npt.NDArray[np.int64]:
    values = np.array([getattr(uop, name) for uop in nest.uops], np.int64)
    for loop in reversed(nest.loops):
        offsets = np.arange(loop.extent, dtype=np.int64) * getattr(loop, name)
        values = (offsets[:, None] + values[None, :]).ravel()
    return values


def order_cannot_matter(nest: Nest, indices: Indices) -> bool:
    """Whether every iteration writes an accumulator of its own, and reads no other one that is written."""
    if not visits_each_once(nest):
        return False
    if not indices.src:
        return True
    dst, src = _all_indices(nest, "dst"), _all_indices(nest, "src")
    if indices.neighbour and np.any(np.isin(src + 1, dst) & (src + 1 != dst)):
        return False
    return not np.any(np.isin(src, dst) & (src != dst))


def _split_long_loops(nest: Nest, limit: int, *, free: bool) -> Iterator[Nest]:
    """Yield nests whose loops have at most ``limit`` iterations."""
    place = next((i for i, loop in enumerate(nest.loops) if loop.extent > limit), None)
    if place is None:
        yield nest
        return
    before, loop, after = nest.loops[:place], nest.loops[place], nest.loops[place + 1 :]
    inner = next((d for d in range(limit, 1, -1) if loop.extent % d == 0), None)
    if inner is not None:
        outer = UopLoop(loop.extent // inner, loop.dst * inner, loop.src * inner, loop.wgt * inner)
        yield from _split_long_loops(
            Nest((*before, outer, dataclasses.replace(loop, extent=inner), *after), nest.uops), limit, free=free
        )
    elif place == 0 or free:
        full = loop.extent // limit * limit
        for extent, start in ((full, 0), (loop.extent - full, full)):
            uops = tuple(_shifted(uop, loop, start) for uop in nest.uops)
            part = Nest((*before, dataclasses.replace(loop, extent=extent), *after), uops)
            yield from _split_long_loops(part, limit, free=free)
    else:
        for trip in range(nest.loops[0].extent):
            uops = tuple(_shifted(uop, nest.loops[0], trip) for uop in nest.uops)
            yield from _split_long_loops(Nest(nest.loops[1:], uops), limit, free=free)


def _shifted(uop: MicroOp, loop: UopLoop, trip: int) -> MicroOp:
    return MicroOp(dst=uop.dst + trip * loop.dst, src=uop.src + trip * loop.src, wgt=uop.wgt + trip * loop.wgt)


def _merge_loops(loops: tuple[UopLoop, ...], limit: int, *, free: bool) -> tuple[UopLoop, ...]:
    """Return the loops without those of one iteration, and with those joined that count on where another ends."""
    left = [loop for loop in loops if loop.extent != 1]
    while True:
        pairs = itertools.permutations(range(len(left)), 2) if free else itertools.pairwise(range(len(left)))
        for outer, inner in pairs:
            a, b = left[outer], left[inner]
            continues = (a.dst, a.src, a.wgt) == (b.dst * b.extent, b.src * b.extent, b.wgt * b.extent)
            if continues and a.extent * b.extent <= limit:
                left[inner] = dataclasses.replace(b, extent=a.extent * b.extent)
                del left[outer]
                break
        else:
            return tuple(left)


def _best_expansion(nest: Nest, limits: LoopLimits, *, free: bool) -> tuple[Nest, ...]:
    plans = [plan for plan in _plans(nest, limits, free=free) if plan.uops <= _MAX_UOPS]
    if not plans:
        raise KernelError(
            f"micro-op kernel: its {len(nest.loops)} loops do not fit the two of an instruction, and written out it "
            f"has more than {_MAX_UOPS} micro-ops; make the tile smaller"
        )
    return min(plans, key=lambda plan: (plan.instructions, plan.uops)).expand(nest, limits)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Loops that become separate instructions, loops that stay, loops that become micro-ops; and what that costs."""

    apart: tuple[UopLoop, ...]
    kept: tuple[UopLoop, ...]
    unrolled: tuple[UopLoop, ...]
    instructions: int
    uops: int

    def expand(self, nest: Nest, limits: LoopLimits) -> tuple[Nest, ...]:
        """Return the nests of this plan."""
        inner = _unroll(self.unrolled, nest.uops)
        parts: list[Nest] = []
        for start in _unroll(self.apart, (MicroOp(),)):
            uops = [MicroOp(dst=uop.dst + start.dst, src=uop.src + start.src, wgt=uop.wgt + start.wgt) for uop in inner]
            for first in range(0, len(uops), limits.uop_count):
                parts.append(Nest(self.kept, tuple(uops[first : first + limits.uop_count])))
        return tuple(parts)


def _plans(nest: Nest, limits: LoopLimits, *, free: bool) -> Iterator[_Plan]:
    loops = nest.loops
    for apart, kept, unrolled in _partitions(loops, free=free):
        if not all(limits.allow(loop) for loop in kept):
            continue
        count = math.prod(loop.extent for loop in apart)
        block = len(nest.uops) * math.prod(loop.extent for loop in unrolled)
        if block > limits.uop_count and kept and not free:
            continue  # cutting the micro-ops inside of loops would change the order
        yield _Plan(apart, kept, unrolled, count * -(-block // limits.uop_count), count * block)


_Partition = tuple[tuple[UopLoop, ...], tuple[UopLoop, ...], tuple[UopLoop, ...]]


def _partitions(loops: tuple[UopLoop, ...], *, free: bool) -> Iterator[_Partition]:
    """Yield the ways to cut ``loops`` into those that become instructions, those that stay and those that unroll."""
    count = len(loops)
    if free:  # micro-ops may then be cut into blocks anywhere, so no loop needs instructions of its own
        for size in range(3):
            for kept in itertools.combinations(range(count), size):
                yield (), tuple(loops[i] for i in kept), tuple(loops[i] for i in range(count) if i not in kept)
        return
    for first in range(count + 1):
        for end in range(first, min(first + 2, count) + 1):
            yield loops[:first], loops[first:end], loops[end:]


def _unroll(loops: tuple[UopLoop, ...], uops: tuple[MicroOp, ...]) -> tuple[MicroOp, ...]:
    for loop in reversed(loops):
        uops = tuple(_shifted(uop, loop, trip) for trip in range(loop.extent) for uop in uops)
    return uops

"""A matrix multiply on the CPU, made fast step by step: the sequence of TVM's tutorial, with times beside numpy's.

    python examples/optimize_gemm.py [SIZE]

Every step is a schedule of the same product of float32 matrices, which the last but one brings to the speed of a BLAS
on one core: blocks that fit the cache, vectors, a better order of loops, weights packed as they are read, a block of
sums in registers, and threads. ``python -m bench.cpu_speed gemm`` measures it at 1024.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vta import te
from vta.build_module import build_generic
from vta.processor import Processor, processor_of

Scheduled = tuple[te.Schedule, list[te.Tensor]]

BLOCK = 32  # rows and columns of a block that fits the cache
DEPTH = 4  # steps of the reduction that are taken together


@dataclass(frozen=True, slots=True)
class Step:
    """One schedule: what it adds to the one before, and what is needed to build it."""

    name: str
    schedule: te.Schedule
    args: list[te.Tensor]


def register_block(processor: Processor) -> tuple[int, int]:
    """Return the rows and columns of a block whose sums fit into the registers."""
    return (8, 2 * processor.lanes) if processor.registers >= 32 else (4, 2 * processor.lanes)


def product(size: int, packed: int = 0) -> Scheduled:
    """Describe the product; with ``packed``, so many columns of B lie side by side for each k."""
    k = te.reduce_axis((0, size), "k")
    a, b = (te.placeholder((size, size), "float32", name) for name in "AB")
    if packed:
        source = te.compute(
            (size // packed, size, packed), lambda big, depth, small: b[depth, big * packed + small], name="packedB"
        )
        c = te.compute(
            (size, size), lambda m, n: te.sum(a[m, k] * source[n // packed, k, n % packed], axis=k), name="C"
        )
    else:
        c = te.compute((size, size), lambda m, n: te.sum(a[m, k] * b[k, n], axis=k), name="C")
    return te.create_schedule(c.op), [a, b, c]


def blocked(size: int, *, vectors: bool = False, permuted: bool = False, packed: int = 0) -> Scheduled:
    """Return schedule and arguments with loops over blocks outside."""
    s, args = product(size, packed)
    c = args[-1]
    mo, no, mi, ni = s[c].tile(c.op.axis[0], c.op.axis[1], BLOCK, BLOCK)
    ko, ki = s[c].split(c.op.reduce_axis[0], factor=DEPTH)
    s[c].reorder(mo, no, ko, *((mi, ki) if permuted else (ki, mi)), ni)
    if vectors:
        s[c].vectorize(ni)
    if packed:
        schedule_packing(s)
    return s, args


def schedule_packing(s: te.Schedule, *, parallel: bool = False) -> None:
    """Let B be packed in vectors."""
    [stage] = [stage for stage in s.stages if stage.op.name == "packedB"]
    stage.vectorize(stage.op.axis[2])
    if parallel:
        stage.parallel(stage.op.axis[0])


def cached(size: int, processor: Processor, *, parallel: bool = False) -> Scheduled:
    """Return schedule and arguments with the sums of a block in registers while k runs."""
    rows, columns = register_block(processor)
    s, args = product(size, columns)
    c = args[-1]
    sums = s.cache_write(c, "global")
    assert isinstance(sums, te.Tensor)
    mo, no, mi, ni = s[c].tile(c.op.axis[0], c.op.axis[1], rows, columns)
    s[c].reorder(no, mo, mi, ni)
    s[sums].compute_at(s[c], mo)
    (m, n), [k] = s[sums].op.axis, s[sums].op.reduce_axis
    ko, ki = s[sums].split(k, factor=DEPTH)
    s[sums].reorder(ko, ki, m, n)
    s[sums].unroll(ki)
    s[sums].unroll(m)
    s[sums].vectorize(n)
    s[c].vectorize(ni)
    if parallel:
        s[c].parallel(no)
    schedule_packing(s, parallel=parallel)
    return s, args


def steps(size: int, processor: Processor) -> Iterator[Step]:
    """Yield the steps; ``size`` is a multiple of 64."""
    yield Step("as it is written", *product(size))
    yield Step("blocking", *blocked(size))
    yield Step("vectorization", *blocked(size, vectors=True))
    yield Step("loop permutation", *blocked(size, vectors=True, permuted=True))
    yield Step("array packing", *blocked(size, vectors=True, permuted=True, packed=BLOCK))
    yield Step("write cache in registers", *cached(size, processor))
    yield Step("parallel", *cached(size, processor, parallel=True))


def main(size: int) -> None:
    """Build and run every step, check it against numpy, and print its time."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size)).astype(np.float32) for _ in range(2))
    expected, result = a @ b, np.zeros((size, size), np.float32)
    begin = time.perf_counter()
    a @ b
    print(f"numpy: {(time.perf_counter() - begin) * 1e3:.1f} ms")
    for step in steps(size, processor_of()):
        module = build_generic(step.schedule, step.args, "llvm -mcpu=native -fast-math-contract")
        module(a, b, result)
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3)
        seconds = module.time_evaluator(module.entry_name, number=1, repeat=3)(a, b, result).min
        print(f"{step.name}: {seconds * 1e3:.1f} ms")
    print("Successful CPU matrix multiply!")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 256)

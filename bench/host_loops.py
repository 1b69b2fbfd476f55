"""Speed of compiled host loops beside numpy's on the same arrays, in one run.

    python -m bench.host_loops

Each row is one computation of a program's host part: as te schedules it without a word, with ``vectorize`` where that
says something, and in numpy. Medians of some runs, in microseconds; results are compared before anything is timed.
"""

import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vta import te
from vta.build_module import build_generic
from vta.codegen import Module
from vta.tir.expr import Expr

REPEATS = 31
LANES = 32
SIZE = 1 << 20

Array = NDArray[np.int8] | NDArray[np.int32] | NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Case:
    """A computation: its arguments (the result last), the stage, the same in numpy, the arrays that go in."""

    name: str
    args: list[te.Tensor]
    reference: Callable[..., Array]
    inputs: list[Array]

    def compiled(self, *, vectors: bool) -> Module:
        """Return the module; ``vectors`` marks the innermost axis of the result, split into parts of ``LANES``."""
        result = self.args[-1]
        schedule = te.create_schedule(result.op)
        if vectors:
            stage = schedule[result]
            _, inner = stage.split(stage.compute_op("vectorize").axis[-1], factor=LANES)
            stage.vectorize(inner)
        return build_generic(schedule, self.args, "llvm")


def cases() -> list[Case]:
    """Return the computations."""
    rng = np.random.default_rng(1)

    def numbers(shape: tuple[int, ...], dtype: str) -> Array:
        values: Array = rng.integers(-100, 100, shape).astype(dtype)
        return values

    a8, b8 = (te.placeholder((SIZE,), "int8", name) for name in ("a", "b"))
    f, g = (te.placeholder((SIZE,), "float32", name) for name in ("f", "g"))
    acc = te.placeholder((SIZE,), "int32", "acc")
    image = te.placeholder((64, 224, 224), "int8", "image")
    flat = te.placeholder((64, 12544), "int8", "flat")
    odd, wide = te.placeholder((1000, 1003), "int32", "odd"), te.placeholder((999, 1024), "int32", "wide")
    bias = te.placeholder((16,), "int32", "bias")

    left, right = (te.placeholder((256, 256), "int8", name) for name in ("left", "right"))
    k = te.reduce_axis((0, 256), "k")

    def dense(i: Expr, j: Expr) -> Expr:
        return te.sum(left[i, k].astype("int32") * right[j, k].astype("int32"), axis=k)

    def requantised(i: Expr) -> Expr:
        return te.max(te.min(acc[i] >> 8, 127), -127).astype("int8")

    def padded(c: Expr, y: Expr, x: Expr) -> Expr:
        inside = te.all(y >= 1, y < 225, x >= 1, x < 225)
        return te.if_then_else(inside, image[c, y - 1, x - 1], te.const(0, "int8"))

    return [
        Case("add int8", [a8, b8, te.compute((SIZE,), lambda i: a8[i] + b8[i], "sum")],
             lambda x, y: x + y, [numbers((SIZE,), "int8") for _ in range(2)]),
        Case("add float32", [f, g, te.compute((SIZE,), lambda i: f[i] + g[i], "sum")],
             lambda x, y: x + y, [numbers((SIZE,), "float32") for _ in range(2)]),
        Case("requantise int32 to int8", [acc, te.compute((SIZE,), requantised, "narrow")],
             lambda x: np.clip(x >> 8, -127, 127).astype(np.int8), [numbers((SIZE,), "int32") * 999]),
        Case("pad int8 (64, 224, 224)", [image, te.compute((64, 226, 226), padded, "padded")],
             lambda x: np.pad(x, ((0, 0), (1, 1), (1, 1))), [numbers((64, 224, 224), "int8")]),
        Case("bias of 16 channels, int32", [acc, bias, te.compute((SIZE,), lambda i: acc[i] + bias[i % 16], "biased")],
             lambda x, y: (x.reshape(-1, 16) + y).ravel(), [numbers((SIZE,), "int32"), numbers((16,), "int32")]),
        Case("rotate int32 (999, 1024)", [wide, te.compute((999, 1024), lambda i, j: wide[i, (j + 512) % 1024], "at")],
             lambda x: np.roll(x, 512, axis=1), [numbers((999, 1024), "int32")]),
        Case("pack channels by 16", [flat, te.compute((4, 12544, 16), lambda o, p, i: flat[o * 16 + i, p], "packed")],
             lambda x: np.ascontiguousarray(x.reshape(4, 16, 12544).transpose(0, 2, 1)),
             [numbers((64, 12544), "int8")]),
        Case("scale int32 (1000, 1003)", [odd, te.compute((1000, 1003), lambda i, j: odd[i, j] * 3 + 1, "scaled")],
             lambda x: x * 3 + 1, [numbers((1000, 1003), "int32")]),
        Case("product int8 (256, 256, 256)", [left, right, te.compute((256, 256), dense, "product")],
             lambda x, y: x.astype(np.int32) @ y.astype(np.int32).T, [numbers((256, 256), "int8") for _ in range(2)]),
    ]  # fmt: skip


def median_us(call: Callable[[], object]) -> float:
    """Return the median time of one call."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def row(case: Case) -> str:
    """Check and measure one computation."""
    expected = case.reference(*case.inputs)
    theirs = median_us(partial(case.reference, *case.inputs))
    ours = []
    for vectors in (False, True):
        module, result = case.compiled(vectors=vectors), np.zeros_like(expected)
        module(*case.inputs, result)
        if not np.array_equal(result, expected):
            raise SystemExit(f"{case.name}: the compiled loop gives other numbers than numpy")
        ours.append(median_us(partial(module, *case.inputs, result)))
    plain, marked = ours
    return f"| {case.name} | {theirs:.0f} | {plain:.0f} | {marked:.0f} | {theirs / min(ours):.2f} |"


def main() -> None:
    """Print the table."""
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}\n")
    print("| computation | numpy us | te us | te vectorize us | numpy / te |")
    print("|---|---:|---:|---:|---:|")
    for case in cases():
        print(row(case))


if __name__ == "__main__":
    main()

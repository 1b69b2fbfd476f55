"""Speed of compiled code of the CPU on one core, beside numpy (OpenBLAS) and onnxruntime on the same arrays.

    python -m bench.cpu_speed [gemm] [int8] [conv] [rows] [--rounds 15]

``gemm``: the steps of ``examples/optimize_gemm.py``, 1024 cubed in float32, beside numpy's product. ``int8``: unsigned
times signed bytes, 1024 cubed, beside onnxruntime's MatMulInteger, weights packed in advance by both. ``conv``: the
layers of ResNet-18 in float32, beside onnxruntime, from plain images to plain images, filters packed in advance.
``rows``: softmax, layer norm and functions of elements beside numpy. (onnxruntime is in the extra ``bench``.)

Each round calls one after the other; times are medians, in milliseconds of processor time of the calling thread (of the
wall for more than one thread), so what else the machine does counts little. The last column is their time over ours.
Results are compared before anything is timed.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from examples.optimize_gemm import steps
from runtime.native.thread_pool import num_threads, set_threads
from vta import te
from vta.build_module import build_generic
from vta.codegen import Module
from vta.processor import processor_of
from vta.tir import ops
from vta.tir.expr import const
from vta.topi.cpu import elementwise, nn
from vta.topi.cpu.blocked_convolution import BlockedConv2d
from vta.topi.cpu.byte_products import ByteMatmul
from vta.topi.cpu.row_schedules import schedule_rows
from vta.topi.cpu.schedules import schedule_injective

TARGET = "llvm -mcpu=native -fast-math-contract"
SIZE = 1024

Array = npt.NDArray[Any]
Call = Callable[[], object]

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "VTA_NUM_THREADS"), "1")

RESNET_18 = (
    (3, 224, 64, 7, 2), (64, 56, 64, 3, 1), (64, 56, 128, 3, 2), (64, 56, 128, 1, 2), (128, 28, 128, 3, 1),
    (128, 28, 256, 3, 2), (128, 28, 256, 1, 2), (256, 14, 256, 3, 1), (256, 14, 512, 3, 2), (256, 14, 512, 1, 2),
    (512, 7, 512, 3, 1),
)  # fmt: skip
"""Each different convolution: channels, rows and columns, outputs, filters' size, stride."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What is measured: calls of ours and of theirs."""

    name: str
    ours: Call
    theirs: Call

    def row(self, rounds: int, clock: Callable[[], float] = time.thread_time) -> str:
        """Return a line of the table."""
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(rounds):
            for call, taken in zip((self.ours, self.theirs), times, strict=True):
                begin = clock()
                call()
                taken.append((clock() - begin) * 1e3)
        ours, theirs = map(statistics.median, times)
        return f"| {self.name} | {ours:.3f} | {theirs:.3f} | {theirs / ours:.2f} |"


def checked(name: str, found: Array, expected: Array, *, close: float) -> None:
    """End the bench if two results are not close to each other."""
    if not np.allclose(found, expected, rtol=close, atol=close * float(np.abs(expected).max())):
        raise SystemExit(f"{name}: ours gives other numbers")


def gemm(rounds: int) -> Iterator[str]:
    """Yield the steps' rows: the slow ones are called three times."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((SIZE, SIZE)).astype(np.float32) for _ in range(2))
    expected, result = a @ b, np.zeros((SIZE, SIZE), np.float32)
    for step in steps(SIZE, processor_of()):
        module = build_generic(step.schedule, step.args, TARGET)
        module(a, b, result)
        checked(step.name, result, expected, close=1e-5)
        fast = step.name in ("write cache in registers", "parallel")
        yield Pair(step.name, partial(module, a, b, result), lambda: a @ b).row(rounds if fast else 3)
    set_threads(os.cpu_count() or 1)
    yield Pair(
        f"parallel, {num_threads()} threads, wall time (numpy: one)", partial(module, a, b, result), lambda: a @ b
    ).row(rounds, time.perf_counter)
    set_threads(1)


def session(node: Any, inputs: Mapping[str, tuple[Any, list[int]]], output: int, constants: Mapping[str, Array]) -> Any:
    """Return onnxruntime's session of one node, on one thread."""
    import onnxruntime
    from onnx import helper, numpy_helper

    values = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    result = [helper.make_tensor_value_info(node.output[0], output, None)]
    kept = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph([node], "one", values, result, kept)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def int8(rounds: int) -> Iterator[str]:
    """Yield the row of bytes."""
    from onnx import TensorProto, helper

    rng = np.random.default_rng(0)
    a = rng.integers(0, 256, (SIZE, SIZE)).astype(np.uint8)
    b = rng.integers(-128, 128, (SIZE, SIZE)).astype(np.int8)
    node = helper.make_node("MatMulInteger", ["a", "b"], ["c"])
    theirs = session(node, {"a": (TensorProto.UINT8, [SIZE, SIZE])}, TensorProto.INT32, {"b": b})
    expected = theirs.run(None, {"a": a})[0]
    product = ByteMatmul(SIZE, SIZE, SIZE, processor_of())
    args = product.placeholders()
    out = product.compute(*args)
    module, packed, result = build_generic(product.schedule(out), [*args, out], TARGET), product.pack(b), expected * 0
    module(a, packed, result)
    if not np.array_equal(result, expected):
        raise SystemExit("int8: ours gives other numbers")
    how = "VNNI" if processor_of().has_vnni else "no VNNI"
    yield Pair(f"u8s8 {SIZE} cubed, {how}", partial(module, a, packed, result), lambda: theirs.run(None, {"a": a})).row(
        rounds
    )


def conv(rounds: int) -> Iterator[str]:
    """Yield the layers' rows."""
    from onnx import TensorProto, helper

    rng = np.random.default_rng(0)
    for channels, size, outputs, kernel, stride in RESNET_18:
        shape, pads = (outputs, channels, kernel, kernel), (kernel // 2,) * 4
        data = rng.standard_normal((1, channels, size, size)).astype(np.float32)
        filters = (rng.standard_normal(shape) / np.sqrt(channels * kernel**2)).astype(np.float32)
        node = helper.make_node("Conv", ["d", "w"], ["o"], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads)
        inputs = {"d": (TensorProto.FLOAT, list(data.shape))}
        theirs = session(node, inputs, TensorProto.FLOAT, {"w": filters})
        expected = theirs.run(None, {"d": data})[0]
        layer = BlockedConv2d(data.shape, shape, (stride, stride), pads, (1, 1), 1, processor_of())
        args = layer.placeholders()
        out = layer.compute(*args)
        module, packed = build_generic(layer.schedule(out), [*args, out], TARGET), layer.pack(filters)
        result = np.zeros_like(expected)
        module(data, packed, result)
        name = f"{channels} x {size} x {size}, {outputs} of {kernel} x {kernel}, stride {stride}"
        checked(name, result, expected, close=1e-5)
        yield Pair(name, partial(module, data, packed, result), partial(theirs.run, None, {"d": data})).row(rounds)


def rows(rounds: int) -> Iterator[str]:
    """Yield the rows of softmax, layer norm and functions of elements."""
    rng = np.random.default_rng(0)
    images: list[tuple[tuple[int, ...], int]] = [((64, 1000), 1), ((16, 12, 128, 128), 3), ((2, 21, 64, 64), 1)]
    for shape, axis in images:
        x, data = te.placeholder(shape, "float32", "x"), rng.standard_normal(shape).astype(np.float32)
        out = nn.softmax(x, axis)
        module = build_generic(schedule_rows(out), [x, out], TARGET)
        yield compared(f"softmax {shape}, axis {axis}", module, [data], partial(numpy_softmax, data, axis), rounds)
    texts: list[tuple[int, ...]] = [(64, 1000), (128, 768), (16, 128, 768)]
    for shape in texts:
        given = [rng.standard_normal(extents).astype(np.float32) for extents in (shape, shape[-1:], shape[-1:])]
        x, gamma, beta = (te.placeholder(a.shape, "float32", f"x{number}") for number, a in enumerate(given))
        out = nn.layer_norm(x, gamma, beta, [len(shape) - 1])
        module = build_generic(schedule_rows(out), [x, gamma, beta, out], TARGET)
        yield compared(f"layer norm {shape}", module, given, partial(numpy_layer_norm, *given), rounds)
    for name, out, args, given, theirs in elements((1000, 1003), rng):
        module = build_generic(schedule_injective(out), [*args, out], TARGET)
        yield compared(f"{name} (1000, 1003)", module, given, theirs, rounds)


Element = tuple[str, te.Tensor, list[te.Tensor], list[Array], Callable[[], Any]]


def elements(shape: tuple[int, int], rng: np.random.Generator) -> Iterator[Element]:
    """Yield functions of elements: name, result, tensors, arrays, the same in numpy."""
    x, y = (te.placeholder(shape, "float32", name) for name in "xy")
    a, b = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    room = np.empty_like(a)
    two: list[tuple[str, Callable[[Any, Any], Any], Any]] = [
        ("add", lambda p, q: p + q, np.add), ("multiply", lambda p, q: p * q, np.multiply),
    ]  # fmt: skip
    for name, function, ufunc in two:
        out = te.compute(shape, lambda i, j, f=function: f(x[i, j], y[i, j]), name)
        yield name, out, [x, y], [a, b], partial(ufunc, a, b, out=room)
    relu = te.compute(shape, lambda i, j: ops.max(x[i, j], const(0.0)), "relu")
    yield "relu", relu, [x], [a], partial(np.maximum, a, np.float32(0), out=room)
    sigmoid = elementwise.sigmoid(x)
    yield "sigmoid", sigmoid, [x], [a], lambda: 1 / (1 + np.exp(-a))
    positive = np.abs(a)
    for name in ("sqrt", "exp", "tanh", "log"):
        given = positive if name in ("sqrt", "log") else a
        yield name, getattr(elementwise, name)(x), [x], [given], partial(getattr(np, name), given, out=room)


def compared(name: str, module: Module, given: Sequence[Array], theirs: Callable[[], Any], rounds: int) -> str:
    """Check a module against numpy, and return its row."""
    expected = theirs().copy()
    result = np.zeros_like(expected)
    module(*given, result)
    checked(name, result, expected, close=1e-5)
    return Pair(name, partial(module, *given, result), theirs).row(rounds)


def numpy_softmax(x: Array, axis: int) -> Array:
    """Return what numpy computes."""
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def numpy_layer_norm(x: Array, gamma: Array, beta: Array) -> Array:
    """Return what numpy computes."""
    away = x - x.mean(-1, keepdims=True)
    return away / np.sqrt((away * away).mean(-1, keepdims=True) + np.float32(1e-5)) * gamma + beta


PARTS: dict[str, tuple[str, Callable[[int], Iterator[str]]]] = {
    "gemm": ("numpy", gemm), "int8": ("onnxruntime", int8), "conv": ("onnxruntime", conv), "rows": ("numpy", rows),
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], help="which tables; all if left out")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args(arguments)
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):  # numpy has asked for it by now
        command = [sys.executable, "-m", "bench.cpu_speed", *(sys.argv[1:] if arguments is None else arguments)]
        return subprocess.run(command, env={**os.environ, **ONE_THREAD}, check=False).returncode
    print(f"{platform.processor() or platform.machine()}, numpy {np.__version__}, {processor_of()}")
    for part in given.parts or PARTS:
        name, table = PARTS[part]
        print(f"\n| {part} | ours, ms | {name}, ms | {name} / ours |\n|---|---:|---:|---:|")
        for row in table(given.rounds):
            print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

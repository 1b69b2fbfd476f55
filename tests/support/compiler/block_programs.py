"""Functions of blocks, and running them: on the interpreter as they are, and compiled."""

import numpy as np

import vta
from vta import te
from vta.build_module import build_generic
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.verify import verify

__all__ = ["check", "gemm_relu", "pipeline"]

N, M, K = 12, 10, 8


def gemm_relu() -> tuple[PrimFunc, list[np.ndarray], np.ndarray]:
    """Return max(A @ B, 0.5) * 2 in blocks C and D, inputs, and what must come out: whole numbers, in any order."""
    a, b = te.placeholder((N, K), name="A"), te.placeholder((K, M), name="B")
    k = te.reduce_axis((0, K), name="k")
    c = te.compute((N, M), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((N, M), lambda i, j: te.max(c[i, j], 0.5) * 2, name="D")
    rng = np.random.default_rng(1)
    inputs = [rng.integers(-3, 4, shape).astype(np.float32) for shape in ((N, K), (K, M))]
    return te.create_prim_func([a, b, d]), inputs, np.maximum(inputs[0] @ inputs[1], 0.5) * 2


def pipeline() -> tuple[PrimFunc, list[np.ndarray], np.ndarray]:
    """Return element-wise blocks P, Q and a blur R over Q's neighbours, inputs, and what must come out."""
    a = te.placeholder((9, 14), name="A", dtype="int32")
    p = te.compute((9, 14), lambda i, j: a[i, j] * 3, name="P")
    q = te.compute((9, 14), lambda i, j: p[i, j] + i, name="Q")
    r = te.compute((9, 12), lambda i, j: q[i, j] + q[i, j + 1] + q[i, j + 2], name="R")
    values = np.random.default_rng(2).integers(-9, 9, (9, 14)).astype(np.int32)
    made = values * 3 + np.arange(9, dtype=np.int32)[:, None]
    return te.create_prim_func([a, r]), [values], made[:, :-2] + made[:, 1:-1] + made[:, 2:]


def check(func: PrimFunc, inputs: list[np.ndarray], expected: np.ndarray, *, compiled: bool = True) -> None:
    """Require that the function is well formed and computes ``expected``, interpreted and compiled."""
    verify(func)
    out = np.zeros_like(expected)
    run_func(func, [*inputs, out])
    np.testing.assert_array_equal(out, expected)
    if compiled:
        device = vta.nd.array(np.zeros_like(expected))
        build_generic(func)(*map(vta.nd.array, inputs), device)
        np.testing.assert_array_equal(device.numpy(), expected)

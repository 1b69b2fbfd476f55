"""Matrix multiply: C = A . W^T on the GEMM core, everything on the chip at once.

    vta run examples/matrix_multiply.py --stats

A is one row of 256 int8 numbers, W a 256 x 256 int8 weight matrix; products are summed in int32 and stored as int8. The
tensors are tiled so that one tile is one operand of the GEMM core: (BATCH, BLOCK_IN) inputs, (BLOCK_OUT, BLOCK_IN)
weights and (BATCH, BLOCK_OUT) accumulators.
"""

import numpy as np

import vta
from vta import te

M = 16  # tiles of output channels
N = 16  # tiles of input channels
O = 1  # noqa: E741  # tiles of the batch, as the tutorials call it


def schedule(env: vta.Environment) -> tuple[te.Schedule, list[te.Tensor]]:
    """Describe the product, then map it onto load, GEMM and store."""
    a = te.placeholder((O, N, env.BATCH, env.BLOCK_IN), name="A", dtype=env.inp_dtype)
    w = te.placeholder((M, N, env.BLOCK_OUT, env.BLOCK_IN), name="W", dtype=env.wgt_dtype)
    # On-chip copies of the operands.
    a_buf = te.compute(a.shape, lambda *i: a(*i), "A_buf")
    w_buf = te.compute(w.shape, lambda *i: w(*i), "W_buf")
    # ko walks over tiles of input channels, ki over the channels inside a tile: the GEMM core does ki by itself.
    ko = te.reduce_axis((0, N), name="ko")
    ki = te.reduce_axis((0, env.BLOCK_IN), name="ki")
    shape = (O, M, env.BATCH, env.BLOCK_OUT)
    c_buf = te.compute(
        shape,
        lambda bo, co, bi, ci: te.sum(
            a_buf[bo, ko, bi, ki].astype(env.acc_dtype) * w_buf[co, ko, ci, ki].astype(env.acc_dtype),
            axis=[ko, ki],
        ),
        name="C_buf",
    )
    c = te.compute(shape, lambda *i: c_buf(*i).astype(env.inp_dtype), name="C")

    s = te.create_schedule(c.op)
    # 1. Each tensor has its memory: inputs, weights, accumulators.
    s[a_buf].set_scope(env.inp_scope)
    s[w_buf].set_scope(env.wgt_scope)
    s[c_buf].set_scope(env.acc_scope)
    # 2. Load the operands of one ko at a time, inside the product's ko loop, so that little has to fit.
    s[a_buf].compute_at(s[c_buf], ko)
    s[w_buf].compute_at(s[c_buf], ko)
    # 3. The copies are DMA transfers.
    s[a_buf].pragma(s[a_buf].op.axis[0], env.dma_copy)
    s[w_buf].pragma(s[w_buf].op.axis[0], env.dma_copy)
    s[c].pragma(s[c].op.axis[0], env.dma_copy)
    # 4. ko outermost: the accumulators stay on the chip while the sum grows.
    s[c_buf].reorder(ko, *s[c_buf].op.axis, ki)
    # 5. The loops from the batch inside the tile downwards are exactly one step of the GEMM core.
    s[c_buf].tensorize(s[c_buf].op.axis[2], env.gemm)
    return s, [a, w, c]


def main() -> None:
    """Build, run, and compare with numpy."""
    env = vta.get_env()
    if (env.INP_WIDTH, env.WGT_WIDTH) != (8, 8):  # numpy, which the result is compared with, has no narrower types
        raise SystemExit(f"matrix multiply: it needs 8-bit operands, not {env.BITSTREAM}")
    s, args = schedule(env)
    gemm = vta.build(s, args, target=env.target, name="gemm")

    rng = np.random.default_rng(0)
    a = rng.integers(-128, 128, size=(O * env.BATCH, N * env.BLOCK_IN)).astype(np.int8)
    w = rng.integers(-128, 128, size=(M * env.BLOCK_OUT, N * env.BLOCK_IN)).astype(np.int8)
    a_tiled = a.reshape(O, env.BATCH, N, env.BLOCK_IN).transpose(0, 2, 1, 3)
    w_tiled = w.reshape(M, env.BLOCK_OUT, N, env.BLOCK_IN).transpose(0, 2, 1, 3)

    device = vta.rpc.LocalSession().ext_dev(0)
    a_nd, w_nd = vta.nd.array(a_tiled, device), vta.nd.array(w_tiled, device)
    c_nd = vta.nd.empty((O, M, env.BATCH, env.BLOCK_OUT), env.out_dtype, device)

    vta.testing.simulator.clear_stats()
    gemm(a_nd, w_nd, c_nd)
    expected = a.astype(np.int32) @ w.T.astype(np.int32)
    result = c_nd.numpy().transpose(0, 2, 1, 3).reshape(expected.shape)
    np.testing.assert_array_equal(result, expected.astype(np.int8))
    print("Statistics of the run:")
    for name, value in vta.testing.simulator.stats().items():
        print(f"    {name:<16} {value:>10}")
    print("matrix multiply: equal to numpy")


if __name__ == "__main__":
    main()

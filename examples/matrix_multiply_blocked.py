"""Blocked matrix multiply: a product that does not fit on the chip, with the fixed-point epilogue of a quantised layer.

    vta run examples/matrix_multiply_blocked.py --stats

One row of 1024 inputs times a 1024 x 1024 weight matrix: the weights are 1 MiB, the weight memory holds 256 KiB. So the
output channels are cut into blocks, and the input channels too; a block of the product is computed while everything
it needs is on the chip, then shifted, clipped and stored.
"""

import numpy as np

import vta
from vta import te

BATCH = 1
IN_CHANNELS = 1024
OUT_CHANNELS = 1024
BLOCK = 256  # channels of one block, in and out


def batch_of(env: vta.Environment) -> int:
    """Return the rows of the product: a whole batch tile where the GEMM core takes more than one row."""
    return max(BATCH, env.BATCH)


def compute(env: vta.Environment) -> dict[str, te.Tensor]:
    """Describe the layer: product, arithmetic shift, clip to 0..127, int8."""
    rows = batch_of(env) // env.BATCH
    in_tiles, out_tiles = IN_CHANNELS // env.BLOCK_IN, OUT_CHANNELS // env.BLOCK_OUT
    data = te.placeholder((rows, in_tiles, env.BATCH, env.BLOCK_IN), name="data", dtype=env.inp_dtype)
    weight_shape = (out_tiles, in_tiles, env.BLOCK_OUT, env.BLOCK_IN)
    weight = te.placeholder(weight_shape, name="weight", dtype=env.wgt_dtype)
    data_buf = te.compute(data.shape, lambda *i: data(*i), "data_buf")
    weight_buf = te.compute(weight.shape, lambda *i: weight(*i), "weight_buf")
    ic = te.reduce_axis((0, in_tiles), name="ic")
    ic_tns = te.reduce_axis((0, env.BLOCK_IN), name="ic_tns")
    shape = (rows, out_tiles, env.BATCH, env.BLOCK_OUT)
    res_gemm = te.compute(
        shape,
        lambda bo, co, bi, ci: te.sum(
            data_buf[bo, ic, bi, ic_tns].astype(env.acc_dtype) * weight_buf[co, ic, ci, ic_tns].astype(env.acc_dtype),
            axis=[ic, ic_tns],
        ),
        name="res_gem",
    )
    inp_max = (1 << (env.INP_WIDTH - 1)) - 1
    res_shr = te.compute(shape, lambda *i: res_gemm(*i) >> env.INP_WIDTH, name="res_shr")
    res_max = te.compute(shape, lambda *i: te.max(res_shr(*i), 0), name="res_max")
    res_min = te.compute(shape, lambda *i: te.min(res_max(*i), inp_max), name="res_min")
    res = te.compute(shape, lambda *i: res_min(*i).astype(env.inp_dtype), name="res")
    return {
        "data": data, "weight": weight, "data_buf": data_buf, "weight_buf": weight_buf, "res_gemm": res_gemm,
        "res_shr": res_shr, "res_max": res_max, "res_min": res_min, "res": res,
    }  # fmt: skip


def schedule(env: vta.Environment) -> tuple[te.Schedule, list[te.Tensor]]:
    """Block the product for the on-chip memories, then map the loops onto instructions."""
    t = compute(env)
    res, res_gemm = t["res"], t["res_gemm"]
    alu_stages = (t["res_shr"], t["res_max"], t["res_min"])
    s = te.create_schedule(res.op)

    # 1. Cut the output into blocks of 256 channels.
    b, oc, _b_tns, _oc_tns = s[res].op.axis
    b_out, b_inn = s[res].split(b, 1)
    oc_out, oc_inn = s[res].split(oc, BLOCK // env.BLOCK_OUT)
    s[res].reorder(b_out, oc_out, b_inn, oc_inn)
    # 2. Product and epilogue are computed block by block: only a block of accumulators has to fit.
    for stage in (res_gemm, *alu_stages):
        s[stage].compute_at(s[res], oc_out)
        s[stage].set_scope(env.acc_scope)
    # 3. Cut the reduction as well, and walk over its blocks outside of everything that is on the chip.
    b_inn, oc_inn, b_tns, oc_tns = s[res_gemm].op.axis
    ic, ic_tns = s[res_gemm].op.reduce_axis
    ic_out, ic_inn = s[res_gemm].split(ic, BLOCK // env.BLOCK_IN)
    s[res_gemm].reorder(ic_out, b_inn, oc_inn, ic_inn, b_tns, oc_tns, ic_tns)
    # 4. Load one block of inputs and weights for each block of the reduction.
    for buffer, scope in ((t["data_buf"], env.inp_scope), (t["weight_buf"], env.wgt_scope)):
        s[buffer].set_scope(scope)
        s[buffer].compute_at(s[res_gemm], ic_out)
        s[buffer].pragma(s[buffer].op.axis[0], env.dma_copy)
    s[res].pragma(s[res].op.axis[2], env.dma_copy)
    # 5. The innermost tile is the GEMM core's step; the epilogue runs on the ALU.
    s[res_gemm].tensorize(b_tns, env.gemm)
    for stage in alu_stages:
        s[stage].pragma(s[stage].op.axis[0], env.alu)
    return s, [t["data"], t["weight"], res]


def main() -> None:
    """Build, run, and compare with numpy."""
    env = vta.get_env()
    if (env.INP_WIDTH, env.WGT_WIDTH) != (8, 8):  # numpy, which the result is compared with, has no narrower types
        raise SystemExit(f"blocked matrix multiply: it needs 8-bit operands, not {env.BITSTREAM}")
    s, args = schedule(env)
    layer = vta.build(s, args, target=env.target, name="blocked_gemm")

    rng = np.random.default_rng(0)
    rows = batch_of(env)
    data = rng.integers(-128, 128, size=(rows, IN_CHANNELS)).astype(np.int8)
    weight = rng.integers(-128, 128, size=(OUT_CHANNELS, IN_CHANNELS)).astype(np.int8)
    tiled_data = data.reshape(-1, env.BATCH, IN_CHANNELS // env.BLOCK_IN, env.BLOCK_IN).transpose(0, 2, 1, 3)
    tiled_weight = weight.reshape(-1, env.BLOCK_OUT, IN_CHANNELS // env.BLOCK_IN, env.BLOCK_IN).transpose(0, 2, 1, 3)

    device = vta.rpc.LocalSession().ext_dev(0)
    data_nd, weight_nd = vta.nd.array(tiled_data, device), vta.nd.array(tiled_weight, device)
    res_nd = vta.nd.empty(args[-1].shape, env.out_dtype, device)

    vta.testing.simulator.clear_stats()
    layer(data_nd, weight_nd, res_nd)
    product = data.astype(np.int32) @ weight.T.astype(np.int32)
    expected = np.clip(product >> env.INP_WIDTH, 0, 127).astype(np.int8)
    result = res_nd.numpy().transpose(0, 2, 1, 3).reshape(expected.shape)
    np.testing.assert_array_equal(result, expected)
    print("Statistics of the run:")
    for name, value in vta.testing.simulator.stats().items():
        print(f"    {name:<16} {value:>10}")
    print("blocked matrix multiply: equal to numpy")


if __name__ == "__main__":
    main()

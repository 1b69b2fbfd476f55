"""Vector add: the smallest program that uses the accelerator.

    vta run examples/vector_add.py --stats

A and B are int32 vectors, tiled as the accelerator wants them: (1, 64, BATCH, BLOCK_OUT). They are copied into the
accumulator memory, added by the tensor ALU, cut to int8 and stored.
"""

import numpy as np

import vta
from vta import te

M = 64  # tiles along the vector
O = 1  # noqa: E741  # tiles along the batch, as the tutorials call it


def compute(env: vta.Environment) -> list[te.Tensor]:
    """Describe *what* is computed: no memory, no order, no accelerator yet."""
    shape = (O, M, env.BATCH, env.BLOCK_OUT)
    a = te.placeholder(shape, name="A", dtype=env.acc_dtype)
    b = te.placeholder(shape, name="B", dtype=env.acc_dtype)
    # Copies of the operands. They are what will live on the chip.
    a_buf = te.compute(shape, lambda *i: a(*i), "A_buf")
    b_buf = te.compute(shape, lambda *i: b(*i), "B_buf")
    c_buf = te.compute(shape, lambda *i: a_buf(*i).astype(env.acc_dtype) + b_buf(*i).astype(env.acc_dtype), "C_buf")
    # Stores keep the low 8 bits of each accumulator lane: a cast says so.
    c = te.compute(shape, lambda *i: c_buf(*i).astype(env.inp_dtype), name="C")
    return [a, b, a_buf, b_buf, c_buf, c]


def schedule(env: vta.Environment) -> tuple[te.Schedule, list[te.Tensor]]:
    """Say *how*: which memory each tensor lives in, and which loops become DMA transfers and ALU instructions."""
    a, b, a_buf, b_buf, c_buf, c = compute(env)
    s = te.create_schedule(c.op)
    # The three intermediate tensors live in the accumulator memory, the ALU's only operand memory.
    for tensor in (a_buf, b_buf, c_buf):
        s[tensor].set_scope(env.acc_scope)
    # The copies into and out of the chip become DMA transfers: LOAD and STORE instructions.
    s[a_buf].pragma(s[a_buf].op.axis[0], env.dma_copy)
    s[b_buf].pragma(s[b_buf].op.axis[0], env.dma_copy)
    s[c].pragma(s[c].op.axis[0], env.dma_copy)
    # The addition becomes one ALU instruction that loops over all tiles.
    s[c_buf].pragma(s[c_buf].op.axis[0], env.alu)
    return s, [a, b, c]


def main() -> None:
    """Build, run, and compare with numpy."""
    env = vta.get_env()
    if env.INP_WIDTH != 8:  # numpy, which the result is compared with, has no narrower types
        raise SystemExit(f"vector add: it needs 8-bit operands, not {env.BITSTREAM}")
    s, args = schedule(env)
    vadd = vta.build(s, args, target=env.target, name="vadd")

    rng = np.random.default_rng(0)
    shape = (O, M, env.BATCH, env.BLOCK_OUT)
    a = rng.integers(-128, 128, size=shape, dtype=env.acc_dtype)
    b = rng.integers(-128, 128, size=shape, dtype=env.acc_dtype)

    remote = vta.rpc.LocalSession()
    device = remote.ext_dev(0)
    a_nd, b_nd = vta.nd.array(a, device), vta.nd.array(b, device)
    c_nd = vta.nd.array(np.zeros(shape, dtype=env.inp_dtype), device)

    vta.testing.simulator.clear_stats()
    vadd(a_nd, b_nd, c_nd)
    np.testing.assert_array_equal(c_nd.numpy(), (a + b).astype(env.inp_dtype))
    print("Statistics of the run:")
    for name, value in vta.testing.simulator.stats().items():
        print(f"    {name:<16} {value:>10}")
    print("vector add: equal to numpy")


if __name__ == "__main__":
    main()

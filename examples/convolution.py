"""A convolution in tiles, with its loads hidden behind its products, and a picture of how that looks.

    vta run examples/convolution.py --stats
    vta run examples/convolution.py --target tsim --record one.trace 1   # one thread, for `vta trace one.trace`

256 to 256 channels, 14x14 pixels, a 3x3 kernel with pads of one pixel, then the fixed-point epilogue of a quantised
layer.

**Blocking.** The weights are 576 KiB, the weight memory holds 256 KiB; the sums are 196 KiB in 32 bits, the accumulator
holds 128 KiB. So the output is cut into blocks of 128 channels by 7 rows, whose sums fit; and they are summed up over
one block of input channels (16) after the other, so that the inputs and weights of a step fit too. A step loads 9 rows
of 14 pixels, which the load surrounds with zeros, and 8 x 3 x 3 tiles of weights.

**Latency hiding.** The accelerator has a module that loads, one that computes and one that stores; they run at the same
time, and tokens say who waits for whom. But a load may not overwrite what the products still read. With one set of
buffers the modules take turns. With two *virtual threads* each has its own buffers, and one loads while the other
computes: the compiler writes out both threads, statement by statement, into one program. Here each thread has half of
the output channels. The run shows both programs on the cycle-accurate simulator, and what each module did when.

At the end stands what the operator library makes of the same layer (``vta.topi.Conv2d``): its schedules do not
interleave threads but use several copies of the buffers in turn, so that the epilogue hides behind products as well.
"""

import itertools
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

import vta
from runtime.observe.timeline import States, Timeline
from vta import te, topi
from vta.topi.core import layout
from vta.topi.core.epilogue import Clip, ShiftRight
from vta.topi.core.operator import compile  # noqa: A004

CHANNELS = 256
SIZE = 14
KERNEL = 3
PAD = 1
ROWS = 7  # of the output in a block
SHIFT = 8
WIDTH = 96  # characters of the picture
LEVELS = " ▁▂▃▄▅▆▇█"


def blocks_of(env: vta.Environment) -> int:
    """Return how many tiles of output channels a block has: as many as two threads have room for, 8 by default."""
    blocks = CHANNELS // env.BLOCK_OUT // 2
    while 2 * blocks * ROWS * SIZE > env.config.acc_depth:
        blocks //= 2
    return blocks


def compute(env: vta.Environment) -> dict[str, te.Tensor]:
    """Describe the layer: pads, sums, arithmetic shift, clip to 0..127, int8."""
    inner, outer = CHANNELS // env.BLOCK_IN, CHANNELS // env.BLOCK_OUT
    data = te.placeholder((1, inner, SIZE, SIZE, env.BATCH, env.BLOCK_IN), name="data", dtype=env.inp_dtype)
    kernel_shape = (outer, inner, KERNEL, KERNEL, env.BLOCK_OUT, env.BLOCK_IN)
    kernel = te.placeholder(kernel_shape, name="kernel", dtype=env.wgt_dtype)
    data_buf = topi.nn.pad(data, [0, 0, PAD, PAD, 0, 0], name="data_buf")
    kernel_buf = te.compute(kernel_shape, lambda *i: kernel(*i), "kernel_buf")
    dy, dx = te.reduce_axis((0, KERNEL), name="dy"), te.reduce_axis((0, KERNEL), name="dx")
    ic, ic_tns = te.reduce_axis((0, inner), name="ic"), te.reduce_axis((0, env.BLOCK_IN), name="ic_tns")
    shape = (1, outer, SIZE, SIZE, env.BATCH, env.BLOCK_OUT)
    res_conv = te.compute(
        shape,
        lambda bo, co, i, j, bi, ci: te.sum(
            data_buf[bo, ic, i + dy, j + dx, bi, ic_tns].astype(env.acc_dtype)
            * kernel_buf[co, ic, dy, dx, ci, ic_tns].astype(env.acc_dtype),
            axis=[ic, dy, dx, ic_tns],
        ),
        name="res_conv",
    )
    res_shr = te.compute(shape, lambda *i: res_conv(*i) >> SHIFT, name="res_shr")
    res_max = te.compute(shape, lambda *i: te.max(res_shr(*i), 0), name="res_max")
    res_min = te.compute(shape, lambda *i: te.min(res_max(*i), 127), name="res_min")
    res = te.compute(shape, lambda *i: res_min(*i).astype(env.inp_dtype), name="res")
    return {
        "data": data, "kernel": kernel, "data_buf": data_buf, "kernel_buf": kernel_buf, "res_conv": res_conv,
        "res_shr": res_shr, "res_max": res_max, "res_min": res_min, "res": res,
    }  # fmt: skip


def schedule(env: vta.Environment, threads: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """Cut the layer into blocks, map the loops onto instructions, and share the blocks among virtual threads."""
    t = compute(env)
    res, res_conv = t["res"], t["res_conv"]
    alu_stages = (t["res_shr"], t["res_max"], t["res_min"])
    s = te.create_schedule(res.op)

    # 1. Cut the output into blocks: some tiles of channels by 7 whole rows.
    b, oc, y, x, b_tns, oc_tns = s[res].leaf_iter_vars
    stored = b_tns
    b_out, b_inn = s[res].split(b, 1)
    oc_out, oc_inn = s[res].split(oc, blocks_of(env))
    y_out, y_inn = s[res].split(y, ROWS)
    x_out, x_inn = s[res].split(x, SIZE)
    s[res].reorder(b_out, oc_out, y_out, x_out, b_inn, oc_inn, y_inn, x_inn, b_tns, oc_tns)
    # 2. Sums and epilogue are computed block by block, in the accumulator.
    for stage in (res_conv, *alu_stages):
        s[stage].compute_at(s[res], x_out)
        s[stage].set_scope(env.acc_scope)
    # 3. Sum up over one block of input channels after the other.
    b_inn, oc_inn, y_inn, x_inn, b_tns, oc_tns, ic, dy, dx, ic_tns = s[res_conv].leaf_iter_vars
    ic_out, ic_inn = s[res_conv].split(ic, 1)
    s[res_conv].reorder(ic_out, b_inn, oc_inn, y_inn, ic_inn, dy, dx, x_inn, b_tns, oc_tns, ic_tns)
    # 4. Two virtual threads: each has every second block of channels, and buffers of its own.
    if threads > 1:
        _, thread = s[res].split(oc_out, factor=threads)
        s[res].reorder(thread, b_out)
        s[res].bind(thread, te.thread_axis("cthread"))
    # 5. A step loads what it needs.
    for buffer, scope in ((t["data_buf"], env.inp_scope), (t["kernel_buf"], env.wgt_scope)):
        s[buffer].set_scope(scope)
        s[buffer].compute_at(s[res_conv], ic_out)
        s[buffer].pragma(s[buffer].leaf_iter_vars[0], env.dma_copy)
    # 6. The innermost tile is the GEMM core's step; the epilogue runs on the ALU; results are stored tile by tile.
    s[res_conv].tensorize(b_tns, env.gemm)
    for stage in alu_stages:
        s[stage].pragma(s[stage].leaf_iter_vars[0], env.alu)
    s[res].pragma(stored, env.dma_copy)
    return s, [t["data"], t["kernel"], res]


def random_layer(env: vta.Environment) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any]]:
    """Return data and kernel, tiled as the accelerator has them, and the result that numpy gives, tiled too."""
    rng = np.random.default_rng(0)
    data = rng.integers(-128, 128, (env.BATCH, CHANNELS, SIZE, SIZE)).astype(np.int8)
    kernel = rng.integers(-128, 128, (CHANNELS, CHANNELS, KERNEL, KERNEL)).astype(np.int8)
    padded = np.pad(data, ((0, 0), (0, 0), (PAD, PAD), (PAD, PAD))).astype(np.float64)  # exact, and fast in numpy
    sums = sum(
        np.einsum("nihw,oi->nohw", padded[:, :, y : y + SIZE, x : x + SIZE], kernel[:, :, y, x].astype(np.float64))
        for y in range(KERNEL)
        for x in range(KERNEL)
    )
    expected = np.clip(np.asarray(sums).astype(np.int32) >> SHIFT, 0, 127).astype(np.int8)
    tiled_data = layout.pack_activations(data, batch=env.BATCH, block=env.BLOCK_IN)
    tiled_kernel = layout.pack_kernel(kernel, block_in=env.BLOCK_IN, block_out=env.BLOCK_OUT)
    tiled_result = layout.pack_activations(expected, batch=env.BATCH, block=env.BLOCK_OUT)
    return [tiled_data, tiled_kernel], tiled_result


def run(env: vta.Environment, threads: int) -> None:
    """Build the layer, run it on the environment's device, and compare with numpy."""
    with env:
        s, args = schedule(env, threads)
        layer = vta.build(s, args, target=env.target, name="convolution")
        device = vta.nd.ext_dev(0)
        inputs, expected = random_layer(env)
        arrays = [vta.nd.array(values, device) for values in inputs]
        result = vta.nd.empty(args[-1].shape, env.out_dtype, device)
        layer(*arrays, result)
    np.testing.assert_array_equal(result.numpy(), expected)


def on_hardware(env: vta.Environment, threads: int) -> Timeline:
    """Run the layer on the cycle-accurate simulator; return when everything happened. No threads: the library's."""
    hardware = vta.Environment(replace(env.config, target="tsim"))
    found: list[Timeline] = []
    hardware.session.device.set_timeline(found.append)
    if threads:
        run(hardware, threads)
    else:
        run_library(hardware)
    [timeline] = found
    return timeline


def run_library(env: vta.Environment) -> None:
    """Let the operator library schedule the layer, and compare with numpy."""
    steps = (ShiftRight(SHIFT), Clip(0, 127))
    shape = (env.BATCH, CHANNELS, SIZE, SIZE, CHANNELS)
    layer = topi.Conv2d(*shape, (KERNEL, KERNEL), padding=(PAD, PAD, PAD, PAD), epilogue=steps)
    inputs, expected = random_layer(env)
    np.testing.assert_array_equal(compile(layer, env).packed(*inputs), expected)


def bars(states: States, begin: int, end: int, duration: int) -> str:
    """Return a bar for each part of the cycles from ``begin`` to ``end``: as high as the part's share of work."""
    starts = states.begins
    works = np.array([cause == "work" for cause in states.causes])
    stops = starts + states.durations(duration)
    edges = np.linspace(begin, end, WIDTH + 1)
    text = ""
    for low, high in itertools.pairwise(edges):
        inside = np.clip(np.minimum(stops, high) - np.maximum(starts, low), 0, None)
        text += LEVELS[round(float(inside[works].sum()) / (high - low) * (len(LEVELS) - 1))]
    return text


def picture(title: str, timeline: Timeline, begin: int, end: int) -> Sequence[str]:
    """Return lines that show what the modules did from cycle ``begin`` to ``end``."""
    lines = [f"{title}, cycles {begin:,} to {end:,}:"]
    for module in ("load", "compute", "store"):
        lines.append(f"  {module:8}|{bars(timeline.states[module], begin, end, timeline.duration)}|")
    return lines


def main() -> None:
    """Run on the chosen device; then show two threads and one on the cycle-accurate simulator.

    A number on the command line is a number of threads to run with, and that is all that is run.
    """
    env = vta.get_env()
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    if (env.INP_WIDTH, env.WGT_WIDTH) != (8, 8):  # numpy, which the result is compared with, has no narrower types
        raise SystemExit(f"convolution: it needs 8-bit operands, not {env.BITSTREAM}")
    vta.testing.simulator.clear_stats()
    run(env, threads)
    print("Statistics of the run:")
    for name, value in vta.testing.simulator.stats().items():
        print(f"    {name:<16} {value:>10}")
    if len(sys.argv) > 1:
        return

    one, two = on_hardware(env, threads=1), on_hardware(env, threads=2)
    steps = two.duration // 24  # a few of them, from the beginning
    for title, timeline in (("one thread", one), ("two threads", two)):
        print()
        print("\n".join(picture(title, timeline, 0, steps)))
    library = on_hardware(env, threads=0)
    for title, timeline in (("two threads, all of it", two), ("the library's schedule, all of it", library)):
        print("\n".join(["", *picture(title, timeline, 0, timeline.duration)]))
    print(f"\none virtual thread: {one.duration:,} cycles; two: {two.duration:,} ({two.duration / one.duration:.1%})")
    print(f"the library's schedule: {library.duration:,} cycles ({library.duration / one.duration:.1%})")
    if two.duration >= one.duration:
        raise SystemExit("convolution: two virtual threads hide nothing here")
    print("convolution: equal to numpy")


if __name__ == "__main__":
    main()

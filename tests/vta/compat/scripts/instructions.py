"""Instruction tests in the style of TVM-VTA's unit tests, for TVM: padded loads, and both ways to schedule a GEMM."""
# ruff: noqa: B905, RUF059

from typing import Any

import numpy as np
import tvm
from tvm import te, topi
from tvm.contrib import utils

import vta
import vta.testing
from vta.testing import simulator

np.random.seed(0xDEADB)


def check_padded_load() -> None:
    def run_one(env: Any, remote: Any, pad_before: Any, pad_after: Any) -> None:
        n, m = 3, 5
        x = te.placeholder((n, m, env.BATCH, env.BLOCK_OUT), name="x", dtype=env.acc_dtype)
        x_buf = topi.nn.pad(x, pad_before, pad_after, name="x_buf")
        y_buf = te.compute(x_buf.shape, lambda *i: x_buf(*i) >> 0, "y_buf")
        y = te.compute(x_buf.shape, lambda *i: y_buf(*i).astype(env.inp_dtype), "y")
        s = te.create_schedule(y.op)
        s[x_buf].set_scope(env.acc_scope)
        s[x_buf].pragma(x_buf.op.axis[0], env.dma_copy)
        s[y_buf].set_scope(env.acc_scope)
        s[y_buf].pragma(y_buf.op.axis[0], env.alu)
        s[y].pragma(y.op.axis[0], env.dma_copy)
        with vta.build_config():
            mod = vta.build(s, [x, y], tvm.target.Target("ext_dev", host=env.target_host))
        temp = utils.tempdir()
        mod.save(temp.relpath("padded_load.o"))
        remote.upload(temp.relpath("padded_load.o"))
        f = remote.load_module("padded_load.o")
        dev = remote.ext_dev(0)
        x_np = np.random.randint(0, 10, size=(n, m, env.BATCH, env.BLOCK_OUT)).astype(x.dtype)
        y_np = np.pad(x_np, list(zip(pad_before, pad_after))).astype(y.dtype)
        x_nd = tvm.nd.array(x_np, dev)
        y_nd = tvm.nd.empty(y_np.shape, device=dev, dtype=y_np.dtype)
        simulator.clear_stats()
        f(x_nd, y_nd)
        np.testing.assert_equal(y_np, y_nd.numpy())
        print("padded load", simulator.stats()["acc_load_nbytes"])

    def run_all(env: Any, remote: Any) -> None:
        for before, after in (([2, 0, 0, 0], [0, 0, 0, 0]), ([1, 1, 0, 0], [1, 1, 0, 0])):
            run_one(env, remote, before, after)

    vta.testing.run(run_all)


def check_gemm() -> None:
    def run(env: Any, remote: Any) -> None:
        o, n, m = 4, 1, 4
        x = te.placeholder((o, n, env.BATCH, env.BLOCK_IN), name="x", dtype=env.inp_dtype)
        w = te.placeholder((m, n, env.BLOCK_OUT, env.BLOCK_IN), name="w", dtype=env.wgt_dtype)
        x_buf = te.compute(x.shape, lambda *i: x(*i), "x_buf")
        w_buf = te.compute(w.shape, lambda *i: w(*i), "w_buf")
        ko = te.reduce_axis((0, n), name="ko")
        ki = te.reduce_axis((0, env.BLOCK_IN), name="ki")
        y_gem = te.compute(
            (o, m, env.BATCH, env.BLOCK_OUT),
            lambda bo, co, bi, ci: te.sum(
                x_buf[bo, ko, bi, ki].astype(env.acc_dtype) * w_buf[co, ko, ci, ki].astype(env.acc_dtype),
                axis=[ko, ki],
            ),
            name="y_gem",
        )
        y_shr = te.compute(y_gem.shape, lambda *i: y_gem(*i) >> 8, name="y_shr")
        y_max = te.compute(y_gem.shape, lambda *i: tvm.te.max(y_shr(*i), 0), "y_max")
        y_min = te.compute(y_gem.shape, lambda *i: tvm.te.min(y_max(*i), (1 << (env.INP_WIDTH - 1)) - 1), "y_min")
        y = te.compute(y_gem.shape, lambda *i: y_min(*i).astype(env.inp_dtype), name="y")

        def verify(s: Any, name: Any) -> None:
            with vta.build_config(disabled_pass={"tir.CommonSubexprElimTIR"}):
                mod = vta.build(s, [x, w, y], tvm.target.Target("ext_dev", host=env.target_host), name="gemm")
            temp = utils.tempdir()
            mod.save(temp.relpath("gemm.o"))
            remote.upload(temp.relpath("gemm.o"))
            f = remote.load_module("gemm.o")
            dev = remote.ext_dev(0)
            x_np = np.random.randint(-128, 128, size=(o, n, env.BATCH, env.BLOCK_IN)).astype(x.dtype)
            w_np = np.random.randint(-128, 128, size=(m, n, env.BLOCK_OUT, env.BLOCK_IN)).astype(w.dtype)
            y_np = np.zeros((o, m, env.BATCH, env.BLOCK_OUT)).astype(y.dtype)
            x_nd, w_nd, y_nd = (tvm.nd.array(a, dev) for a in (x_np, w_np, y_np))
            y_ref = np.einsum("okbi,mkci->ombc", x_np.astype("int32"), w_np.astype("int32"))
            y_ref = np.clip(y_ref >> 8, 0, 127).astype(y.dtype)
            f(x_nd, w_nd, y_nd)
            np.testing.assert_equal(y_ref, y_nd.numpy())
            cost = f.time_evaluator(f.entry_name, dev, number=3)(x_nd, w_nd, y_nd)
            assert cost.mean > 0
            print("gemm", name)

        def place(s: Any, outer: Any) -> None:
            s[y_gem].set_scope(env.acc_scope)
            s[x_buf].set_scope(env.inp_scope)
            s[w_buf].set_scope(env.wgt_scope)
            for tensor in (y_shr, y_max, y_min):
                s[tensor].set_scope(env.acc_scope)
                s[tensor].pragma(s[tensor].op.axis[0], env.alu)
            if outer is not None:
                for tensor in (y_gem, y_shr, y_max, y_min):
                    s[tensor].compute_at(s[y], outer)
            bo, co, bi, ci = s[y_gem].op.axis
            s[y_gem].reorder(ko, bo, co, bi, ci, ki)
            s[x_buf].compute_at(s[y_gem], ko)
            s[w_buf].compute_at(s[y_gem], ko)
            s[x_buf].pragma(s[x_buf].op.axis[0], env.dma_copy)
            s[w_buf].pragma(s[w_buf].op.axis[0], env.dma_copy)
            s[y_gem].tensorize(bi, env.gemm)

        s = te.create_schedule(y.op)
        place(s, None)
        s[y].pragma(s[y].op.axis[0], env.dma_copy)
        verify(s, "default")

        s = te.create_schedule(y.op)
        abo, aco, abi, aci = s[y].op.axis
        abo1, abo2 = s[y].split(abo, nparts=2)
        s[y].bind(abo1, te.thread_axis("cthread"))
        place(s, abo1)
        s[y].pragma(abo2, env.dma_copy)
        verify(s, "smt")

    vta.testing.run(run)


if __name__ == "__main__":
    check_padded_load()
    check_gemm()
    print("Successful instruction tests!")

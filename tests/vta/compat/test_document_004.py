"""The fragments of founding document 004 (VTA's schedules and build flow) run, and compute what the document says.

Each test is called after its heading; what the document prints is what is printed here, but for the style of names.
"""

import importlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vta.compat.answering import answering

SIZE = 16


@pytest.fixture(scope="module")
def tvm() -> Iterator[Any]:
    with answering():
        yield importlib.import_module("tvm")


@pytest.fixture(scope="module")
def vta(tvm: Any) -> Any:
    assert tvm is not None
    return importlib.import_module("vta")


class Simple:
    """The simple GEMM of 3.2: its tensors and a schedule."""

    def __init__(self, tvm: Any, env: Any, m: int = SIZE, n: int = SIZE) -> None:
        te = tvm.te
        self.A = te.placeholder((1, n, env.BATCH, env.BLOCK_IN), name="A", dtype=env.inp_dtype)
        self.B = te.placeholder((m, n, env.BLOCK_OUT, env.BLOCK_IN), name="B", dtype=env.wgt_dtype)
        self.A_buf = te.compute((1, n, env.BATCH, env.BLOCK_IN), lambda *i: self.A(*i), "A_buf")
        self.B_buf = te.compute((m, n, env.BLOCK_OUT, env.BLOCK_IN), lambda *i: self.B(*i), "B_buf")
        self.ko = te.reduce_axis((0, n), name="ko")
        self.ki = te.reduce_axis((0, env.BLOCK_IN), name="ki")
        self.C_buf = te.compute(
            (1, m, env.BATCH, env.BLOCK_OUT),
            lambda bo, co, bi, ci: te.sum(
                self.A_buf[bo, self.ko, bi, self.ki].astype(env.acc_dtype)
                * self.B_buf[co, self.ko, ci, self.ki].astype(env.acc_dtype),
                axis=[self.ko, self.ki],
            ),
            name="C_buf",
        )
        self.C = te.compute((1, m, env.BATCH, env.BLOCK_OUT), lambda *i: self.C_buf(*i).astype(env.inp_dtype), name="C")
        self.s = te.create_schedule(self.C.op)
        self.args = [self.A, self.B, self.C]

    def buffers(self, env: Any) -> None:
        s = self.s
        s[self.A_buf].set_scope(env.inp_scope)
        s[self.B_buf].set_scope(env.wgt_scope)
        s[self.C_buf].set_scope(env.acc_scope)
        s[self.A_buf].compute_at(s[self.C_buf], self.ko)
        s[self.B_buf].compute_at(s[self.C_buf], self.ko)
        s[self.A_buf].pragma(s[self.A_buf].op.axis[0], env.dma_copy)
        s[self.B_buf].pragma(s[self.B_buf].op.axis[0], env.dma_copy)
        s[self.C].pragma(s[self.C].op.axis[0], env.dma_copy)

    def reorder(self) -> None:
        axis = self.s[self.C_buf].op.axis
        self.s[self.C_buf].reorder(self.ko, axis[0], axis[1], axis[2], axis[3], self.ki)

    def tensorize(self, env: Any) -> None:
        self.s[self.C_buf].tensorize(self.s[self.C_buf].op.axis[2], env.gemm)


def lines(text: object) -> list[str]:
    return [line.strip() for line in str(text).splitlines()]


def in_order(text: object, *wanted: str) -> None:
    """Require that lines begin with ``wanted``, in this order."""
    left = iter(lines(text))
    for begin in wanted:
        assert any(line.startswith(begin) for line in left), f"{begin!r} does not come in its place in\n{text}"


def test_32_schedule_the_computation_as_it_is(tvm: Any, vta: Any) -> None:
    simple = Simple(tvm, vta.get_env())
    text = tvm.lower(simple.s, simple.args, simple_mode=True)
    in_order(
        text, "for (co: int32, 0, 16) {", "for (ci: int32, 0, 16) {", "C_buf", "for (ko: int32, 0, 16) {",
        "for (ki: int32, 0, 16) {",
    )  # fmt: skip
    assert "for (bo" not in str(text), "loops of one iteration vanish"


def test_32_schedule_memory_on_the_chip(tvm: Any, vta: Any) -> None:
    env = vta.get_env()
    simple = Simple(tvm, env)
    simple.buffers(env)
    text = str(tvm.lower(simple.s, simple.args, simple_mode=True))
    for name, dtype, size, scope in (
        ("C_buf", "int32", 256, env.acc_scope),
        ("A_buf", "int8", 16, env.inp_scope),
        ("B_buf", "int8", 16, env.wgt_scope),
    ):  # fmt: skip
        assert f"allocate({name}: Pointer({scope} {dtype}), {dtype}, [{size}]), storage_scope = {scope}" in text
    in_order(text, "for (co: int32, 0, 16) {", "for (ci: int32, 0, 16) {", "for (ko: int32, 0, 16) {")
    assert text.count('"pragma_dma_copy" = 1') == 3


def test_32_schedule_reorder_for_the_intrinsic(tvm: Any, vta: Any) -> None:
    env = vta.get_env()
    simple = Simple(tvm, env)
    simple.buffers(env)
    simple.reorder()
    in_order(
        tvm.lower(simple.s, simple.args, simple_mode=True),
        "for (co.init: int32, 0, 16) {", "for (ci.init: int32, 0, 16) {", "for (ko: int32, 0, 16) {",
        "for (i0", "for (co: int32, 0, 16) {", "for (ci: int32, 0, 16) {", "for (ki: int32, 0, 16) {",
    )  # fmt: skip


def test_32_schedule_tensorisation_is_the_documents_stream_and_computes_the_product(tvm: Any, vta: Any) -> None:
    env = vta.get_env()
    simple = Simple(tvm, env)
    simple.buffers(env)
    simple.reorder()
    simple.tensorize(env)
    text = vta.lower(simple.s, simple.args, simple_mode=True)
    in_order(
        text,
        'attr [IterVar(vta: int32, (nullptr), "ThreadIndex", "vta")] "coproc_scope" = 2 {',
        '@tir.call_extern("VTAUopLoopBegin", 16, 1, 0, 0, dtype=int32)',
        "@tir.vta.uop_push(0, 1, 0, 0, 0, 0, 0, 0, dtype=int32)",
        "@tir.vta.coproc_dep_push(2, 1, dtype=int32)",
        "for (ko: int32, 0, 16) {",
        "@tir.vta.coproc_dep_pop(2, 1, dtype=int32)",
        '@tir.call_extern("VTALoadBuffer2D", @tir.tvm_thread_context(@tir.vta.command_handle(, dtype=handle), '
        "dtype=handle), A_2, ko, 1, 1, 1, 0, 0, 0, 0, 0, 2, dtype=int32)",
        '@tir.call_extern("VTALoadBuffer2D", @tir.tvm_thread_context(@tir.vta.command_handle(, dtype=handle), '
        "dtype=handle), B_2, ko, 1, 16, 16, 0, 0, 0, 0, 0, 1, dtype=int32)",
        "@tir.vta.coproc_dep_push(1, 2, dtype=int32)",
        "@tir.vta.coproc_dep_pop(1, 2, dtype=int32)",
        '@tir.call_extern("VTAUopLoopBegin", 16, 1, 0, 1, dtype=int32)',
        "@tir.vta.uop_push(0, 0, 0, 0, 0, 0, 0, 0, dtype=int32)",
        "@tir.vta.coproc_dep_push(2, 3, dtype=int32)",
        '@tir.call_extern("VTAStoreBuffer2D", @tir.tvm_thread_context(@tir.vta.command_handle(, dtype=handle), '
        "dtype=handle), 0, 4, C_2, 0, 16, 1, 16, dtype=int32)",
        "@tir.vta.coproc_sync(, dtype=int32)",
    )
    run_product(tvm, vta, vta.build(simple.s, simple.args, "ext_dev", env.target_host, name="my_gemm"))


def run_product(tvm: Any, vta: Any, func: Any) -> None:
    env = vta.get_env()
    rng = np.random.default_rng(3)
    x = rng.integers(-128, 128, (1, SIZE, env.BATCH, env.BLOCK_IN)).astype(env.inp_dtype)
    w = rng.integers(-128, 128, (SIZE, SIZE, env.BLOCK_OUT, env.BLOCK_IN)).astype(env.wgt_dtype)
    dev = tvm.ext_dev(0)
    out = tvm.nd.array(np.zeros((1, SIZE, env.BATCH, env.BLOCK_OUT), env.inp_dtype), dev)
    func(tvm.nd.array(x, dev), tvm.nd.array(w, dev), out)
    want = np.einsum("bkij,ckoj->bcio", x.astype(np.int32), w.astype(np.int32)).astype(env.inp_dtype)
    np.testing.assert_array_equal(out.numpy(), want)


def test_32_improvement_sums_that_do_not_fit_on_the_chip_are_an_error(tvm: Any, vta: Any) -> None:
    """The document's remark on large m and n: inputs come in pieces, the sums do not."""
    env = vta.get_env()
    simple = Simple(tvm, env, 2560, 2560)
    simple.buffers(env)
    simple.reorder()
    simple.tensorize(env)
    with pytest.raises(tvm.TVMError) as caught:
        vta.build(simple.s, simple.args, "ext_dev", env.target_host)
    assert "memory 'local.acc_buffer' is too small for 'C_buf' (2560 elements): expected at most 2048 elements" in str(
        caught.value
    )


class Blocked:
    """The blocked matrix product of 3.3, step by step."""

    def __init__(self, tvm: Any, env: Any, channels: int = 1024) -> None:
        te = tvm.te
        self.env, self.channels = env, channels
        ins, outs = channels // env.BLOCK_IN, channels // env.BLOCK_OUT
        shape = (1, outs, env.BATCH, env.BLOCK_OUT)
        self.data = te.placeholder((1, ins, env.BATCH, env.BLOCK_IN), name="data", dtype=env.inp_dtype)
        self.weight = te.placeholder((outs, ins, env.BLOCK_OUT, env.BLOCK_IN), name="weight", dtype=env.wgt_dtype)
        self.data_buf = te.compute(self.data.shape, lambda *i: self.data(*i), "data_buf")
        self.weight_buf = te.compute(self.weight.shape, lambda *i: self.weight(*i), "weight_buf")
        self.ic = te.reduce_axis((0, ins), name="ic")
        self.ic_tns = te.reduce_axis((0, env.BLOCK_IN), name="ic_tns")
        self.gemm = te.compute(
            shape,
            lambda bo, co, bi, ci: te.sum(
                self.data_buf[bo, self.ic, bi, self.ic_tns].astype(env.acc_dtype)
                * self.weight_buf[co, self.ic, ci, self.ic_tns].astype(env.acc_dtype),
                axis=[self.ic, self.ic_tns],
            ),
            name="res_gem",
        )
        self.shr = te.compute(shape, lambda *i: self.gemm(*i) >> env.INP_WIDTH, name="res_shr")
        inp_max = (1 << (env.INP_WIDTH - 1)) - 1
        self.max = te.compute(shape, lambda *i: tvm.te.max(self.shr(*i), 0), "res_max")
        self.min = te.compute(shape, lambda *i: tvm.te.min(self.max(*i), inp_max), "res_min")
        self.res = te.compute(shape, lambda *i: self.min(*i).astype(env.inp_dtype), name="res")
        self.s = te.create_schedule(self.res.op)
        self.args = [self.data, self.weight, self.res]

    def tile(self) -> None:
        s, env = self.s, self.env
        b, oc, _, _ = s[self.res].op.axis
        b_out, b_inn = s[self.res].split(b, 1 // env.BATCH)
        self.oc_out, oc_inn = s[self.res].split(oc, 256 // env.BLOCK_OUT)
        s[self.res].reorder(b_out, self.oc_out, b_inn, oc_inn)

    def attach(self) -> None:
        for stage in (self.gemm, self.shr, self.max, self.min):
            self.s[stage].compute_at(self.s[self.res], self.oc_out)

    def block_inputs(self, *, reorder: bool = True) -> None:
        s = self.s
        b_inn, oc_inn, self.b_tns, oc_tns = s[self.gemm].op.axis
        self.ic_out, ic_inn = s[self.gemm].split(self.ic, 256 // self.env.BLOCK_IN)
        if reorder:
            s[self.gemm].reorder(self.ic_out, b_inn, oc_inn, ic_inn, self.b_tns, oc_tns, self.ic_tns)

    def memory(self) -> None:
        s, env = self.s, self.env
        s[self.data_buf].set_scope(env.inp_scope)
        s[self.weight_buf].set_scope(env.wgt_scope)
        for stage in (self.gemm, self.shr, self.min, self.max):
            s[stage].set_scope(env.acc_scope)
        s[self.data_buf].compute_at(s[self.gemm], self.ic_out)
        s[self.weight_buf].compute_at(s[self.gemm], self.ic_out)
        s[self.data_buf].pragma(s[self.data_buf].op.axis[0], env.dma_copy)
        s[self.weight_buf].pragma(s[self.weight_buf].op.axis[0], env.dma_copy)
        s[self.res].pragma(s[self.res].op.axis[2], env.dma_copy)

    def tensorize(self) -> None:
        s, env = self.s, self.env
        s[self.gemm].tensorize(self.b_tns, env.gemm)
        for stage in (self.shr, self.min, self.max):
            s[stage].pragma(s[stage].op.axis[0], env.alu)


STAGES = (
    ("tile", ["for (i1.outer: int32, 0, 4) {", "for (i1.inner: int32, 0, 16) {"]),
    ("attach", ["for (i1.outer: int32, 0, 4) {", "for (co: int32, 0, 16) {", "for (ic: int32, 0, 64) {",
                "for (i1.inner: int32, 0, 16) {"]),
    ("block_inputs", ["for (i1.outer: int32, 0, 4) {", "for (co.init: int32, 0, 16) {", "for (ic.outer: int32, 0, 4) {",
                      "for (co: int32, 0, 16) {", "for (ic.inner: int32, 0, 16) {", "for (ci: int32, 0, 16) {",
                      "for (ic_tns: int32, 0, 16) {", "for (i1.inner: int32, 0, 16) {"]),
    ("memory", ["for (i1.outer: int32, 0, 4) {", "for (co.init: int32, 0, 16) {", "for (ic.outer: int32, 0, 4) {",
                "attr", "attr", "for (co: int32, 0, 16) {", "for (ic.inner: int32, 0, 16) {"]),
)  # fmt: skip


def test_33_blocking_step_by_step(tvm: Any, vta: Any) -> None:
    blocked = Blocked(tvm, vta.get_env())
    first = str(tvm.lower(blocked.s, blocked.args, simple_mode=True))
    in_order(first, "for (co: int32, 0, 64) {", "for (ic: int32, 0, 64) {", "for (ic_tns: int32, 0, 16) {")
    for step, wanted in STAGES:
        getattr(blocked, step)()
        in_order(
            tvm.lower(blocked.s, blocked.args, simple_mode=True),
            *wanted,
        )


def test_33_blocking_without_the_reorder_keeps_the_sum_inside(tvm: Any, vta: Any) -> None:
    blocked = Blocked(tvm, vta.get_env())
    blocked.tile()
    blocked.attach()
    blocked.block_inputs(reorder=False)
    in_order(
        tvm.lower(blocked.s, blocked.args, simple_mode=True),
        "for (i1.outer: int32, 0, 4) {", "for (co: int32, 0, 16) {", "for (ci: int32, 0, 16) {",
        "for (ic.outer: int32, 0, 4) {", "for (ic.inner: int32, 0, 16) {", "for (ic_tns: int32, 0, 16) {",
    )  # fmt: skip


def test_33_blocking_tensorised_is_the_documents_stream_and_computes_the_product(tvm: Any, vta: Any) -> None:
    env = vta.get_env()
    blocked = Blocked(tvm, env)
    for step in ("tile", "attach", "block_inputs", "memory", "tensorize"):
        getattr(blocked, step)()
    with vta.build_config(disabled_pass={"tir.CommonSubexprElimTIR"}):
        text = vta.lower(blocked.s, blocked.args, simple_mode=True)
    in_order(
        text,
        "@tir.vta.coproc_dep_push(3, 2, dtype=int32)",
        "for (i1.outer: int32, 0, 4) {",
        "@tir.vta.coproc_dep_pop(3, 2, dtype=int32)",
        '@tir.call_extern("VTAUopLoopBegin", 16, 1, 0, 0, dtype=int32)',
        "@tir.vta.uop_push(0, 1, 0, 0, 0, 0, 0, 0, dtype=int32)",
        "for (ic.outer: int32, 0, 4) {",
        '@tir.call_extern("VTALoadBuffer2D", @tir.tvm_thread_context(@tir.vta.command_handle(, dtype=handle), '
        "dtype=handle), data_2, (ic.outer*16), 16, 1, 16, 0, 0, 0, 0, 0, 2, dtype=int32)",
        '@tir.call_extern("VTALoadBuffer2D", @tir.tvm_thread_context(@tir.vta.command_handle(, dtype=handle), '
        "dtype=handle), weight_2, ((i1.outer*1024) + (ic.outer*16)), 16, 16, 64, 0, 0, 0, 0, 0, 1, dtype=int32)",
        '@tir.call_extern("VTAUopLoopBegin", 16, 1, 0, 16, dtype=int32)',
        '@tir.call_extern("VTAUopLoopBegin", 16, 0, 1, 1, dtype=int32)',
        "@tir.vta.uop_push(1, 0, 0, 0, 0, 3, 1, 8, dtype=int32)",
        "@tir.vta.uop_push(1, 0, 0, 0, 0, 1, 1, 0, dtype=int32)",
        "@tir.vta.uop_push(1, 0, 0, 0, 0, 0, 1, 127, dtype=int32)",
        '@tir.call_extern("VTAStoreBuffer2D"',
        "@tir.vta.coproc_sync(, dtype=int32)",
    )
    rng = np.random.default_rng(8)
    x = rng.integers(-128, 128, [int(n) for n in blocked.data.shape]).astype(env.inp_dtype)
    w = rng.integers(-128, 128, [int(n) for n in blocked.weight.shape]).astype(env.wgt_dtype)
    dev = tvm.ext_dev(0)
    out = tvm.nd.array(np.zeros([int(n) for n in blocked.res.shape], env.inp_dtype), dev)
    vta.build(blocked.s, blocked.args, "ext_dev", env.target_host)(tvm.nd.array(x, dev), tvm.nd.array(w, dev), out)
    product = np.einsum("bkij,ckoj->bcio", x.astype(np.int32), w.astype(np.int32))
    np.testing.assert_array_equal(out.numpy(), np.clip(product >> 8, 0, 127).astype(env.inp_dtype))


def test_411_build_config_and_passes_of_ones_own(tvm: Any, vta: Any) -> None:
    """``tir.add_lower_pass`` has what a script added, and each pass of the document's list is there to call."""
    seen: list[str] = []

    @tvm.tir.transform.prim_func_pass(opt_level=0)  # type: ignore[untyped-decorator]
    def look(func: Any, _mod: Any, _ctx: Any) -> Any:
        seen.append(func.name)
        return func

    env = vta.get_env()
    simple = Simple(tvm, env)
    simple.buffers(env)
    simple.reorder()
    simple.tensorize(env)
    with vta.build_config(config={"tir.add_lower_pass": [(1, look)]}):
        assert tvm.transform.PassContext.current().config.get("tir.add_lower_pass")
        run_product(tvm, vta, vta.build(simple.s, simple.args, "ext_dev", env.target_host))
    assert seen == ["default_function"]
    names = (
        "InjectConv2DTransposeSkip InjectDMAIntrin InjectSkipCopy AnnotateALUCoProcScope LiftAllocToScopeBegin "
        "InjectCoProcSync InjectALUIntrin FoldUopLoop CPUAccessRewrite"
    )
    for name in names.split():
        assert isinstance(getattr(vta.transform, name)(), tvm.transform.Pass)
    assert isinstance(tvm.tir.transform.LiftAttrScope("coproc_uop_scope"), tvm.transform.Pass)
    assert isinstance(tvm.tir.transform.LowerDeviceStorageAccessInfo(), tvm.transform.Pass)


def test_413_the_object_file_calls_the_runtime_by_name(tvm: Any, vta: Any, tmp_path: Path) -> None:
    env = vta.get_env()
    simple = Simple(tvm, env)
    simple.buffers(env)
    simple.reorder()
    simple.tensorize(env)
    my_gemm = vta.build(simple.s, simple.args, "ext_dev", env.target_host, name="my_gemm")
    my_gemm.save(str(tmp_path / "gemm.o"))
    remote = tvm.rpc.LocalSession()
    remote.upload(str(tmp_path / "gemm.o"))
    run_product(tvm, vta, remote.load_module("gemm.o"))
    run_product(tvm, vta, tvm.runtime.load_module(str(tmp_path / "gemm.o")))
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm to list symbols with")
    symbols = subprocess.run([nm, tmp_path / "gemm.o"], capture_output=True, text=True, check=True).stdout
    wanted = "VTADepPop VTADepPush VTALoadBuffer2D VTAStoreBuffer2D VTASynchronize VTATLSCommandHandle VTAUopLoopBegin"
    for name in f"{wanted} VTAUopLoopEnd VTAUopPush".split():
        assert f"U {name}\n" in symbols
    assert " T my_gemm\n" in symbols


def test_413_functions_are_registered_over_others(tvm: Any) -> None:
    @tvm.register_func("test_004.load_module", override=True)  # type: ignore[untyped-decorator]
    def load_module(file_name: str) -> str:
        return f"first {file_name}"

    before = tvm.get_global_func("test_004.load_module")

    @tvm.register_func("test_004.load_module", override=True)  # type: ignore[untyped-decorator]
    def load_module_again(file_name: str) -> str:
        return f"then {before(file_name)}"

    assert tvm.get_global_func("test_004.load_module")("gemm.o") == "then first gemm.o"
    assert (load_module("x"), load_module_again("x")) == ("first x", "then first x")
    with pytest.raises(tvm.TVMError, match=r"there is no global function 'test_004.absent'"):
        tvm.get_global_func("test_004.absent")


def test_414_lowering_a_schedule_gives_a_function_of_the_host(tvm: Any, vta: Any) -> None:
    """Nothing of a program of the accelerator is split off for a device: it calls the runtime from the host."""
    env = vta.get_env()
    simple = Simple(tvm, env)
    mod = vta.lower(simple.s, simple.args)
    assert [type(func) for func in mod.functions.values()] == [tvm.tir.PrimFunc]
    on_host = tvm.tir.transform.Filter(lambda f: "calling_conv" not in f.attrs)(mod)
    assert list(on_host.functions) == list(mod.functions)
    assert tvm.tir.transform.SplitHostDevice()(mod) is not None


def test_413_a_target_builds_a_lowered_module(tvm: Any) -> None:
    """``codegen.build_module(mod, target)``; with ``tir.disable_assert`` its assertions are left out."""
    te = tvm.te
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    mod = tvm.lower(te.create_schedule(b.op), [a, b])
    values, out = np.arange(8, dtype=np.float32), tvm.nd.array(np.zeros(8, np.float32))
    for config in ({}, {"tir.disable_assert": True}):
        with tvm.transform.PassContext(config=config):
            tvm.target.codegen.build_module(mod, "llvm")["main"](tvm.nd.array(values), out)
        np.testing.assert_array_equal(out.numpy(), values + 1)


def test_414_the_passes_of_host_and_device_leave_a_program_of_the_host(tvm: Any, vta: Any) -> None:
    """The document's two lists, as far as they say something here: there is no function for a device."""
    simple, transform = Simple(tvm, vta.get_env()), tvm.tir.transform
    mod = vta.lower(simple.s, simple.args)
    mixed = tvm.transform.Sequential(
        [
            transform.ThreadSync("shared"), transform.ThreadSync("warp"), transform.InferFragment(),
            transform.LowerThreadAllreduce(), transform.SplitHostDevice(),
        ]
    )  # fmt: skip
    mod_mixed = mixed(mod)
    opt_device = tvm.transform.Sequential(
        [
            transform.Filter(
                lambda f: "calling_conv" in f.attrs
                and f.attrs["calling_conv"] == tvm.ir.CallingConv.DEVICE_KERNEL_LAUNCH
            ),
            transform.LowerWarpMemory(), transform.Simplify(),
            transform.LowerDeviceStorageAccessInfo(), transform.LowerCustomDatatypes(), transform.LowerIntrin(),
        ]
    )  # fmt: skip
    assert len(opt_device(mod_mixed).functions) == 0
    assert list(mod_mixed.functions) == list(mod.functions)

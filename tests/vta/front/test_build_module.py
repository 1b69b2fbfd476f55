"""``lower``, ``build`` and ``build_config``. BR-071: the tutorials compile. BR-151: with an empty environment too."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from tests.support.configs import CONFIGS
from tests.support.golden.golden import load_case
from tests.support.golden.spine_cases import matrix_multiply, schedule_case, vector_add
from tests.support.runtime.host_call import defined_and_undefined
from vta import te
from vta.build_module import BuildError, build_generic, lower_generic
from vta.passes.pipelines import PassNameError
from vta.target import Target, TargetError
from vta.tir.expr import Var
from vta.tir.func import IRModule, PrimFunc
from vta.transform import PassContext

ROOT = Path(__file__).resolve().parents[3]


def add_on_the_cpu(n: object) -> tuple[te.Schedule, list[te.Tensor]]:
    a, b = te.placeholder((n,), name="A", dtype="int32"), te.placeholder((n,), name="B", dtype="int32")
    c = te.compute((n,), lambda i: a[i] * 2 + b[i], name="C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], factor=4)
    s[c].vectorize(inner)
    s[c].parallel(outer)
    return s, [a, b, c]


def test_a_lowered_module_prints() -> None:
    scheduled = vector_add(vta.get_env())
    text = str(vta.lower(scheduled.schedule, scheduled.args, simple_mode=True))
    assert text.startswith("@main = primfn(A_1: handle, B_1: handle, C_1: handle) -> ()")
    for line in (
        '@tir.call_extern("VTALoadBuffer2D"', "@tir.vta.uop_push(1, 0, 0, 64, 0, 2, 0, 0, dtype=int32)",
        '@tir.call_extern("VTAStoreBuffer2D"', "@tir.vta.coproc_sync(, dtype=int32)",
    ):  # fmt: skip
        assert line in text


def test_the_generic_passes_show_the_loops() -> None:
    scheduled = matrix_multiply(vta.get_env())
    text = str(lower_generic(scheduled.schedule, scheduled.args, simple_mode=True))
    assert '"pragma_dma_copy"' in text
    assert "VTALoadBuffer2D" not in text
    assert "for (ko: int32, 0, 16)" in text


@pytest.mark.parametrize("n", [12, 13, te.var("n")])
def test_a_program_of_the_cpu_runs(n: object) -> None:
    s, args = add_on_the_cpu(n)
    f = build_generic(s, args, "llvm", name="add")
    size = 13 if isinstance(n, Var) else int(n)
    a, b = np.arange(size, dtype=np.int32), np.full(size, 5, np.int32)
    c = vta.nd.empty((size,), "int32", vta.nd.cpu())
    f(vta.nd.array(a), vta.nd.array(b), c)
    np.testing.assert_array_equal(c.numpy(), a * 2 + b)
    assert not f.entry_func.info.uses_device


def test_vta_build_takes_a_cpu_target_too() -> None:
    s, args = add_on_the_cpu(8)
    for target in ("llvm", Target("llvm -mcpu=generic")):
        assert not vta.build(s, args, target).entry_func.info.uses_device
    with Target("llvm"):
        assert not vta.build(s, args).entry_func.info.uses_device


def test_tvms_positional_arguments() -> None:
    env = vta.get_env()
    scheduled = vector_add(env)
    for module in (
        vta.build(scheduled.schedule, scheduled.args, "ext_dev", env.target_host, name="my_vadd"),
        vta.build(scheduled.schedule, scheduled.args, Target("ext_dev", host=env.target_host), name="my_vadd"),
        vta.build(scheduled.schedule, scheduled.args, name="my_vadd"),
    ):
        assert module.entry_name == "my_vadd"
        assert module.entry_func.info.uses_device


def test_br_153_a_program_with_rounding_is_shown_lowered_and_as_host_code() -> None:
    x = te.placeholder((16,), name="x", dtype="float32")
    scaled = te.compute((16,), lambda i: te.round(x[i] * 8.0), name="scaled")
    q = te.compute((16,), lambda i: te.max(te.min(scaled[i], 127.0), -128.0).astype("int8"), name="q")
    s = te.create_schedule(q.op)
    s[scaled].compute_inline()
    assert "@tir.round(" in str(lower_generic(s, [x, q]))
    module = build_generic(s, [x, q], "llvm", name="quantise")
    assert "llvm.rint.f32" in module.get_source("ll")
    assert "quantise:" in module.get_source("s")
    values = np.linspace(-20, 20, 16).astype(np.float32)
    out = vta.nd.empty((16,), "int8")
    module(vta.nd.array(values), out)
    np.testing.assert_array_equal(out.numpy(), np.clip(np.rint(values * 8), -128, 127).astype(np.int8))


def test_a_lowered_module_can_be_built() -> None:
    scheduled = vector_add(vta.get_env())
    module = vta.build(vta.lower(scheduled.schedule, scheduled.args, name="f"))
    assert module.entry_name == "f"


def test_br_071_a_saved_tutorial_needs_the_recorded_runtime_functions(tmp_path: Path) -> None:
    scheduled = matrix_multiply(vta.get_env())
    vta.build(scheduled.schedule, scheduled.args, name="my_gemm").save(tmp_path / "gemm.o")
    defined, undefined = defined_and_undefined((tmp_path / "gemm.o").read_bytes())
    assert "my_gemm" in defined
    assert undefined == {
        "VTADepPop", "VTADepPush", "VTALoadBuffer2D", "VTAPushGEMMOp", "VTAStoreBuffer2D", "VTASynchronize",
        "VTATLSCommandHandle", "VTAUopLoopBegin", "VTAUopLoopEnd", "VTAUopPush",
    }  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("tutorial", ["tut.vta_get_started", "tut.matrix_multiply", "tut.matrix_multiply_opt"])
def test_br_071_every_tutorial_compiles_in_every_configuration(tutorial: str, name: str) -> None:
    if tutorial.endswith("_opt") and CONFIGS[name].batch > 1:
        return  # its batch is one row
    with vta.Environment(CONFIGS[name]) as env:
        scheduled = schedule_case(load_case("default", tutorial), env)
        assert vta.build(scheduled.schedule, scheduled.args).config == CONFIGS[name]


def test_br_151_a_program_needs_no_environment_variable() -> None:
    script = "import vta, vta.testing; print(vta.get_env().MODEL, vta.rpc.LocalSession().session.device.name)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env={}, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["sim_1x16_i8w8a32_15_15_18_17", "sim"]
    assert "VTA_HW_PATH" not in os.environ


def test_the_debug_flag_reaches_the_runtime(capsys: pytest.CaptureFixture[str]) -> None:
    env = vta.Environment(VTAConfig())
    with env, vta.build_config(debug_flag=env.DEBUG_DUMP_INSN):
        scheduled = vector_add(env)
        text = str(vta.lower(scheduled.schedule, scheduled.args))
        module = vta.build(scheduled.schedule, scheduled.args)
    assert '@tir.call_extern("VTASetDebugMode"' in text
    device = vta.nd.Device(12, 0, env.session)
    shape = (1, 64, 1, 16)
    module(*(vta.nd.array(np.zeros(shape, t), device) for t in ("int32", "int32", "int8")))
    assert "There are 8 instructions" in capsys.readouterr().out


def test_instruments_see_every_pass() -> None:
    seen: list[str] = []
    scheduled = vector_add(vta.get_env())
    with PassContext(instruments=(lambda *result: seen.append(result[0]),)):
        vta.lower(scheduled.schedule, scheduled.args)
    assert "InjectDMAIntrin" in seen
    assert seen.index("InjectDMAIntrin") < seen.index("InjectCoProcSync") < seen.index("InjectALUIntrin")


def test_passes_can_be_left_out_and_unknown_ones_are_refused() -> None:
    scheduled = vector_add(vta.get_env())
    seen: list[str] = []
    with vta.build_config(disabled_pass={"tir.CommonSubexprElimTIR"}):
        with PassContext(instruments=(lambda *result: seen.append(result[0]),)):
            vta.lower(scheduled.schedule, scheduled.args)
        assert "CommonSubexprElimTIR" not in seen
    with vta.build_config(disabled_pass={"tir.CommonSubexpr"}), pytest.raises(PassNameError):
        vta.lower(scheduled.schedule, scheduled.args)


def test_passes_of_tvm_that_are_not_here_may_be_left_out() -> None:
    scheduled = vector_add(vta.get_env())
    plain = str(vta.lower(scheduled.schedule, scheduled.args))
    with vta.build_config(opt_level=3, disabled_pass={"AlterOpLayout", "tir.TextureFlatten"}):
        assert str(vta.lower(scheduled.schedule, scheduled.args)) == plain


def test_br_063_a_users_passes_run_in_their_phases_beside_the_accelerators() -> None:
    def first(func: PrimFunc, config: VTAConfig) -> PrimFunc:
        seen.append(f"first {config.block_in}")
        return func

    def last(func: PrimFunc, config: VTAConfig) -> PrimFunc:
        return replace(func, attrs={**func.attrs, "seen": config.block_in})

    seen: list[str] = []
    scheduled = vector_add(vta.get_env())
    note = PassContext(instruments=(lambda *result: seen.append(result[0]),))
    with note, vta.build_config(config={"tir.add_lower_pass": [(0, first), (3, last)]}):
        module = vta.lower(scheduled.schedule, scheduled.args)
    assert seen[:3] == ["first 16", "first", "InjectConv2DTransposeSkip"]
    assert seen[seen.index("CPUAccessRewrite") + 1] == "last"
    assert module["main"].attrs["seen"] == 16
    with vta.build_config(config={"tir.add_lower_pass": [(4, first)]}), pytest.raises(PassNameError) as error:
        vta.lower(scheduled.schedule, scheduled.args)
    assert str(error.value) == "added pass 'first': there are phases 0 to 3, not 4"


def test_the_target_of_another_environment_is_refused() -> None:
    other = vta.Environment(CONFIGS["b1k8"])
    scheduled = vector_add(vta.get_env())
    with pytest.raises(BuildError) as error:
        vta.build(scheduled.schedule, scheduled.args, other.target)
    assert str(error.value) == (
        f"the target is for {other.MODEL}, and the current environment is {vta.get_env().MODEL}; "
        "build inside `with env:` of the environment that the target came from"
    )


def test_what_cannot_be_built_is_refused() -> None:
    scheduled = vector_add(vta.get_env())
    with pytest.raises(BuildError) as error:
        vta.lower(scheduled.schedule)
    assert str(error.value) == "a schedule has no arguments of its own; give args=[A, B, C]"
    with pytest.raises(BuildError) as error:
        vta.lower(vta.lower(scheduled.schedule, scheduled.args), scheduled.args)
    assert str(error.value) == "a function has its arguments already; args= goes with a schedule"
    with pytest.raises(BuildError) as error:
        vta.lower([1, 2])
    assert str(error.value) == "expected a schedule, a function or a module, got list"
    with pytest.raises(BuildError) as error:
        vta.build(scheduled.schedule, scheduled.args, runtime="crt")
    assert str(error.value) == ("runtime 'crt': host code runs on this toolchain's own runtime; leave runtime= out")
    with pytest.raises(TargetError) as host_error:
        vta.build(scheduled.schedule, scheduled.args, "ext_dev", "c")
    assert str(host_error.value) == "host code is made with llvm, not 'c'; use target_host='llvm'"


def test_a_mock_that_does_nothing_takes_the_arrays_of_the_device() -> None:
    env = vta.get_env().mock
    scheduled = vector_add(env)
    f = vta.build(scheduled.schedule, scheduled.args, env.target, name="nothing")
    device = vta.nd.ext_dev()
    arrays = [vta.nd.empty(t.shape, str(t.dtype), device) for t in scheduled.args]
    arrays[-1].copyfrom(np.full(arrays[-1].shape, 7, np.int8))
    f(*arrays)
    assert (arrays[-1].numpy() == 7).all()


def test_simple_mode_keeps_the_loops_of_a_split_whole() -> None:
    a = te.placeholder((130,), "int32", "a")
    b = te.compute((130,), lambda i: a[i] + 1, "b")
    schedule = te.create_schedule(b.op)
    schedule[b].split(b.op.axis[0], factor=16)
    for lower in (vta.lower, lower_generic):
        assert "likely" in str(lower(schedule, [a, b], simple_mode=True))
        assert "likely" not in str(lower(schedule, [a, b]))


def test_functions_are_called_as_the_module_calls_them() -> None:
    schedule, tensors = add_on_the_cpu(4)
    func = next(iter(lower_generic(schedule, tensors).functions.values()))
    module = build_generic(IRModule({"first": func, "second": func}))
    for name in ("first", "second"):
        out = vta.nd.array(np.zeros(4, np.int32))
        module[name](vta.nd.array(np.ones(4, np.int32)), vta.nd.array(np.ones(4, np.int32)), out)
        assert out.numpy().tolist() == [3] * 4


def test_modules_become_one_and_a_mapping_names_their_target() -> None:
    schedule, tensors = add_on_the_cpu(4)
    first, second = (lower_generic(schedule, tensors, name=name) for name in ("first", "second"))
    assert callable(build_generic([first, second])["second"])
    assert callable(build_generic({"llvm": first})["first"])
    with pytest.raises(BuildError) as error:
        build_generic([first, first])
    assert str(error.value) == "a list of modules: two functions are called 'first'; give them names that differ"
    with pytest.raises(BuildError) as error:
        build_generic([3])  # type: ignore[list-item]
    assert str(error.value) == "a list of modules: expected modules, got int"
    with pytest.raises(BuildError) as error:
        build_generic({"llvm": first, "ext_dev": second})
    assert str(error.value) == (
        "a mapping of targets to modules: expected one target, got 2; call build for each of them"
    )

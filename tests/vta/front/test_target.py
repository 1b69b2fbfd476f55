"""Targets: parsing, printing, the current one."""

import pytest

from vta import te
from vta.build_module import BuildError, build_generic
from vta.target import Target, TargetError, arm_cpu, ext_dev, vta


def test_a_target_string_is_read() -> None:
    target = Target("ext_dev -device=vta -keys=vta,cpu -model=sim_1x16", host="llvm -mcpu=generic")
    assert target.kind == "ext_dev"
    assert target.kind.name == "ext_dev"
    assert target.keys == ("vta", "cpu")
    assert (target.device_name, target.model, target.is_accelerator) == ("vta", "sim_1x16", True)
    assert target.host == Target("llvm -mcpu=generic")
    assert repr(target) == (
        "Target('ext_dev -keys=vta,cpu -device=vta -model=sim_1x16', host='llvm -keys=cpu -mcpu=generic')"
    )


def test_a_target_survives_being_made_again() -> None:
    target = Target("ext_dev -device=vta -keys=vta,cpu", host="llvm")
    assert Target(target) == target
    assert hash(Target(target)) == hash(target)
    assert Target(str(Target("llvm"))) == Target("llvm")
    assert Target({"kind": "llvm", "mcpu": "generic"}) == Target("llvm -mcpu=generic")
    assert Target("llvm") != "llvm"
    assert Target(target, host=Target("llvm -mcpu=a")).host != target.host


def test_short_forms() -> None:
    assert vta("m").device_name == "vta"
    assert (vta().model, ext_dev().model) == ("unknown", "unknown")
    assert arm_cpu("pynq").keys == ("arm_cpu", "cpu")
    assert not Target("llvm").is_accelerator
    assert repr(Target("llvm")) == "Target('llvm -keys=cpu')"


def test_the_current_target_is_that_of_the_innermost_with() -> None:
    assert Target.current() is None
    with Target("llvm") as outer:
        with ext_dev() as inner:
            assert Target.current() is inner
        assert Target.current() is outer
    with pytest.raises(TargetError) as error:
        Target.current(allow_none=False)
    assert str(error.value) == "there is no current target; use `with vta.target.Target(...):`"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("webgpu", "unknown target kind 'webgpu'; known are c, cuda, ext_dev, llvm, metal, opencl, rocm, vulkan"),
        ("", "'' is not a target; expected for example 'llvm' or 'ext_dev -device=vta'"),
        ("llvm mcpu", "target 'llvm mcpu': expected options like -model=NAME, found 'mcpu'"),
        ("llvm -mcqu=x", "target 'llvm -mcqu=x': unknown option -mcqu; did you mean -mcpu?"),
    ],
)
def test_what_is_no_target_is_refused(text: str, message: str) -> None:
    with pytest.raises(TargetError) as error:
        Target(text)
    assert str(error.value) == message
    with pytest.raises(TargetError, match=r"unknown option -zz; known are device"):
        Target("llvm -zz=1")


def test_a_target_says_its_processor() -> None:
    assert (Target("llvm -mcpu=skylake-avx512").mcpu, Target("llvm").mcpu) == ("skylake-avx512", "")


def test_gpus_are_targets_without_code() -> None:
    target = Target("cuda -arch=sm_80 -max_num_threads=1024")
    assert (target.keys, target.is_gpu, target.is_accelerator) == (("cuda", "gpu"), True, False)
    assert str(target) == "cuda -keys=cuda,gpu -arch=sm_80 -max_num_threads=1024"
    assert not Target("llvm").is_gpu
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    with pytest.raises(BuildError) as error:
        build_generic(te.create_schedule(b.op), [a, b], target)
    assert str(error.value) == (
        "target cuda: the program was lowered, and code is made for the CPU ('llvm') and the accelerator ('ext_dev') "
        "alone"
    )

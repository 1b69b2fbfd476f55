"""The compiled module: one a configuration and machine, deterministic, refused where the host cannot run it."""

import re

import llvmlite.binding as llvm
import pytest

from isa.config import VTAConfig
from runtime.sim import code_path as machine_module
from runtime.sim.build import compile_kernels, module_text
from runtime.sim.code_path import Machine, MachineError, host_machine, host_machines
from runtime.sim.gemm_generic import GenericUnit
from tests.support.configs import CONFIGS


def test_kernels_are_compiled_once_for_equal_configurations() -> None:
    first = compile_kernels(VTAConfig(), host_machine())
    assert compile_kernels(VTAConfig(), host_machine()) is first


@pytest.mark.parametrize("name", CONFIGS)
def test_the_text_of_a_module_is_the_same_each_time(name: str) -> None:
    assert module_text(CONFIGS[name], Machine.GENERIC) == module_text(CONFIGS[name], Machine.GENERIC)


@pytest.mark.parametrize(
    ("machine", "instruction"), [(Machine.VNNI, "avx512.vpdpbusd.512"), (Machine.AVX2, "avx2.pmadd.wd")]
)
def test_each_machine_uses_its_instruction(machine: Machine, instruction: str) -> None:
    assert instruction in module_text(VTAConfig(), machine)
    assert "llvm.x86" not in module_text(VTAConfig(), Machine.GENERIC)


def test_the_best_machine_comes_first_and_the_generic_one_always_runs() -> None:
    assert host_machine() is host_machines()[0]
    assert host_machines()[-1] is Machine.GENERIC
    assert set(host_machines()) <= set(Machine)


def test_features_decide_which_machines_a_processor_is() -> None:
    assert Machine.VNNI.supported({"avx512vnni": True, "avx512vl": True, "avx512bw": True})
    assert not Machine.VNNI.supported({"avx512vnni": True, "avx512vl": False, "avx512bw": True})
    assert not Machine.AVX2.supported({})
    assert Machine.GENERIC.supported({})


def test_a_machine_that_the_host_is_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "host_features", lambda: {"avx2": True})
    message = "this processor cannot run the vnni kernels: they need avx512vnni, avx512vl, avx512bw"
    with pytest.raises(MachineError, match=re.escape(message)):
        Machine.VNNI.target()


def test_the_avx2_path_is_compiled_without_avx512(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "host_features", lambda: {"avx2": True, "avx512f": True, "sse2": True})
    assert Machine.AVX2.target() == (llvm.get_host_cpu_name(), "+avx2,-avx512f,+sse2")
    assert Machine.GENERIC.target() == ("", "")


def test_rows_of_fewer_lanes_than_a_vector_use_plain_arithmetic() -> None:
    assert Machine.VNNI.unit(2) == GenericUnit()
    assert Machine.AVX2.unit(1) == GenericUnit()
    assert Machine.VNNI.unit(4) != GenericUnit()

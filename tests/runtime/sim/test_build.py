"""The compiled module: one for each configuration and code path, and deterministic."""

import llvmlite.binding as llvm
import pytest

from isa.config import VTAConfig
from runtime.sim.build import compile_kernels, module_text
from runtime.sim.code_path import CodePath, host_code_path
from tests.support.configs import CONFIGS
from tests.support.odd_configs import ODD_CONFIGS


def test_kernels_are_compiled_once_for_equal_configurations() -> None:
    first = compile_kernels(VTAConfig(), host_code_path())
    assert compile_kernels(VTAConfig(), host_code_path()) is first


@pytest.mark.parametrize("name", CONFIGS)
def test_the_text_of_a_module_is_the_same_each_time(name: str) -> None:
    assert module_text(CONFIGS[name], CodePath.GENERIC) == module_text(CONFIGS[name], CodePath.GENERIC)


@pytest.mark.parametrize(
    ("code_path", "instruction"), [(CodePath.VNNI, "avx512.vpdpbusd.512"), (CodePath.AVX2, "avx2.pmadd.wd")]
)
def test_each_path_uses_its_instruction(code_path: CodePath, instruction: str) -> None:
    assert instruction in module_text(VTAConfig(), code_path)
    assert "llvm.x86" not in module_text(VTAConfig(), CodePath.GENERIC)


@pytest.mark.parametrize("name", ["default", "two_lanes_in", "depthwise", "four_bit"])
@pytest.mark.parametrize("code_path", CodePath)
def test_llvm_takes_the_text_of_every_path_whatever_processor_is_here(name: str, code_path: CodePath) -> None:
    llvm.parse_assembly(module_text({**CONFIGS, **ODD_CONFIGS}[name], code_path)).verify()

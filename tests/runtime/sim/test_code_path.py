"""Code paths: which a processor can run, what is made for them, and the refusal of the others."""

import re

import pytest

from runtime.native.target import CodeTarget, host_cpu
from runtime.sim import code_path as code_path_module
from runtime.sim.code_path import CodePath, CodePathError, host_code_path, host_code_paths
from runtime.sim.gemm_generic import GenericUnit


def test_the_best_path_comes_first_and_the_generic_one_always_runs() -> None:
    assert host_code_path() is host_code_paths()[0]
    assert host_code_paths()[-1] is CodePath.GENERIC
    assert set(host_code_paths()) <= set(CodePath)


def test_features_decide_which_paths_a_processor_runs() -> None:
    assert CodePath.VNNI.supported({"avx512vnni": True, "avx512vl": True, "avx512bw": True})
    assert not CodePath.VNNI.supported({"avx512vnni": True, "avx512vl": False, "avx512bw": True})
    assert not CodePath.AVX2.supported({})
    assert CodePath.GENERIC.supported({})


def test_a_path_that_the_host_cannot_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_path_module, "host_features", lambda: {"avx2": True})
    message = "this processor cannot run the vnni kernels: they need avx512vnni, avx512vl, avx512bw"
    with pytest.raises(CodePathError, match=re.escape(message)):
        CodePath.VNNI.target()


def test_the_avx2_path_is_compiled_without_avx512(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_path_module, "host_features", lambda: {"avx2": True, "avx512f": True, "sse2": True})
    assert CodePath.AVX2.target() == CodeTarget(cpu=host_cpu(), features="+avx2,-avx512f,+sse2", level=1)
    assert CodePath.GENERIC.target() == CodeTarget(cpu="generic", level=1)


def test_rows_of_fewer_lanes_than_a_vector_use_plain_arithmetic() -> None:
    assert CodePath.VNNI.unit(2) == GenericUnit()
    assert CodePath.AVX2.unit(1) == GenericUnit()
    assert CodePath.VNNI.unit(4) != GenericUnit()

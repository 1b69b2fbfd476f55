"""What code is made for; a name that LLVM does not know is a sentence, not the end of the process."""

import platform
import re
import subprocess
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import pytest

from runtime.native.compiling import assembly_of, compile_object
from runtime.native.target import (
    CodeTarget,
    NativeError,
    feature_text,
    host_cpu,
    host_features,
    host_key,
    host_triple,
    target_machine,
)

EMPTY = "define void @f() {\n  ret void\n}\n"


def test_code_is_made_for_the_computer_that_is_asked_for() -> None:
    arm = compile_object(EMPTY, CodeTarget("aarch64-linux-gnu", cpu="generic"))
    assert arm[:4] == b"\x7fELF"
    assert arm[18] == 183  # AArch64


def test_by_default_code_is_for_this_processor_with_all_that_it_has() -> None:
    machine = target_machine(CodeTarget())
    assert machine.triple == host_triple()
    assert host_cpu() == llvm.get_host_cpu_name()
    assert feature_text(host_features()) == llvm.get_host_cpu_features().flatten()


def test_a_triple_that_llvm_does_not_know_is_an_error() -> None:
    with pytest.raises(NativeError, match=r"^target triple 'pdp11-dec-unix' is not one that LLVM knows: "):
        target_machine(CodeTarget("pdp11-dec-unix"))


def test_a_processor_that_llvm_does_not_know_is_an_error_and_ends_nothing() -> None:
    with pytest.raises(NativeError) as error:
        target_machine(CodeTarget("aarch64-linux-gnu", cpu="skylake"))
    assert str(error.value) == ("processor 'skylake' is not one that LLVM knows for aarch64-linux-gnu; -mcpu names it")
    with pytest.raises(NativeError) as error:
        target_machine(CodeTarget("aarch64-linux-gnu", features="+neon,+avx2"))
    assert str(error.value) == "feature '+avx2' is not one that LLVM knows for aarch64-linux-gnu; -mattr names it"
    with pytest.raises(NativeError) as error:
        target_machine(CodeTarget(features="avx2"))
    assert str(error.value) == "processor feature 'avx2': expected a sign before it, '+avx2' or '-avx2'"


def test_an_unknown_feature_beside_one_of_this_processor_is_an_error() -> None:
    known = next(f"+{name}," for name, has in host_features().items() if has)
    with pytest.raises(NativeError) as error:
        target_machine(CodeTarget(features=f"{known}+warp"))
    assert str(error.value) == f"feature '+warp' is not one that LLVM knows for {host_triple()}; -mattr names it"


def test_a_processor_and_features_that_llvm_knows_are_used() -> None:
    text = assembly_of(EMPTY, CodeTarget("armv7-none-linux-gnueabihf", cpu="cortex-a9", features="+neon"))
    assert "cortex-a9" in text


def test_a_strangers_llvmlite_in_the_working_directory_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "llvmlite").mkdir()
    (tmp_path / "llvmlite" / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(NativeError) as error:
        target_machine(CodeTarget(features="+warp"))
    assert str(error.value) == f"feature '+warp' is not one that LLVM knows for {host_triple()}; -mattr names it"
    assert not (tmp_path / "ran").exists()


def test_names_that_llvm_itself_gave_are_not_asked_about_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_process(*arguments: object, **options: object) -> None:
        raise AssertionError(f"a process was started: {arguments} {options}")

    monkeypatch.setattr(subprocess, "run", no_process)
    target_machine(CodeTarget(cpu=host_cpu(), features=feature_text(host_features())))
    target_machine(CodeTarget(cpu="generic", features="+f16c" if platform.machine() == "x86_64" else ""))


def test_a_processor_without_known_features_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> None:
        raise RuntimeError("LLVM cannot tell")

    monkeypatch.setattr(llvm, "get_host_cpu_features", unknown)
    host_features.cache_clear()
    try:
        assert host_features() == {}
    finally:
        host_features.cache_clear()


def test_the_key_of_this_computer_names_llvm_and_the_processor() -> None:
    key = host_key()
    assert llvmlite.__version__ in key
    assert host_cpu() in key
    assert feature_text(host_features()) in key


LOOP = """
target triple = "x86_64-unknown-linux-gnu"
define void @add_one(ptr noalias %from, ptr noalias %to) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %source = getelementptr float, ptr %from, i64 %i
  %value = load float, ptr %source
  %more = fadd float %value, 1.0
  %place = getelementptr float, ptr %to, i64 %i
  store float %more, ptr %place
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, 4096
  br i1 %done, label %end, label %loop
end:
  ret void
}
"""


@pytest.mark.parametrize(
    ("cpu", "features", "widest"),
    [
        ("skylake-avx512", "", "zmm"),
        ("skylake-avx512", "+prefer-256-bit", "ymm"),
        ("haswell", "", "ymm"),
        ("", "", "xmm"),
    ],
)
def test_loops_have_the_widest_vectors_of_the_processor(cpu: str, features: str, widest: str) -> None:
    text = assembly_of(LOOP, CodeTarget("x86_64-unknown-linux-gnu", cpu=cpu, features=features))
    assert max(re.findall("[xyz]mm", text)) == widest

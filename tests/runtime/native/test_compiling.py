"""LLVM assembly to machine code, without anything of TIR."""

import ctypes
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.native.compiling import Passes, assembly_of, compile_object
from runtime.native.linking import link
from runtime.native.target import CodeTarget, NativeError

ROOT = Path(__file__).parents[3]

SUM = """
declare i32 @given(i32)
define i32 @twice(i32 %x) {
  %a = call i32 @given(i32 %x)
  %b = add i32 %a, %a
  ret i32 %b
}
"""


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_level_of_optimisation_compiles(level: int) -> None:
    text = assembly_of(SUM, CodeTarget(level=level))
    assert "twice" in text
    assert "given" in text


def test_a_program_that_llvm_refuses_is_an_error() -> None:
    with pytest.raises(NativeError, match="LLVM refused the program: "):
        compile_object("define i32 @f() { ret i64 0 }", CodeTarget())


SLOTS = """
define i32 @sum(ptr %numbers) {
  %total = alloca i32
  %at = alloca i32
  store i32 0, ptr %total
  store i32 0, ptr %at
  br label %loop
loop:
  %i = load i32, ptr %at
  %place = getelementptr i32, ptr %numbers, i32 %i
  %number = load i32, ptr %place
  %before = load i32, ptr %total
  %after = add i32 %before, %number
  store i32 %after, ptr %total
  %next = add i32 %i, 1
  store i32 %next, ptr %at
  %more = icmp slt i32 %next, 64
  br i1 %more, label %loop, label %leave
leave:
  %result = load i32, ptr %total
  ret i32 %result
}
"""


@pytest.mark.parametrize("passes", Passes)
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_way_of_optimising_keeps_what_is_computed(passes: Passes, level: int) -> None:
    linked = link(compile_object(SLOTS, CodeTarget(level=level), passes), {}, ["sum"], where="slots")
    numbers = (ctypes.c_int32 * 64)(*range(64))
    total = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(linked.address["sum"])
    assert total(ctypes.addressof(numbers)) == 2016


KEPT = """
import resource
from runtime.native.compiling import compile_object
from runtime.native.target import CodeTarget

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

def compile_all(times):
    for _ in range(times):
        compile_object("define void @f() { ret void }", CodeTarget())

compile_all(20)
before = resident()
compile_all(200)
print((resident() - before) // 200)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the resident memory as Linux gives it")
def test_compiling_keeps_no_memory() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run([sys.executable, "-c", KEPT], env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 8192  # bytes a program; llvmlite's own pass builder keeps 1500


@pytest.mark.parametrize("passes", [Passes.TIDY, Passes.SERIAL])
def test_loops_become_vectors_in_the_whole_pipeline_alone(passes: Passes) -> None:
    haswell = CodeTarget("x86_64-unknown-linux-gnu", cpu="haswell")
    assert "ymm" in assembly_of(SLOTS, haswell)
    assert "ymm" not in assembly_of(SLOTS, haswell, passes)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are instructions of x86-64")
@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("llvm.x86.avx512.vpdpbusd.512", "avx512vnni"),
        ("llvm.x86.avx512.pmul.hr.sw.512", "avx512f"),
        ("llvm.x86.avx2.pmul.hr.sw", "avx2"),
    ],
)
def test_an_instruction_that_the_target_lacks_is_refused_before_llvm_ends_the_process(name: str, feature: str) -> None:
    source = f'declare void @"{name}"()\ndefine void @f() {{\n  ret void\n}}\n'
    for make in (compile_object, assembly_of):
        for target in (CodeTarget(cpu="generic"), CodeTarget(cpu=""), CodeTarget(features=f"-{feature}")):
            with pytest.raises(NativeError) as error:
                make(source, target)
            assert str(error.value) == (
                f"the program uses {name}, for which a processor needs {feature}; the target has it not: name a "
                f"processor that does (-mcpu), or the feature (-mattr=+{feature})"
            )

"""LLVM assembly to machine code, without anything of TIR."""

import ctypes
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.native import compiling
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


# LLVM 22 puts an operand behind its use here, where a processor has masked loads.
TURN = """
define void @turn(ptr noalias %from, ptr noalias %to) {
start:
  %rows = alloca [48 x i32]
  br label %i
i:
  %i.at = phi i32 [0, %start], [%i.next, %i.end]
  br label %j
j:
  %j.at = phi i32 [0, %i], [%j.next, %j.end]
  br label %k
k:
  %k.at = phi i32 [0, %j], [%k.next, %k.end]
  br label %l
l:
  %l.at = phi i32 [0, %k], [%l.next, %l]
  %i4 = mul i32 %i.at, 4
  %k24 = mul i32 %k.at, 24
  %l12 = mul i32 %l.at, 12
  %r0 = add i32 %k24, %l12
  %r1 = add i32 %r0, %i4
  %r = add i32 %r1, %j.at
  %r.place = getelementptr i32, ptr %from, i32 %r
  %number = load i32, ptr %r.place
  %less = sub i32 %number, 3
  %j12 = mul i32 %j.at, 12
  %k2 = mul i32 %k.at, 2
  %w0 = add i32 %j12, %i4
  %w1 = add i32 %w0, %k2
  %w = add i32 %w1, %l.at
  %w.place = getelementptr i32, ptr %rows, i32 %w
  store i32 %less, ptr %w.place
  %l.next = add nsw i32 %l.at, 1
  %l.more = icmp slt i32 %l.next, 2
  br i1 %l.more, label %l, label %k.end
k.end:
  %k.next = add nsw i32 %k.at, 1
  %k.more = icmp slt i32 %k.next, 2
  br i1 %k.more, label %k, label %j.end
j.end:
  %j.next = add nsw i32 %j.at, 1
  %j.more = icmp slt i32 %j.next, 4
  br i1 %j.more, label %j, label %i.end
i.end:
  %i.next = add nsw i32 %i.at, 1
  %i.more = icmp slt i32 %i.next, 3
  br i1 %i.more, label %i, label %a
a:
  %a.at = phi i32 [0, %i.end], [%a.next, %a.end]
  br label %b
b:
  %b.at = phi i32 [0, %a], [%b.next, %b.end]
  br label %c
c:
  %c.at = phi i32 [0, %b], [%c.next, %c]
  %a12 = mul i32 %a.at, 12
  %c4 = mul i32 %c.at, 4
  %p0 = add i32 %a12, %c4
  %p = add i32 %p0, %b.at
  %row.place = getelementptr i32, ptr %rows, i32 %p
  %row = load i32, ptr %row.place
  %to.place = getelementptr i32, ptr %to, i32 %p
  store i32 %row, ptr %to.place
  %c.next = add nsw i32 %c.at, 1
  %c.more = icmp slt i32 %c.next, 3
  br i1 %c.more, label %c, label %b.end
b.end:
  %b.next = add nsw i32 %b.at, 1
  %b.more = icmp slt i32 %b.next, 4
  br i1 %b.more, label %b, label %a.end
a.end:
  %a.next = add nsw i32 %a.at, 1
  %a.more = icmp slt i32 %a.next, 4
  br i1 %a.more, label %a, label %leave
leave:
  ret void
}
"""
TURNED = """
import ctypes
from runtime.native.compiling import compile_object
from runtime.native.linking import link
from runtime.native.target import CodeTarget
TURN = open(0).read()
for level in range(4):
    for cpu in ("x86-64-v3", "x86-64-v4"):
        compile_object(TURN, CodeTarget("x86_64-unknown-linux-gnu", cpu, level=level))
    linked = link(compile_object(TURN, CodeTarget(level=level)), {}, ["turn"], where="turn")
    numbers, turned = (ctypes.c_int32 * 48)(*range(48)), (ctypes.c_int32 * 48)()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(linked.address["turn"])(numbers, turned)
    assert list(turned) == [(p % 4) * 12 + (p // 4 % 3) * 4 + p // 12 - 3 for p in range(48)], level
"""


def test_a_program_that_llvm_s_passes_break_is_made_without_the_pass_that_breaks_it() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-c", TURNED]  # in a process of its own: LLVM would end it
    done = subprocess.run(command, env=environment, input=TURN, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_that_no_pass_leaves_valid_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def verify(self) -> None:
            raise RuntimeError("Instruction does not dominate all uses!")

    tried = []
    monkeypatch.setattr(compiling, "_parsed", lambda *_: Broken())
    monkeypatch.setattr(compiling, "_run_passes", lambda *_, straight: tried.append(straight))
    with pytest.raises(NativeError) as error:
        compile_object(SUM, CodeTarget(level=3))
    assert str(error.value) == (
        "LLVM's passes of level 3 made an invalid program (Instruction does not dominate all uses!); take a lower level"
    )
    assert tried == [True, False]


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

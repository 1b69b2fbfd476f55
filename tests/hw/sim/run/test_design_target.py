"""Code of designs chooses by the flags that it was given, where they are vectors to LLVM."""

import ctypes
import random
from typing import Any

import pytest
from amaranth.hdl import Module

from hw.sim import compile_design
from hw.sim.run import compiling
from hw.sim.run.compiling import design_target
from runtime.native.compiling import Passes, compile_object
from runtime.native.linking import link
from runtime.native.target import CodeTarget
from tests.support.hw.inline_design import Small

FLAGS, WAKES = 16, 8
"""Flags that leave words out, and numbers that do so by being zero."""

GREATER = 3
"""The number that leaves its word out by not being zero."""


def _listed(kind: str, values: list[int]) -> str:
    return "<" + ", ".join(f"{kind} {value}" for value in values) + ">"


def chooser(words: list[int], more: list[int]) -> str:
    """Return code that joins those of ``words`` whose flag is not set, and those of ``more`` by the first of 8 numbers.

    That is what LLVM's vectoriser makes of a partition's wakes: comparisons of two kinds, mixed to one vector of flags.
    """
    lines, flags = [], "zeroinitializer"
    for index in range(FLAGS):
        lines += [
            f"%s{index} = lshr i32 %flags, {index}",
            f"%b{index} = trunc i32 %s{index} to i1",
            f"%f{index} = insertelement <{FLAGS} x i1> {flags}, i1 %b{index}, i64 {index}",
        ]
        flags = f"%f{index}"
    mixed = [index if index != GREATER else WAKES + index for index in range(WAKES)]
    zeros = _listed("i32", [0, -1, *[0] * (WAKES - 2)])
    joined = _listed("i32", list(range(FLAGS)))
    lines += [
        f"%numbers = insertelement <8 x i32> {zeros}, i32 %number, i64 0",
        "%equal = icmp eq <8 x i32> zeroinitializer, %numbers",
        "%less = icmp ult <8 x i32> zeroinitializer, %numbers",
        f"%mixed = shufflevector <8 x i1> %equal, <8 x i1> %less, <8 x i32> {_listed('i32', mixed)}",
        f"%many = select <16 x i1> {flags}, <16 x i256> zeroinitializer, <16 x i256> {_listed('i256', words)}",
        f"%few = select <8 x i1> %mixed, <8 x i256> zeroinitializer, <8 x i256> {_listed('i256', more)}",
        f"%low = shufflevector <16 x i256> %many, <16 x i256> poison, <8 x i32> {_listed('i32', list(range(8)))}",
        f"%high = shufflevector <16 x i256> %many, <16 x i256> poison, <8 x i32> {_listed('i32', list(range(8, 16)))}",
        "%both = or <8 x i256> %low, %few",
        f"%all = shufflevector <8 x i256> %both, <8 x i256> %high, <16 x i32> {joined}",
        "%sum = call i256 @llvm.vector.reduce.or.v16i256(<16 x i256> %all)",
        "store i256 %sum, ptr %out",
        "ret void",
    ]
    body = "\n".join(f"  {line}" for line in lines)
    head = "define void @choose(i32 %number, i32 %flags, ptr %out) {\n"
    return f"{head}{body}\n}}\ndeclare i256 @llvm.vector.reduce.or.v16i256(<16 x i256>)\n"


def chosen(words: list[int], more: list[int], number: int, flags: int) -> int:
    """Return what the code of ``chooser`` must store."""
    total = 0
    for index, word in enumerate(words):
        total |= 0 if flags >> index & 1 else word
    for index, word in enumerate(more):
        zero = (number, 1, *[0] * (WAKES - 2))[index] == 0
        total |= 0 if zero != (index == GREATER) else word
    return total


def passed_on(m: Module, io: Any) -> None:
    m.d.comb += io.q.eq(io.a)


def first_wrong(words: list[int], more: list[int], target: CodeTarget) -> tuple[int, int] | None:
    """Return a number and flags that the code of ``chooser`` gets wrong."""
    linked = link(compile_object(chooser(words, more), target, Passes.SERIAL), {}, ["choose"], where="chooser")
    choose = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(linked.address["choose"])
    out = (ctypes.c_uint64 * 4)()
    for number in (0, 1, 1 << 31):
        for flags in (0, (1 << FLAGS) - 1, 0x2A, 0x8001):
            choose(number, flags, ctypes.addressof(out))
            if sum(word << 64 * place for place, word in enumerate(out)) != chosen(words, more, number, flags):
                return number, flags
    return None


def test_flags_that_were_packed_into_vectors_choose_what_they_stand_for() -> None:
    rng = random.Random(47)
    for _ in range(8):
        words, more = ([1 << rng.randrange(224) for _ in range(count)] for count in (FLAGS, WAKES))
        assert first_wrong(words, more, design_target()) is None


def test_designs_are_compiled_without_avx512(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "host_features", lambda: {"avx10.1": True, "avx2": True, "avx512vl": True})
    assert design_target() == CodeTarget(features="-avx10.1,+avx2,-avx512vl")
    monkeypatch.undo()
    targets = []

    def noted(text: str, target: CodeTarget, passes: Passes) -> bytes:
        targets.append(target)
        return compile_object(text, target, passes)

    monkeypatch.setattr(compiling, "compile_object", noted)
    compile_design(Small(passed_on), cache=False)
    assert targets == [design_target()]

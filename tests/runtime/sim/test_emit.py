"""The emitter's arithmetic and control flow, compiled and run."""

from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from runtime.sim.emit import I8, I32, I64, Emitter, Num, vector
from tests.support.runtime.emitted import run_emitted

LARGE = (1 << 64) - 1


@pytest.mark.parametrize(("a", "b"), [(7, 3), (3, 7), (5, 5), (0, LARGE), (LARGE, 0)])
def test_numbers_compute_and_compare_without_sign(a: int, b: int) -> None:
    def body(emit: Emitter) -> Num:
        x, y = emit.arguments["a"], emit.arguments["b"]
        bits = [x < y, x <= y, x > y, x >= y, x.equals(y), x.differs(y), ~(x < y), (x < y) | (x > y), (x < y) & (x > y)]
        packed = emit.num(0)
        for place, bit in enumerate(bits):
            packed = packed | (bit.as_num() << place)
        return packed

    flags = [a < b, a <= b, a > b, a >= b, a == b, a != b, not a < b, a != b, False]
    assert run_emitted(body, a=a, b=b) == sum(flag << place for place, flag in enumerate(flags))
    assert run_emitted(lambda e: e.arguments["a"] - e.arguments["b"], a=a, b=b) == (a - b) & LARGE
    assert run_emitted(lambda e: (e.arguments["a"] + e.arguments["b"]) * 3, a=a, b=b) == (a + b) * 3 & LARGE
    assert run_emitted(lambda e: e.arguments["a"].maximum(e.arguments["b"]), a=a, b=b) == max(a, b)
    assert run_emitted(lambda e: e.arguments["a"].minimum(e.arguments["b"]), a=a, b=b) == min(a, b)


def test_fields_are_cut_and_sign_extended() -> None:
    assert run_emitted(lambda e: (e.arguments["a"] >> 4) & 15, a=0xABC) == 0xB
    assert run_emitted(lambda e: e.arguments["a"].sign_extended(4), a=0xABC) == LARGE - 3
    assert run_emitted(lambda e: e.arguments["a"].negative().select(1, 2), a=LARGE) == 1
    assert run_emitted(lambda e: e.arguments["a"].negative().select(1, 2), a=LARGE >> 1) == 2


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_loop_runs_its_count(count: int) -> None:
    def body(emit: Emitter) -> Num:
        total = emit.variable(100)
        with emit.loop(emit.arguments["n"], begin=1, step=2) as index:
            total.assign(total.num + index)
        return total.num

    assert run_emitted(body, n=count) == 100 + sum(range(1, count, 2))


def test_a_loop_is_left_where_it_says() -> None:
    def body(emit: Emitter) -> Num:
        steps = emit.variable()
        with emit.repeat() as loop:
            loop.stop_if(steps.num.equals(3))
            steps.assign(steps.num + 1)
        return steps.num

    assert run_emitted(body) == 3


@pytest.mark.parametrize(("value", "expected"), [(1, 11), (2, 22), (3, 33)])
def test_branches_choose(value: int, expected: int) -> None:
    def body(emit: Emitter) -> int:
        with emit.when(emit.arguments["v"].equals(1)):
            emit.give(11)
        with emit.choose(emit.arguments["v"].equals(2)) as (two, other):
            with two:
                emit.give(22)
            with other:
                emit.give(33)
        return 0

    def with_return(emit: Emitter) -> Num:
        chosen = emit.variable()
        with emit.choose(emit.arguments["v"].equals(2)) as (two, other):
            with two:
                chosen.assign(22)
            with other:
                chosen.assign(33)
        with emit.when(emit.arguments["v"].equals(1)):
            emit.give(11)
        return chosen.num

    del body
    assert run_emitted(with_return, v=value) == expected


def test_bytes_are_copied_and_filled() -> None:
    data = np.arange(16, dtype=np.uint8)

    def body(emit: Emitter) -> Num:
        at = emit.arguments["at"]
        emit.copy(at + 2, at, emit.num(8))
        emit.fill(at + 12, 9, emit.num(3))
        return emit.read(at, I32)

    assert run_emitted(body, at=data.ctypes.data) == 0x01000100
    assert data.tolist() == [0, 1, 0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 9, 9, 9, 15]


def test_vectors_are_spread_shuffled_and_joined() -> None:
    data = np.arange(1, 17, dtype=np.uint8)

    def body(emit: Emitter) -> int:
        at = emit.arguments["at"]
        parts = [emit.load(at + 2 * i, vector(2, I8)) for i in range(4)]
        joined = emit.joined(parts)
        emit.store(at, emit.shuffle(joined, [7, 6, 5, 4, 3, 2, 1, 0]))
        emit.store(at + 8, emit.splat(emit.load(at + 15, I8), vector(8, I8)))
        return 0

    run_emitted(body, at=data.ctypes.data)
    assert data.tolist() == [8, 7, 6, 5, 4, 3, 2, 1, *[16] * 8]


def test_a_function_is_its_module_s_own_unless_it_is_exported() -> None:
    module = ir.Module()
    assert Emitter(module, "own", ()).finish().linkage == "internal"
    assert Emitter(module, "known", (), exported=True).finish().linkage == ""


def test_a_function_that_returns_nothing_says_so() -> None:
    module = ir.Module()
    assert str(Emitter(module, "f", ("a",)).finish().ftype) == "void (i64)"
    assert str(Emitter(module, "g", (), returns=True).finish(0).ftype) == "i64 ()"


def test_numbers_wrap_and_limits_are_the_smaller_and_the_larger() -> None:
    assert run_emitted(lambda e: e.arguments["a"] << 4, a=LARGE) == LARGE - 15
    assert run_emitted(lambda e: e.arguments["a"].minimum(7), a=7) == 7
    assert run_emitted(lambda e: e.arguments["a"].minimum(7), a=8) == 7
    assert run_emitted(lambda e: e.false().as_num() + e.arguments["a"], a=5) == 5


def test_memory_of_a_function_s_own_is_aligned_and_its_own() -> None:
    def body(emit: Emitter) -> Num:
        one, two = emit.scratch(3), emit.scratch(5)
        emit.fill(one, 1, emit.num(3))
        emit.fill(two, 2, emit.num(5))
        return (emit.read(one, I8) * 1000 + emit.read(one + 2, I8) * 100 + emit.read(two + 4, I8) * 10) + (
            (one | two) & 63
        )

    assert run_emitted(body) == 1120


@pytest.mark.parametrize(("kind", "nbytes"), [(I8, 1), (I32, 4), (I64, 8)])
def test_a_number_is_written_as_its_low_bytes_and_read_without_a_sign(kind: Any, nbytes: int) -> None:
    data = np.full(12, 7, np.uint8)

    def body(emit: Emitter) -> Num:
        emit.write(emit.arguments["at"] + 2, emit.arguments["number"], kind)
        return emit.read(emit.arguments["at"] + 2, kind)

    number = 0xF1F2F3F4F5F6F7F8
    low = number & (1 << 8 * nbytes) - 1
    assert run_emitted(body, at=data.ctypes.data, number=number) == low
    assert data.tobytes() == b"\7\7" + low.to_bytes(nbytes, "little") + b"\7" * (10 - nbytes)

"""Random programs: compiled host code does what the interpreter of TIR does, to the last bit."""

import numpy as np
import pytest

from tests.support.runtime.host_call import call_host
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import BOOL, HANDLE, DType
from vta.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Builtin,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Select,
    Sub,
    Var,
    const,
)
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import InterpreterError, run_func
from vta.tir.stmt import BufferStore, For

N = 24
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint32")
ARITHMETIC = (Add, Sub, Mul, Min, Max)
DIVISION = (FloorDiv, FloorMod, Div, Mod)
COMPARISONS = (EQ, NE, LT, LE, GT, GE)
BITWISE = (Builtin.BITWISE_AND, Builtin.BITWISE_OR, Builtin.BITWISE_XOR)


class Generator:
    """Random expressions over some buffers and the loop variable."""

    def __init__(self, rng: np.random.Generator, buffers: dict[str, Buffer], index: Var) -> None:
        self.rng = rng
        self.buffers = buffers
        self.index = index

    def pick(self, options: tuple[object, ...]) -> object:
        return options[int(self.rng.integers(len(options)))]

    def leaf(self, dtype: str) -> Expr:
        if self.rng.random() < 0.3:
            low, high = DType(dtype).bounds
            small = int(self.rng.integers(max(low, -9), 10))
            return const(small if self.rng.random() < 0.8 else int(self.pick((low, high))), dtype)
        if dtype == "int32" and self.rng.random() < 0.3:
            return self.index
        return self.buffers[dtype].load(self.index)

    def value(self, dtype: str, depth: int) -> Expr:
        """Return a random integer expression."""
        if depth == 0:
            return self.leaf(dtype)
        kind = DType(dtype)
        match int(self.rng.integers(9)):
            case 0 | 1 | 2:
                return self.pick(ARITHMETIC)(self.value(dtype, depth - 1), self.value(dtype, depth - 1))
            case 3:
                divisor = self.value(dtype, depth - 1)
                if self.rng.random() < 0.8:  # mostly one that is not zero
                    divisor = Max(divisor, const(1, dtype))
                return self.pick(DIVISION)(self.value(dtype, depth - 1), divisor)
            case 4:
                source = str(self.pick(INTEGERS))
                return Cast(kind, self.value(source, depth - 1))
            case 5:
                return Select(self.condition(depth - 1), self.value(dtype, depth - 1), self.value(dtype, depth - 1))
            case 6:
                choose = (self.condition(depth - 1), self.value(dtype, depth - 1), self.value(dtype, depth - 1))
                return Call(kind, Builtin.IF_THEN_ELSE, choose)
            case 7:
                operation = self.pick((*BITWISE, Builtin.SHIFT_LEFT, Builtin.SHIFT_RIGHT))
                right = self.value(dtype, depth - 1)
                if operation not in BITWISE:
                    right = FloorMod(right, const(min(kind.bits, 100), dtype))
                return Call(kind, operation, (self.value(dtype, depth - 1), right))
            case _:
                t = Var("t", kind)
                return Let(t, self.value(dtype, depth - 1), Sub(self.value(dtype, depth - 1), t))

    def condition(self, depth: int) -> Expr:
        """Return a random condition."""
        if depth <= 0 or self.rng.random() < 0.5:
            dtype = str(self.pick(INTEGERS))
            return self.pick(COMPARISONS)(self.value(dtype, max(depth - 1, 0)), self.value(dtype, max(depth - 1, 0)))
        match int(self.rng.integers(3)):
            case 0:
                return And(self.condition(depth - 1), self.condition(depth - 1))
            case 1:
                return Or(self.condition(depth - 1), self.condition(depth - 1))
            case _:
                return Not(self.condition(depth - 1))


def edge_values(rng: np.random.Generator, dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, size=N, endpoint=True, dtype=dtype)
    values[::3] = rng.integers(max(info.min, -5), 6, size=len(values[::3])).astype(dtype)
    values[:4] = [info.min, info.max, 0, 1]
    return values


def check(value: Expr, i: Var, buffers: dict[str, Buffer], arrays: list[np.ndarray]) -> None:
    """Run ``out[i] = value`` natively and in the interpreter; both give the same, or both report a division by zero."""
    out = decl_buffer((N,), value.dtype, "out")
    inputs = list(buffers.values())
    params = tuple(Var(b.name, HANDLE) for b in (*inputs, out))
    body = For(i, IntImm(0), IntImm(N), BufferStore(out, value, (i,)))
    function = PrimFunc("f", params, body, dict(zip(params, (*inputs, out), strict=True)))
    native, truth = np.zeros(N, value.dtype), np.zeros(N, value.dtype)
    failure = interpreted(function, [*arrays, truth])
    assert call_host(function, *arrays, native) == failure
    if failure is None:
        np.testing.assert_array_equal(native, truth)


def interpreted(function: PrimFunc, arrays: list[np.ndarray]) -> str | None:
    """Return how compiled code reports what the interpreter stumbled over, None if nothing."""
    try:
        run_func(function, arrays)
    except InterpreterError as error:
        return "function 'f': integer division by zero" if "division by zero" in str(error) else str(error)
    return None


@pytest.mark.parametrize("seed", range(60))
def test_integer_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    buffers = {dtype: decl_buffer((N,), dtype, f"in_{dtype}") for dtype in INTEGERS}
    i = Var("i")
    value = Generator(rng, buffers, i).value(INTEGERS[seed % len(INTEGERS)], 5)
    assert value.dtype == INTEGERS[seed % len(INTEGERS)]
    check(value, i, buffers, [edge_values(rng, name) for name in INTEGERS])


@pytest.mark.parametrize("seed", range(10))
def test_conditions(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    buffers = {dtype: decl_buffer((N,), dtype, f"in_{dtype}") for dtype in INTEGERS}
    i = Var("i")
    value = Generator(rng, buffers, i).condition(4)
    assert value.dtype == BOOL
    check(value, i, buffers, [np.maximum(edge_values(rng, name), 1).astype(name) for name in INTEGERS])

"""Random te programs with what plain numpy says of them, for ``bench.compiler_attack``.

``host``: expressions with conditions, divisions, reductions with start values, split, unrolled, vectorised loops.
``alu``: chains and expressions of corner constants, start values, virtual threads, on tiles of odd shapes.
``gemm``: products with start values and an epilogue, several threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

import vta
from vta import te, tir

__all__ = ["KINDS", "Program", "random_program"]

Array = npt.NDArray[Any]
_CORNERS = (0, 1, -1, 2, 7, 127, 128, -128, 255, 32767, 32768, -32768, -32769, 65535, 1 << 20, 2**31 - 1, -(2**31))


@dataclass(frozen=True, slots=True)
class Program:
    """A schedule, its arguments (the result last), their values, and the result."""

    schedule: Any
    args: Sequence[Any]
    target: str
    inputs: Sequence[Array]
    expected: Array
    text: str


@dataclass(frozen=True, slots=True)
class _Both:
    """A value in te, and its number in numpy (64 bits that hold a 32-bit number)."""

    te: Any
    numpy: Array


def _wrap(value: Array) -> Array:
    result: Array = np.asarray(value).astype(np.int64).astype(np.int32).astype(np.int64)
    return result


def _constant(rng: Random) -> int:
    return rng.choice(_CORNERS) if rng.random() < 0.5 else rng.randint(-300, 300)


def _expression(rng: Random, leaves: Sequence[_Both], depth: int, *, host: bool) -> _Both:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(leaves)
    a = _expression(rng, leaves, depth - 1, host=host)
    if rng.random() < 0.55:
        number = _constant(rng)
        b = _Both(te.const(number, "int32"), np.asarray(number, np.int64))
    else:
        b = _expression(rng, leaves, depth - 1, host=host)
    choice = rng.randrange(12 if host else 7)
    return _OPERATIONS[choice](rng, a, b)


def _shift(rng: Random, a: _Both, _: _Both) -> _Both:
    places = rng.randint(0, 31)
    return _Both(a.te >> places, a.numpy >> places)


def _left(rng: Random, a: _Both, _: _Both) -> _Both:
    places = rng.randint(0, 31)
    return _Both(a.te << places, _wrap(a.numpy << places))


def _divisor(rng: Random) -> int:
    return rng.choice((1, 2, 3, 7, 8, 16, 100, -1, -2, -3, -8))


def _floordiv(rng: Random, a: _Both, _: _Both) -> _Both:
    number = _divisor(rng)
    return _Both(te.floordiv(a.te, number), _wrap(a.numpy // number))


def _floormod(rng: Random, a: _Both, _: _Both) -> _Both:
    number = _divisor(rng)
    return _Both(te.floormod(a.te, number), a.numpy % number)


def _narrow(rng: Random, a: _Both, _: _Both) -> _Both:
    kind = rng.choice(("int8", "int16", "uint8"))
    return _Both(a.te.astype(kind).astype("int32"), np.asarray(a.numpy).astype(kind).astype(np.int64))


def _choice(rng: Random, a: _Both, b: _Both) -> _Both:
    number = _constant(rng)
    condition = np.asarray(a.numpy) < number
    chosen = rng.choice((te.if_then_else, tir.Select))
    return _Both(chosen(a.te < te.const(number, "int32"), b.te, a.te), np.where(condition, b.numpy, a.numpy))


def _equal(rng: Random, a: _Both, b: _Both) -> _Both:
    test = tir.EQ(a.te, b.te) if rng.random() < 0.5 else tir.NE(a.te, b.te)
    truth = np.equal(a.numpy, b.numpy) if isinstance(test, tir.EQ) else np.not_equal(a.numpy, b.numpy)
    return _Both(te.if_then_else(test, te.const(5, "int32"), a.te), np.where(truth, 5, a.numpy))


_OPERATIONS: tuple[Callable[[Random, _Both, _Both], _Both], ...] = (
    lambda _, a, b: _Both(a.te + b.te, _wrap(a.numpy + b.numpy)),
    lambda _, a, b: _Both(a.te - b.te, _wrap(a.numpy - b.numpy)),
    lambda _, a, b: _Both(a.te * b.te, _wrap(a.numpy * b.numpy)),
    lambda _, a, b: _Both(te.max(a.te, b.te), np.maximum(a.numpy, b.numpy)),
    lambda _, a, b: _Both(te.min(a.te, b.te), np.minimum(a.numpy, b.numpy)),
    _shift,
    _left,
    _floordiv,
    _floormod,
    _narrow,
    _choice,
    _equal,
)


def _only_read(s: Any, tensors: Sequence[Any]) -> list[Any]:
    """Return those of ``tensors`` that the program needs: an expression may leave some out."""
    there = {id(stage.op) for stage in s.stages}
    return [tensor for tensor in tensors if id(tensor.op) in there]


def _data(rng: Random, shape: Sequence[int]) -> Array:
    numbers = np.random.default_rng(rng.getrandbits(60))
    if rng.random() < 0.3:
        return numbers.choice(np.array(_CORNERS), size=shape).astype(np.int32)
    reach = rng.choice((1 << 7, 1 << 15, 1 << 31))
    return numbers.integers(-reach, reach, shape).astype(np.int32)


def host(rng: Random) -> Program:
    """An expression of two tensors, perhaps reduced, perhaps read through a stage that is inlined."""
    rows, columns = rng.randint(1, 9), rng.randint(1, 40)
    shape = (rows, columns)
    values = [_data(rng, shape) for _ in range(2)]
    tensors = [te.placeholder(shape, "int32", name) for name in "ab"]
    seed, depth = rng.getrandbits(40), rng.randint(1, 4)

    def element(i: Any, j: Any, arrays: Sequence[Array]) -> _Both:
        leaves = [_Both(t[i, j], a.astype(np.int64)) for t, a in zip(tensors, arrays, strict=True)]
        return _expression(Random(seed), leaves, depth, host=True)

    middle = te.compute(shape, lambda i, j: element(i, j, values).te, "middle")
    number = np.broadcast_to(element(0, 0, values).numpy, shape)
    if rng.random() < 0.5:
        start, weight = _constant(rng), rng.randint(-3, 3)
        k = te.reduce_axis((0, columns), "k")
        kind = rng.choice(("sum", "max", "min"))
        combine = {"sum": te.sum, "max": te.max, "min": te.min}[kind]
        result = te.compute(
            (rows,),
            lambda i: combine(middle[i, k] * weight, axis=k, init=te.const(start, "int32")),
            "result",
        )
        each = _wrap(number * weight)
        if kind == "sum":
            expected = _wrap(each.sum(axis=1) + start)
        else:
            expected = {"max": np.maximum, "min": np.minimum}[kind](
                each.max(1) if kind == "max" else each.min(1), start
            )
    else:
        result = te.compute(shape, lambda i, j: middle[i, j] + i - j, "result")
        expected = _wrap(number + np.arange(rows)[:, None] - np.arange(columns))
    s = te.create_schedule(result.op)
    if rng.random() < 0.5 and _only_read(s, [middle]):
        s[middle].compute_inline()
    outer, inner = s[result].split(result.op.axis[-1], factor=rng.randint(1, 9))
    if rng.random() < 0.4:
        rng.choice((s[result].vectorize, s[result].unroll))(inner)
    if rng.random() < 0.3:
        s[result].parallel(outer)
    read = _only_read(s, tensors)
    inputs = [value for tensor, value in zip(tensors, values, strict=True) if any(tensor is one for one in read)]
    return Program(s, [*read, result], "llvm", inputs, expected.astype(np.int32), f"host {shape} depth {depth}")


def _element(rng: Random, sources: Sequence[Any], numbers: Sequence[Array]) -> Callable[[Sequence[Any]], _Both]:
    """Return an element of a stage that reads two of ``sources``."""
    seed, depth = rng.getrandbits(40), rng.randint(1, 3)
    picked = [rng.randrange(len(sources)) for _ in range(2)]
    known = [numbers[place] for place in picked]

    def element(index: Sequence[Any]) -> _Both:
        leaves = [_Both(sources[place](*index), number) for place, number in zip(picked, known, strict=True)]
        return _expression(Random(seed), leaves, depth, host=False)

    return element


def alu(rng: Random) -> Program:
    """A chain of stages on the tensor ALU, whose loops are tiled and taken by threads."""
    env = vta.get_env()
    dims = [rng.randint(1, 7) for _ in range(rng.randint(1, 3))]
    shape = (*dims, env.BATCH, env.BLOCK_OUT)
    values = [_data(rng, shape) for _ in range(2)]
    tensors = [te.placeholder(shape, "int32", name) for name in "ab"]
    loads = [te.compute(shape, lambda *i, t=t: t(*i), f"{t.name}_load") for t in tensors]
    numbers = [value.astype(np.int64) for value in values]
    stages: list[Any] = []
    for number in range(rng.randint(1, 4)):
        element = _element(rng, [*loads, *stages], numbers)
        stages.append(te.compute(shape, lambda *i, f=element: f(i).te, f"stage{number}"))
        numbers.append(np.broadcast_to(element([0] * len(shape)).numpy, shape))
    result = te.compute(shape, lambda *i: stages[-1](*i).astype("int8"), "result")
    s = te.create_schedule(result.op)
    outer, inner = s[result].split(result.op.axis[0], factor=rng.randint(1, 8))
    threads = rng.randint(1, 3)
    place = outer
    if threads > 1:
        place, thread = s[result].split(outer, factor=threads)
        s[result].reorder(thread, place, inner)
        s[result].bind(thread, te.thread_axis("cthread"))
    for stage in _only_read(s, [*loads, *stages]):
        s[stage].set_scope(env.acc_scope)
        s[stage].compute_at(s[result], place)
        s[stage].pragma(s[stage].op.axis[0], env.dma_copy if stage in loads else env.alu)
    s[result].pragma(inner, env.dma_copy)
    text = f"alu {dims}, {len(stages)} stages, {threads} threads"
    read = _only_read(s, tensors)
    inputs = [value for tensor, value in zip(tensors, values, strict=True) if any(tensor is one for one in read)]
    return Program(s, [*read, result], "vta", inputs, numbers[-1].astype(np.int8), text)


def gemm(rng: Random) -> Program:
    """A product that starts at a number, and steps after it."""
    env = vta.get_env()
    o, m, n = rng.randint(1, 5), rng.randint(1, 5), rng.randint(1, 5)
    a = te.placeholder((o, n, env.BATCH, env.BLOCK_IN), env.inp_dtype, "a")
    w = te.placeholder((m, n, env.BLOCK_OUT, env.BLOCK_IN), env.wgt_dtype, "w")
    numbers = np.random.default_rng(rng.getrandbits(60))
    values = [numbers.integers(-128, 128, [int(e) for e in t.shape]).astype(np.int8) for t in (a, w)]
    a_load, w_load = (te.compute(t.shape, lambda *i, t=t: t(*i), f"{t.name}_load") for t in (a, w))
    ko, ki = te.reduce_axis((0, n), "ko"), te.reduce_axis((0, env.BLOCK_IN), "ki")
    shape = (o, m, env.BATCH, env.BLOCK_OUT)
    product = te.compute(
        shape,
        lambda x, y, b, c: te.sum(
            a_load[x, ko, b, ki].astype("int32") * w_load[y, ko, c, ki].astype("int32"), axis=[ko, ki]
        ),
        "product",
    )
    seed, depth = rng.getrandbits(40), rng.randint(1, 3)
    exact = np.einsum("xkbi,ykci->xybc", values[0].astype(np.int64), values[1].astype(np.int64))

    def after(index: Sequence[Any]) -> _Both:
        return _expression(Random(seed), [_Both(product(*index), exact)], depth, host=False)

    step = te.compute(shape, lambda *i: after(i).te + product(*i), "step")
    result = te.compute(shape, lambda *i: step(*i).astype("int8"), "result")
    s = te.create_schedule(result.op)
    outer, inner = s[result].split(result.op.axis[1], factor=rng.randint(1, 5))
    s[result].reorder(outer, result.op.axis[0], inner)
    place = outer
    threads = rng.randint(1, 2)
    if threads > 1:
        place, thread = s[result].split(outer, factor=threads)
        s[result].reorder(thread, place, result.op.axis[0], inner)
        s[result].bind(thread, te.thread_axis("cthread"))
    for stage, scope in ((a_load, env.inp_scope), (w_load, env.wgt_scope)):
        s[stage].set_scope(scope)
        s[stage].pragma(s[stage].op.axis[0], env.dma_copy)
    for stage in (product, step):
        s[stage].set_scope(env.acc_scope)
        s[stage].compute_at(s[result], place)
    x, y, b, c = product.op.axis
    s[product].reorder(ko, x, y, b, c, ki)
    for load in (a_load, w_load):
        s[load].compute_at(s[product], ko)
    s[product].tensorize(b, env.gemm)
    s[step].pragma(step.op.axis[0], env.alu)
    s[result].pragma(result.op.axis[0], env.dma_copy)
    expected = _wrap(after([0] * 4).numpy + exact).astype(np.int8)
    return Program(s, [a, w, result], "vta", values, expected, f"gemm {o}x{n}x{m}, {threads} threads")


KINDS: dict[str, Callable[[Random], Program]] = {"host": host, "alu": alu, "gemm": gemm}


def random_program(rng: Random, index: int) -> Program:
    """Return program ``index``: the kinds take turns."""
    return list(KINDS.values())[index % len(KINDS)](rng)

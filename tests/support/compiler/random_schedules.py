"""Random GEMM and ALU programs with random schedules, each with its numpy answer.

Shapes that no tutorial has: tiles that do not divide, loads at any legal loop, one to four virtual threads, the
reduction anywhere outside of the tensor instruction. Everything follows from the seed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.support.compiler.alu_expressions import as_expression, as_numpy
from vta import te
from vta.environment import Environment
from vta.passes.alu.kinds import AluKind
from vta.te import Schedule, Tensor

__all__ = ["Case", "random_alu", "random_gemm"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A schedule with its arguments (the output last), its inputs, what numpy says, and a line for messages."""

    schedule: Schedule
    args: list[Tensor]
    inputs: list[Array]
    expected: Array
    text: str


@dataclass(frozen=True, slots=True)
class _Step:
    """One element-wise stage: an operation applied with a constant."""

    kind: AluKind
    constant: int

    def te(self, x: Any) -> Any:
        return as_expression(self.kind, x, self.constant)

    def numpy(self, x: Array) -> Array:
        return as_numpy(self.kind, x, self.constant)

    def __str__(self) -> str:
        return f"{self.kind.name} {self.constant}"


_SMALL = {
    AluKind.SHR: (0, 12), AluKind.SHL: (0, 5), AluKind.MUL: (-9, 9), AluKind.ADD: (-300, 300), AluKind.SUB: (-300, 300),
}  # fmt: skip
_OTHERS = (-500, 500)


def _random_steps(rng: np.random.Generator, most: int) -> list[_Step]:
    steps = []
    for _ in range(int(rng.integers(0, most + 1))):
        kind = list(AluKind)[int(rng.integers(len(AluKind)))]
        low, high = _SMALL.get(kind, _OTHERS)
        if (kind is AluKind.ADD or kind not in _SMALL) and rng.random() < 0.15:
            low, high = -100_000, 100_000  # beyond the 16 bits of an immediate
        constant = int(rng.integers(low, high))
        if kind is AluKind.MUL and constant == 0:
            constant = 7  # a product with 0 folds away, and everything before it with it
        steps.append(_Step(kind, constant))
    return steps


def _operand(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    bits = int(dtype.removeprefix("int"))
    reach = 1 << (min(bits, 16) - 1)
    return rng.integers(-reach, reach, size=shape).astype(dtype)


def _elementwise(x: Tensor, step: _Step, name: str) -> Tensor:
    return te.compute(x.shape, lambda *i: step.te(x(*i)), name=name)


class _Tiling:
    """The output's loops: random tiles of the first axes, random order outside, perhaps a virtual thread."""

    def __init__(self, s: Schedule, out: Tensor, extents: list[int], rng: np.random.Generator) -> None:
        self.outer: list[Any] = []
        inner = []
        self.text = ""
        for axis, extent in zip(s[out].op.axis, extents, strict=False):
            factor = int(rng.integers(1, extent + 2))
            xo, xi = s[out].split(axis, factor=factor)
            self.outer.append(xo)
            inner.append(xi)
            self.text += f" tile {factor} of {extent}"
        rng.shuffle(self.outer)
        threads = int(rng.integers(1, 5))
        if threads > 1:
            place = int(rng.integers(len(self.outer)))
            rest, thread = s[out].split(self.outer[place], factor=threads)
            self.outer[place] = rest
            s[out].reorder(thread, *self.outer, *inner)
            s[out].bind(thread, te.thread_axis("cthread"))
            self.text += f" threads {threads}"
        else:
            s[out].reorder(*self.outer, *inner)
        self.inner = inner


def random_gemm(env: Environment, seed: int) -> Case:
    """Return a matrix product with an element-wise epilogue, scheduled at random."""
    rng = np.random.default_rng(seed)
    o, m, n = (int(rng.integers(1, high)) for high in (4, 7, 7))
    a = te.placeholder((o, n, env.BATCH, env.BLOCK_IN), name="A", dtype=env.inp_dtype)
    w = te.placeholder((m, n, env.BLOCK_OUT, env.BLOCK_IN), name="W", dtype=env.wgt_dtype)
    a_buf = te.compute(a.shape, lambda *i: a(*i), name="A_buf")
    w_buf = te.compute(w.shape, lambda *i: w(*i), name="W_buf")
    ko = te.reduce_axis((0, n), name="ko")
    ki = te.reduce_axis((0, env.BLOCK_IN), name="ki")
    shape = (o, m, env.BATCH, env.BLOCK_OUT)
    product = te.compute(
        shape,
        lambda bo, co, bi, ci: te.sum(
            a_buf[bo, ko, bi, ki].astype(env.acc_dtype) * w_buf[co, ko, ci, ki].astype(env.acc_dtype), axis=[ko, ki]
        ),
        name="product",
    )
    steps = _random_steps(rng, 3)
    stages = [product]
    for number, step in enumerate(steps):
        stages.append(_elementwise(stages[-1], step, f"step{number}"))
    out = te.compute(shape, lambda *i: stages[-1](*i).astype(env.out_dtype), name="out")

    s = te.create_schedule(out.op)
    tiling = _Tiling(s, out, [o, m], rng)
    attach = tiling.outer[-1] if rng.random() < 0.8 else tiling.outer[0]
    for stage in stages:
        s[stage].set_scope(env.acc_scope)
        s[stage].compute_at(s[out], attach)
    for stage in stages[1:]:
        s[stage].pragma(s[stage].op.axis[0], env.alu)
    bo, co, bi, ci = s[product].op.axis
    tile_k = int(rng.integers(1, n + 2))
    ko_out, ko_in = s[product].split(ko, factor=tile_k)
    loops = [ko_out, bo, co, ko_in]
    order = [loops[i] for i in rng.permutation(4)]
    if order.index(ko_out) > order.index(ko_in) and rng.random() < 0.5:
        order = [ko_in if x is ko_out else ko_out if x is ko_in else x for x in order]
    s[product].reorder(*order, bi, ci, ki)
    places = []
    for buffer, scope in ((a_buf, env.inp_scope), (w_buf, env.wgt_scope)):
        s[buffer].set_scope(scope)
        place = int(rng.integers(-1, 4))
        places.append(place)
        if place >= 0:
            s[buffer].compute_at(s[product], order[place])
        else:
            s[buffer].compute_at(s[out], attach)
        s[buffer].pragma(s[buffer].op.axis[0], env.dma_copy)
    s[product].tensorize(bi, env.gemm)
    s[out].pragma([*tiling.inner, s[out].op.axis[2]][int(rng.integers(3))], env.dma_copy)

    data = [_operand(rng, tuple(int(e) for e in t.shape), str(t.dtype)) for t in (a, w)]
    expected = np.einsum("onbi,mnji->ombj", data[0].astype(np.int32), data[1].astype(np.int32), dtype=np.int32)
    for step in steps:
        expected = step.numpy(expected)
    names = {id(ko_out): "ko_out", id(bo): "bo", id(co): "co", id(ko_in): "ko_in"}
    text = (
        f"gemm seed {seed}: o={o} m={m} n={n}{tiling.text}; tile_k {tile_k}, order {[names[id(x)] for x in order]}, "
        f"loads at {places}; {', '.join(map(str, steps))}"
    )
    return Case(s, [a, w, out], data, expected.astype(env.out_dtype), text)


def random_alu(env: Environment, seed: int) -> Case:
    """Return a chain of element-wise stages on one or two int32 tensors, scheduled at random."""
    rng = np.random.default_rng(seed)
    dims = [int(rng.integers(1, 8)) for _ in range(int(rng.integers(2, 4)))]
    shape = (*dims, env.BATCH, env.BLOCK_OUT)
    inputs = [te.placeholder(shape, name=f"x{i}", dtype=env.acc_dtype) for i in range(int(rng.integers(1, 3)))]
    loads = [te.compute(shape, lambda *i, x=x: x(*i), name=f"{x.name}_buf") for x in inputs]
    steps = [*_random_steps(rng, 3), _Step(AluKind.ADD, int(rng.integers(-9, 9)))]
    joins = [kind for kind in AluKind if kind not in (AluKind.SHL, AluKind.SHR)]
    join = joins[int(rng.integers(len(joins)))] if len(loads) == 2 else None
    stages: list[Tensor] = []
    current = loads[0]
    if join is not None:
        current = te.compute(shape, lambda *i: as_expression(join, loads[0](*i), loads[1](*i)), name="joined")
        stages.append(current)
    fused = bool(rng.random() < 0.4)
    if fused:
        source = current

        def chain(*i: Any) -> Any:
            value = source(*i)
            for step in steps:
                value = step.te(value)
            return value

        current = te.compute(shape, chain, name="chain")
        stages.append(current)
    else:
        for number, step in enumerate(steps):
            current = _elementwise(current, step, f"step{number}")
            stages.append(current)
    last = current
    out = te.compute(shape, lambda *i: last(*i).astype(env.out_dtype), name="out")

    s = te.create_schedule(out.op)
    tiling = _Tiling(s, out, dims, rng)
    place = int(rng.integers(len(tiling.outer)))
    for stage in (*loads, *stages):
        s[stage].set_scope(env.acc_scope)
        s[stage].compute_at(s[out], tiling.outer[place])
    for load in loads:
        s[load].pragma(s[load].op.axis[0], env.dma_copy)
    for stage in stages:
        s[stage].pragma(s[stage].op.axis[0], env.alu)
    s[out].pragma(tiling.inner[int(rng.integers(len(tiling.inner)))], env.dma_copy)

    data = [_operand(rng, shape, env.acc_dtype) for _ in inputs]
    expected = data[0]
    if join is not None:
        expected = as_numpy(join, data[0], data[1])
    for step in steps:
        expected = step.numpy(expected)
    joined = "" if join is None else join.name
    text = f"alu seed {seed}: {dims}{tiling.text}; attach {place}; {joined} {', '.join(map(str, steps))}, fused {fused}"
    return Case(s, [*inputs, out], data, expected.astype(env.out_dtype), text)

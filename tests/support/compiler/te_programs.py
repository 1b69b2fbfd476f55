"""Small te programs with their results in numpy, and random schedules for them.

Everything is int32 and exact. A program's stages read one another at shifted, strided, swapped, flattened and padded
positions, and reduce; a schedule splits (also by factors that do not divide), fuses, reorders, attaches, inlines,
caches and binds wherever that is legal. All randomness comes from the ``random.Random`` that is passed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from vta import te
from vta.te.relations import Role
from vta.te.stage import AttachAt, Stage
from vta.tir.expr import Expr, IterVar
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.verify import verify

__all__ = ["Program", "lower_and_run", "random_product", "random_program", "random_schedule"]

Array = np.ndarray


@dataclass
class Program:
    """Inputs with their values, the stages between, and the output with the value it must get."""

    inputs: list[tuple[te.Tensor, Array]]
    output: te.Tensor
    expected: Array
    stages: list[te.Tensor] = field(default_factory=list)


Grow = Callable[[Random, te.Tensor, Array, str], tuple[te.Tensor, Array]]


def _scaled(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    c = rng.randint(2, 5)
    return te.compute(t.shape, lambda *i: t(*i) * c + 1, name), v * c + 1


def _shifted(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    d = rng.randrange(v.ndim)
    k = rng.randint(1, 3)
    if v.shape[d] <= k + 1:
        return _scaled(rng, t, v, name)
    shape = [n - k if i == d else n for i, n in enumerate(v.shape)]
    new = te.compute(shape, lambda *i: t(*i) + t(*(x + k if n == d else x for n, x in enumerate(i))) * 2, name)
    a, b = np.split(np.moveaxis(v, d, 0), [shape[d]])[0], np.moveaxis(v, d, 0)[k:]
    return new, np.moveaxis(a + b * 2, 0, d)


def _strided(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    d = rng.randrange(v.ndim)
    step = rng.randint(2, 3)
    count = (v.shape[d] - 1) // step + 1
    shape = [count if i == d else n for i, n in enumerate(v.shape)]
    new = te.compute(shape, lambda *i: t(*(x * step if n == d else x for n, x in enumerate(i))), name)
    return new, np.moveaxis(np.moveaxis(v, d, 0)[::step], 0, d)


def _repeated(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    d = rng.randrange(v.ndim)
    if v.size > 200:
        return _strided(rng, t, v, name)
    shape = [n * 2 if i == d else n for i, n in enumerate(v.shape)]
    new = te.compute(shape, lambda *i: t(*((x + 1) // 3 if n == d else x for n, x in enumerate(i))), name)
    index = (np.arange(shape[d]) + 1) // 3
    return new, np.moveaxis(np.moveaxis(v, d, 0)[index], 0, d)


def _swapped(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    order = list(range(v.ndim))
    rng.shuffle(order)
    shape = [v.shape[p] for p in order]
    new = te.compute(shape, lambda *i: t(*(i[order.index(d)] for d in range(v.ndim))) - 3, name)
    return new, v.transpose(order) - 3


def _flattened(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    if v.ndim != 2:
        return _reshaped(rng, t, v, name)
    n = v.shape[1]
    return te.compute((v.size,), lambda i: t(i // n, i % n), name), v.reshape(-1)


def _reshaped(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    if v.ndim != 1 or v.size < 4:
        return _scaled(rng, t, v, name)
    n = rng.choice([k for k in range(1, 9) if v.size % k == 0])
    return te.compute((v.size // n, n), lambda i, j: t(i * n + j), name), v.reshape(-1, n)


def _padded(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    d = rng.randrange(v.ndim)
    low, high = rng.randint(0, 2), rng.randint(0, 2)
    size = v.shape[d]
    shape = [n + low + high if i == d else n for i, n in enumerate(v.shape)]

    def body(*i: Any) -> Any:
        inside = te.all(i[d] >= low, i[d] < low + size)
        return te.if_then_else(inside, t(*(x - low if n == d else x for n, x in enumerate(i))), te.const(-7, "int32"))

    widths = [(low, high) if i == d else (0, 0) for i in range(v.ndim)]
    return te.compute(shape, body, name), np.pad(v, widths, constant_values=-7)


def _summed(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    d = rng.randrange(v.ndim)
    k = te.reduce_axis((0, v.shape[d]), f"{name}_k")
    shape = [n for i, n in enumerate(v.shape) if i != d]

    def body(*i: Any) -> Any:
        indices = list(i)
        indices.insert(d, k)
        return te.sum(t(*indices), axis=k)

    return te.compute(shape, body, name), v.sum(axis=d, dtype=np.int32)


def _windowed(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    d = rng.randrange(v.ndim)
    width = min(rng.randint(2, 4), v.shape[d])
    k = te.reduce_axis((0, width), f"{name}_k")
    shape = [n - width + 1 if i == d else n for i, n in enumerate(v.shape)]
    new = te.compute(shape, lambda *i: te.max(t(*(x + k if n == d else x for n, x in enumerate(i))), axis=k), name)
    windows = np.lib.stride_tricks.sliding_window_view(v, width, axis=d)
    return new, windows.max(axis=-1)


def _conditional(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    k = te.reduce_axis((1, v.shape[0]), f"{name}_k") if v.shape[0] > 1 else te.reduce_axis((0, 1), f"{name}_k")
    start = 1 if v.shape[0] > 1 else 0
    new = te.compute(v.shape[1:], lambda *i: te.sum(t(k, *i), axis=k, where=(k % 2).asexpr() < 1), name)
    return new, v[start:][(np.arange(start, v.shape[0]) % 2) < 1].sum(axis=0, dtype=np.int32)


def _prefix(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    def body(*i: Any) -> Any:
        k = te.reduce_axis((0, i[0] + 1), f"{name}_k")
        return te.sum(t(k, *i[1:]), axis=k)

    return te.compute(v.shape, body, name), v.cumsum(axis=0, dtype=np.int32)


def _pooled(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    """Sum over adaptive windows of the first dimension: their place and size depend on the output's index."""
    n = v.shape[0]
    m = rng.randint(1, n)
    starts = [i * n // m for i in range(m)]
    ends = [-(-(i + 1) * n // m) for i in range(m)]

    def body(*i: Any) -> Any:
        first, end = i[0] * n // m, ((i[0] + 1) * n + m - 1) // m
        k = te.reduce_axis((0, end - first), f"{name}_k")
        return te.sum(t(first + k, *i[1:]), axis=k)

    expected = np.stack([v[a:b].sum(axis=0, dtype=np.int32) for a, b in zip(starts, ends, strict=True)])
    return te.compute((m, *v.shape[1:]), body, name), expected


def _gathered(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    """Read the first dimension where the elements themselves say."""
    last = v.shape[0] - 1

    def body(*i: Any) -> Any:
        return t(te.max(te.min(t(*i), last), 0), *i[1:])

    where = np.clip(v, 0, last)
    return te.compute(v.shape, body, name), np.take_along_axis(v, where, axis=0)


def _largest_with_place(rng: Random, t: te.Tensor, v: Array, name: str) -> tuple[te.Tensor, Array]:
    """Reduce two values together, and use both."""
    k = te.reduce_axis((0, v.shape[0]), f"{name}_k")

    def combine(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> tuple[Any, ...]:
        better = te.any(b[1] > a[1], te.all((b[1] == a[1]).asexpr(), b[0] < a[0]))
        return te.if_then_else(better, b[0], a[0]), te.if_then_else(better, b[1], a[1])

    argmax = te.comm_reducer(combine, lambda p, q: (te.const(99, p), te.min_value(q)), name="argmax")
    place, value = te.compute(v.shape[1:], lambda *i: argmax((k.var, t(k, *i)), axis=k), name)
    both = te.compute(v.shape[1:], lambda *i: place(*i) * 7 + value(*i), f"{name}_both")
    return both, (v.argmax(axis=0) * 7 + v.max(axis=0)).astype(np.int32)


_GROW: tuple[Grow, ...] = (
    _scaled, _shifted, _strided, _repeated, _swapped, _flattened, _reshaped, _padded, _summed, _windowed, _conditional,
    _prefix, _pooled, _gathered, _largest_with_place,
)  # fmt: skip


def random_product(rng: Random, sizes: tuple[int, ...] = (1, 2, 5, 6, 8, 9)) -> Program:
    """Return a matrix product, less five, with each dimension one of ``sizes``."""
    n, m, r = (rng.choice(sizes) for _ in range(3))
    a, b = te.placeholder((n, r), "int32", "A"), te.placeholder((r, m), "int32", "B")
    av, bv = _values(rng, (n, r)), _values(rng, (r, m))
    k = te.reduce_axis((0, r), "k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "C")
    d = te.compute((n, m), lambda i, j: c[i, j] - 5, "D")
    return Program([(a, av), (b, bv)], d, av @ bv - 5, [c, d])


def _values(rng: Random, shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(rng.randrange(1 << 30)).integers(-9, 10, size=shape).astype(np.int32)


def _joined(rng: Random, a: tuple[te.Tensor, Array], b: tuple[te.Tensor, Array], name: str) -> tuple[te.Tensor, Array]:
    """Combine two tensors of any shapes on the part that both have."""
    (s, v), (t, w) = a, b
    ndim = max(v.ndim, w.ndim)
    vs, ws = v.reshape(v.shape + (1,) * (ndim - v.ndim)), w.reshape(w.shape + (1,) * (ndim - w.ndim))
    shape: list[int] = np.minimum(vs.shape, ws.shape).tolist()
    cut = tuple(slice(n) for n in shape)
    new = te.compute(shape, lambda *i: s(*i[: v.ndim]) + t(*i[: w.ndim]) * 3, name)
    return new, vs[cut] + ws[cut] * 3


def random_program(rng: Random) -> Program:
    """Return a program of one to five stages."""
    if rng.random() < 0.2:
        return random_product(rng)
    shape = tuple(rng.choice([1, 3, 4, 6, 7, 10, 13]) for _ in range(rng.randint(1, 3)))
    tensor, value = te.placeholder(shape, "int32", "X"), _values(rng, shape)
    inputs = [(tensor, value)]
    made = [(tensor, value)]
    for n in range(rng.randint(1, 4)):
        grow = rng.choice(_GROW)
        source, v = made[-1] if rng.random() < 0.8 else rng.choice(made)
        if v.ndim == 0:
            grow = _scaled
        made.append(grow(rng, source, v, f"T{n}"))
    if len(made) > 2 and rng.random() < 0.5:
        made.append(_joined(rng, made[-1], rng.choice(made[:-1]), "J"))
    output, expected = made[-1]
    return Program(inputs, output, expected, [t for t, _ in made[1:]])


def _loops_around(s: te.Schedule, stage: Stage) -> list[tuple[Stage, IterVar]]:
    """Return the loops that a stage read by ``stage`` may be computed in."""
    own = [(stage, axis) for axis in stage.leaf_iter_vars]
    if not isinstance(stage.attach, AttachAt):
        return own
    parent, axis = stage.attach.stage, stage.attach.axis
    position = next(i for i, leaf in enumerate(parent.leaf_iter_vars) if leaf is axis)
    around = [(parent, leaf) for leaf in parent.leaf_iter_vars[: position + 1]]
    outer = _loops_around(s, parent)
    return own + around + [loop for loop in outer if loop[0] is not parent]


def _readers(s: te.Schedule, stage: Stage) -> list[Stage]:
    """Return the stages that read ``stage``, through inlined ones too."""
    result: list[Stage] = []
    for other in s.stages:
        if any(s[t] is stage for t in other.op.input_tensors):
            result += _readers(s, other) if other.is_inlined else [other]
    return result


def _attach(rng: Random, s: te.Schedule, stage: Stage) -> None:
    places = [_loops_around(s, reader) for reader in _readers(s, stage)]
    common = [p for p in places[0] if all(any(p[0] is q[0] and p[1] is q[1] for q in o) for o in places[1:])]
    if common:
        stage.compute_at(*rng.choice(common))


def _transform(rng: Random, stage: Stage) -> None:
    for _ in range(rng.randint(0, 3)):
        leaves = stage.leaf_iter_vars
        match rng.choice(["split", "nparts", "fuse", "reorder", "tile", "dummy"]):
            case "split" if leaves:
                stage.split(rng.choice(leaves), factor=rng.choice([1, 2, 3, 4, 5, 7, 16, 200]))
            case "nparts" if leaves:
                stage.split(rng.choice(leaves), nparts=rng.choice([1, 2, 3, 5, 20]))
            case "fuse" if len(leaves) > 1:
                i = rng.randrange(len(leaves) - 1)
                stage.fuse(leaves[i], leaves[i + 1])
            case "reorder" if leaves:
                stage.reorder(*rng.sample(leaves, rng.randint(1, len(leaves))))
            case "tile" if len(leaves) > 1:
                x, y = rng.sample(leaves, 2)
                stage.tile(x, y, rng.randint(1, 4), rng.randint(1, 4))
            case "dummy" if rng.random() < 0.2:
                stage.fuse()
            case _:
                pass


def _mark(rng: Random, stage: Stage) -> None:
    roles = stage.roles()
    for axis in stage.leaf_iter_vars:
        if rng.random() < 0.15:
            if Role.REDUCE in roles[axis] or rng.random() < 0.5:
                stage.unroll(axis)
            elif rng.random() < 0.5:
                stage.bind(axis, te.thread_axis(rng.choice(["cthread", "vthread"])))
            else:
                stage.parallel(axis)
        if rng.random() < 0.1:
            stage.pragma(axis, "dma_copy")


def random_schedule(rng: Random, program: Program) -> te.Schedule:
    """Return a legal schedule of ``program``."""
    s = te.create_schedule(program.output.op)
    stages = [t for stage in s.stages for t in stage.op.outputs if t is not program.output]
    for tensor in stages:
        if tensor in s and rng.random() < 0.15:
            readers = [r for r in s.stages if any(read is tensor for read in r.op.input_tensors)]
            if readers:
                s.cache_read(tensor, "local", [r.op for r in rng.sample(readers, rng.randint(1, len(readers)))])
    for tensor in program.stages:
        if tensor in s and s[tensor].op.num_outputs == 1 and rng.random() < 0.15:
            if rng.random() < 0.5 and not s[tensor].op.reduce_axis:
                _transform(rng, s[tensor])
            s.cache_write(tensor, "local")
    for stage in reversed(s.stages):
        if not isinstance(stage.op, te.ComputeOp):
            continue
        if not stage.is_output and not stage.op.reduce_axis and rng.random() < 0.2:
            stage.compute_inline()
            continue
        _transform(rng, stage)
        _mark(rng, stage)
        if not stage.is_output and rng.random() < 0.7:
            _attach(rng, s, stage)
    return s


def lower_and_run(program: Program, s: te.Schedule) -> tuple[PrimFunc, Array]:
    """Lower, check that the function is well formed, run it, and return it with the output."""
    func = te.schedule_to_func(s, [*(t for t, _ in program.inputs), program.output], "program")
    verify(func)
    result = np.full(program.expected.shape, 12345, np.int32)
    run_func(func, [*(v for _, v in program.inputs), result])
    return func, result

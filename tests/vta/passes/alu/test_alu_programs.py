"""ALU stages from te to the simulator: values equal numpy's, in several configurations."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import vta
from runtime.session import Session
from tests.support.configs import CONFIGS
from vta import te
from vta.nd import EXT_DEV, Device, empty
from vta.passes.errors import PassError
from vta.tir.expr import Expr

Values = NDArray[np.int64]
Stages = Callable[[te.Tensor, te.Tensor], list[te.Tensor]]


def stage(fn: Callable[..., Expr], *operands: te.Tensor, name: str = "stage") -> te.Tensor:
    """An element-wise stage."""
    return te.compute(operands[0].shape, lambda *i: fn(*(t(*i) for t in operands)), name)


def alone(fn: Callable[[Expr, Expr], Expr]) -> Stages:
    """A single stage of both operands."""
    return lambda x, y: [stage(fn, x, y)]


def beside(x: te.Tensor, y: te.Tensor) -> list[te.Tensor]:
    """``b = a + 1`` where ``a`` is needed again, so that ``b`` gets a place of its own."""
    a = stage(lambda p, q: p + q, x, y, name="a")
    b = stage(lambda p: p + 1, a, name="b")
    return [a, b, stage(lambda p, q: p * 2 + q, a, b, name="c")]


def read_again(x: te.Tensor, y: te.Tensor) -> list[te.Tensor]:
    """A stage that reads what an earlier one could have overwritten."""
    b = stage(lambda p, q: p + q, x, y, name="b")
    t = stage(lambda p: p + 9, b, name="t")
    u = stage(lambda p: te.min(p, 4), t, name="u")
    return [b, t, u, stage(lambda p, q: te.max(p, q), b, u, name="d")]


def numbered(x: te.Tensor, y: te.Tensor) -> list[te.Tensor]:
    """Operands that the host knows: the position of the element."""
    return [te.compute(x.shape, lambda a, b, c, d: x(a, b, c, d) + y(a, b, c, d) * (a * 40000 + b), "stage")]


CASES: dict[str, tuple[Stages, Callable[[Values, Values], Values]]] = {
    "beside": (beside, lambda x, y: (x + y) * 3 + 1),
    "read_again": (read_again, lambda x, y: np.maximum(x + y, np.minimum(x + y + 9, 4))),
    "br_010_add": (alone(lambda x, y: x + 40000 + y), lambda x, y: x + 40000 + y),
    "br_010_min": (alone(lambda x, y: te.min(x, 40000) + y), lambda x, y: np.minimum(x, 40000) + y),
    "br_010_max": (alone(lambda x, y: te.max(x + y, -40000)), lambda x, y: np.maximum(x + y, -40000)),
    "br_061_xy": (alone(lambda x, y: x - y), lambda x, y: x - y),
    "br_061_x3": (alone(lambda x, y: (x - 3) + (3 - y)), lambda x, y: x - y),
    "chain": (alone(lambda x, y: te.max(x + y + 3, 0) >> 2), lambda x, y: np.maximum(x + y + 3, 0) >> 2),
    "twice": (alone(lambda x, y: te.max(x, te.min(x + 9, y))), lambda x, y: np.maximum(x, np.minimum(x + 9, y))),
    "cast": (
        alone(lambda x, y: (x + y).astype("int8").astype("int32") * 3),
        lambda x, y: (x + y).astype(np.int8).astype(np.int64) * 3,
    ),
    "product": (alone(lambda x, y: x * y - x), lambda x, y: x * y - x),
    "numbered": (
        numbered,
        lambda x, y: x + y * (np.arange(3).reshape(3, 1, 1, 1) * 40000 + np.arange(5).reshape(1, 5, 1, 1)),
    ),
}


@pytest.mark.parametrize("config", ["default", "b2k16", "in16out32"])
@pytest.mark.parametrize("case", CASES)
def test_stages_compute_what_numpy_computes(case: str, config: str) -> None:
    make, expected = CASES[case]
    session = Session(CONFIGS[config], "sim")
    with vta.Environment(CONFIGS[config]) as env:
        schedule, args = _scheduled(env, make)
        module = vta.build(schedule, args, target=env.target, name="main")
    rng = np.random.default_rng(11)
    shape = (3, 5, env.BATCH, env.BLOCK_OUT)
    x, y = (rng.integers(-70000, 70000, shape) for _ in range(2))
    arrays = [empty(shape, dtype, Device(EXT_DEV, 0, session)) for dtype in ("int32", "int32", "int8")]
    arrays[0].copyfrom(x.astype(np.int32))
    arrays[1].copyfrom(y.astype(np.int32))
    module(*arrays)
    np.testing.assert_array_equal(arrays[2].numpy(), expected(x, y).astype(np.int8))


def _scheduled(env: vta.Environment, make: Stages) -> tuple[te.Schedule, list[te.Tensor]]:
    shape = (3, 5, env.BATCH, env.BLOCK_OUT)
    inputs = [te.placeholder(shape, name=name, dtype=env.acc_dtype) for name in ("x", "y")]
    loads = [stage(lambda v: v, tensor, name=f"{tensor.op.name}_buf") for tensor in inputs]
    stages = make(*loads)
    result = stage(lambda v: v.astype(env.out_dtype), stages[-1], name="res")
    s = te.create_schedule(result.op)
    for tensor in (*loads, *stages):
        s[tensor].set_scope(env.acc_scope)
        s[tensor].pragma(s[tensor].op.axis[0], env.dma_copy if tensor in loads else env.alu)
    s[result].pragma(s[result].op.axis[0], env.dma_copy)
    return s, [*inputs, result]


def _loaded(env: vta.Environment, shape: tuple[int, ...]) -> tuple[te.Tensor, te.Tensor]:
    x = te.placeholder(shape, name="x", dtype=env.acc_dtype)
    return x, stage(lambda v: v, x, name="x_buf")


def max_pool(env: vta.Environment) -> tuple[te.Schedule, list[te.Tensor], Callable[[Values], Values]]:
    """A reduction by the ALU, with te's own loop order: initial value and updates inside of the lanes."""
    x, load = _loaded(env, (4, 8, env.BATCH, env.BLOCK_OUT))
    k = te.reduce_axis((0, 2), "k")
    pool = te.compute(
        (4, 4, env.BATCH, env.BLOCK_OUT), lambda h, w, b, c: te.max(load(h, w * 2 + k, b, c), axis=k), "pool"
    )
    result = stage(lambda v: v.astype(env.out_dtype), pool, name="res")
    s = _in_accumulator(env, result, loads=[load], stages=[pool])
    s[pool].pragma(s[pool].op.axis[0], env.alu)
    return s, [x, result], lambda v: np.maximum(v[:, 0::2], v[:, 1::2])


def tails(env: vta.Environment) -> tuple[te.Schedule, list[te.Tensor], Callable[[Values], Values]]:
    """Two axes split by factors that do not divide them."""
    x, load = _loaded(env, (10, 3, env.BATCH, env.BLOCK_OUT))
    scaled = stage(lambda v: te.max(v * 3, 5), load, name="scaled")
    result = stage(lambda v: v.astype(env.out_dtype), scaled, name="res")
    s = _in_accumulator(env, result, loads=[load], stages=[scaled])
    rows, columns, *lanes = s[scaled].op.axis
    row_outer, row_inner = s[scaled].split(rows, 4)
    column_outer, column_inner = s[scaled].split(columns, 2)
    s[scaled].reorder(row_outer, column_outer, row_inner, column_inner, *lanes)
    s[scaled].pragma(row_outer, env.alu)
    return s, [x, result], lambda v: np.maximum(v * 3, 5)


def _in_accumulator(
    env: vta.Environment, result: te.Tensor, *, loads: list[te.Tensor], stages: list[te.Tensor]
) -> te.Schedule:
    s = te.create_schedule(result.op)
    for tensor in (*loads, *stages):
        s[tensor].set_scope(env.acc_scope)
    for tensor in (*loads, result):
        s[tensor].pragma(s[tensor].op.axis[0], env.dma_copy)
    return s


@pytest.mark.parametrize("config", ["default", "b2k16", "in16out32"])
@pytest.mark.parametrize("make", [max_pool, tails])
def test_reductions_and_tails_compute_what_numpy_computes(
    make: Callable[[vta.Environment], tuple[te.Schedule, list[te.Tensor], Callable[[Values], Values]]], config: str
) -> None:
    session = Session(CONFIGS[config], "sim")
    with vta.Environment(CONFIGS[config]) as env:
        schedule, args, expected = make(env)
        module = vta.build(schedule, args, target=env.target, name="main")
    shapes = [tuple(int(extent) for extent in tensor.shape) for tensor in args]
    values = np.random.default_rng(12).integers(-1000, 1000, shapes[0])
    arrays = [empty(s, str(t.dtype), Device(EXT_DEV, 0, session)) for s, t in zip(shapes, args, strict=True)]
    arrays[0].copyfrom(values.astype(np.int32))
    module(*arrays)
    np.testing.assert_array_equal(arrays[1].numpy(), expected(values).astype(np.int8))


@pytest.mark.parametrize(
    ("fn", "named"),
    [
        (lambda x, y: te.max(x // 3, y), r"got // \(floor division\)"),
        (lambda x, y: te.max(x % 4, y), r"got % \(floor modulo\)"),
        (lambda x, y: te.if_then_else(x > y, x, y), "got if_then_else"),
    ],
)
def test_br_060_a_refusal_names_stage_line_and_operation(fn: Callable[[Expr, Expr], Expr], named: str) -> None:
    with vta.Environment(CONFIGS["default"]) as env:
        schedule, args = _scheduled(env, alone(fn))
        with pytest.raises(PassError, match=rf"stage 'stage' \(.*test_alu_programs.py:\d+\): ALU stage: .*{named}"):
            vta.lower(schedule, args, name="main")


def test_br_070_a_tile_that_does_not_fit_is_refused_with_its_stage() -> None:
    with vta.Environment(CONFIGS["default"]) as env:
        shape = (1, 3000, env.BATCH, env.BLOCK_OUT)
        x = te.placeholder(shape, name="x", dtype=env.acc_dtype)
        load = stage(lambda v: v, x, name="x_buf")
        result = stage(lambda v: v.astype(env.out_dtype), load, name="res")
        s = te.create_schedule(result.op)
        s[load].set_scope(env.acc_scope)
        for tensor in (load, result):
            s[tensor].pragma(s[tensor].op.axis[0], env.dma_copy)
        with pytest.raises(PassError) as error:
            vta.lower(s, [x, result], name="main")
    assert "memory 'local.acc_buffer' is too small for 'x_buf' (3000 elements): expected at most 2048 elements" in str(
        error.value
    )

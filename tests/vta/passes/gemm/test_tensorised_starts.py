"""Products on the accelerator that begin with other values than zero, or lie in one step, called again and again."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import vta
from vta import te
from vta.passes.alu.expression import AluError
from vta.tir.expr import Expr

ROWS, COLUMNS = 2, 3
Start = Callable[..., Expr | int]


def product(env: vta.Environment, start: Start | None, steps: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """Return a product of ``steps`` steps; a single one lies whole inside of the tensorised axis."""
    batch, inner, outer = env.BATCH, env.BLOCK_IN, env.BLOCK_OUT
    data = te.placeholder((ROWS, steps, batch, inner), env.inp_dtype, "data")
    weight = te.placeholder((COLUMNS, steps, outer, inner), env.wgt_dtype, "weight")
    first = te.placeholder((ROWS, COLUMNS, batch, outer), env.acc_dtype, "first")
    data_buf, weight_buf, first_buf = (te.compute(t.shape, lambda *i, t=t: t(*i)) for t in (data, weight, first))
    ko, ki = te.reduce_axis((0, steps), "ko"), te.reduce_axis((0, inner), "ki")
    sums = te.compute(
        first.shape,
        lambda o, m, b, c: te.sum(
            data_buf[o, ko, b, ki].astype(env.acc_dtype) * weight_buf[m, ko, c, ki].astype(env.acc_dtype),
            axis=[ko, ki],
            init=None if start is None else start(first_buf, o, m, b, c),
        ),
        "sums",
    )
    result = te.compute(sums.shape, lambda *i: sums(*i).astype(env.out_dtype), "result")
    s = te.create_schedule(result.op)
    loads = [(data_buf, env.inp_scope), (weight_buf, env.wgt_scope)]
    loads += [(first_buf, env.acc_scope)] if first_buf in sums.op.input_tensors else []
    for tensor, scope in [*loads, (sums, env.acc_scope)]:
        s[tensor].set_scope(scope)
    for tensor in (*(tensor for tensor, _ in loads), result):
        s[tensor].pragma(s[tensor].op.axis[0], env.dma_copy)
    s[sums].reorder(*([ko] if steps > 1 else []), *sums.op.axis, *([] if steps > 1 else [ko]), ki)
    s[sums].tensorize(sums.op.axis[2], env.gemm)
    return s, [data, weight, *([first] if len(loads) > 2 else []), result]


STARTS: dict[str, Start | None] = {
    "none": None,
    "constant": lambda _s, _o, _m, _b, _c: 5,
    "large": lambda _s, _o, _m, _b, _c: 100_003,
    "tile": lambda _s, o, m, _b, _c: m * 7 + o * 3 - 4,
    "tensor": lambda s, o, m, b, c: s[o, m, b, c] * 2 + 1,
}


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("start", STARTS)
def test_every_call_begins_anew_with_the_start_value(start: str, steps: int) -> None:
    env = vta.get_env()
    s, args = product(env, STARTS[start], steps)
    module, device = vta.build(s, args, target=env.target), vta.nd.ext_dev(0)
    rng = np.random.default_rng(3)
    arrays = [rng.integers(-8, 8, [int(n) for n in t.shape]).astype(str(t.dtype)) for t in args[:-1]]
    shape = tuple(int(n) for n in args[-1].shape)
    out = vta.nd.empty(shape, args[-1].dtype, device)
    expected = np.einsum("okbi,mkci->ombc", *(a.astype(np.int64) for a in arrays[:2])) + begun(start, shape, arrays)
    given = [vta.nd.array(array, device) for array in arrays]
    for _ in range(3):
        module(*given, out)
        np.testing.assert_array_equal(out.numpy(), expected.astype(np.int8))


def begun(start: str, shape: tuple[int, ...], arrays: Sequence[np.ndarray]) -> np.ndarray:
    value = STARTS[start]
    if value is None:
        return np.zeros(shape, np.int64)
    return np.reshape([value(arrays[-1], *place) for place in np.ndindex(shape)], shape)


def test_a_start_that_differs_from_lane_to_lane_is_refused() -> None:
    env = vta.get_env()
    s, args = product(env, lambda _s, _o, _m, _b, c: c, 2)
    with pytest.raises(AluError, match=r"c\.start \(index, scalar or condition not regular\)"):
        vta.build(s, args, target=env.target)

"""One function with stages on the accelerator and on the CPU: they wait for each other, at every call."""

import numpy as np
import pytest

import vta
from runtime.session import Session
from tests.support.configs import CONFIGS
from vta import te
from vta.nd import EXT_DEV, Device, array, empty


def program(env: vta.Environment, *, before: bool, after: bool) -> tuple[te.Schedule, list[te.Tensor]]:
    """Return relu on the accelerator, with CPU stages before (3a - 1) and after (+ 1), through temporaries."""
    shape = (4, 4, env.BATCH, env.BLOCK_OUT)
    a = te.placeholder(shape, name="A", dtype=env.acc_dtype)
    source = te.compute(shape, lambda *i: a(*i) * 3 - 1, "P") if before else a
    buf = te.compute(shape, lambda *i: source(*i), "buf")
    relu = te.compute(shape, lambda *i: te.max(buf(*i), 0), "relu")
    stored = te.compute(shape, lambda *i: relu(*i).astype(env.out_dtype), "S")
    out = te.compute(shape, lambda *i: stored(*i) + te.const(1, env.out_dtype), "OUT") if after else stored
    s = te.create_schedule(out.op)
    for tensor, pragma in ((buf, env.dma_copy), (relu, env.alu)):
        s[tensor].set_scope(env.acc_scope)
        s[tensor].pragma(s[tensor].op.axis[0], pragma)
    s[stored].pragma(s[stored].op.axis[0], env.dma_copy)
    return s, [a, out]


@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True), (True, True), (False, False)])
@pytest.mark.parametrize(
    ("name", "device"),
    [
        *((name, device) for name in ("default", "in16out32") for device in ("sim", "reference")),
        ("default", "tsim"),
        pytest.param("in16out32", "tsim", marks=pytest.mark.long),
    ],
)
def test_stages_on_both_sides_see_each_others_results(name: str, before: bool, after: bool, device: str) -> None:
    env = vta.Environment(CONFIGS[name])
    place = Device(EXT_DEV, 0, Session(env.config, device))
    with env:
        module = vta.build(*program(env, before=before, after=after))
    shape = (4, 4, env.BATCH, env.BLOCK_OUT)
    memory = place.session.memory
    _ = place.session.queue.launcher.addresses  # allocated once for all
    live = len(memory.allocations)
    for seed in range(3):
        values = np.random.default_rng(seed).integers(-40, 41, size=shape).astype(np.int32)
        out = empty(shape, "int8", place)
        module(array(values, place), out)
        source = values * 3 - 1 if before else values
        np.testing.assert_array_equal(out.numpy(), np.maximum(source, 0).astype(np.int8) + int(after))
    del out
    assert len(memory.allocations) == live


def test_a_function_without_any_accelerator_stage_runs_on_device_arrays() -> None:
    env = vta.get_env()
    a = te.placeholder((10,), name="A", dtype="int32")
    b = te.compute((10,), lambda i: a[i] * a[i], name="B")
    module = vta.build(te.create_schedule(b.op), [a, b], env.target)
    values = np.arange(10, dtype=np.int32)
    out = empty((10,), "int32", vta.nd.ext_dev())
    module(array(values, vta.nd.ext_dev()), out)
    np.testing.assert_array_equal(out.numpy(), values * values)

"""``vta.testing``: running on the environment's target, the simulator's counters."""

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from tests.support.configs import CONFIGS
from vta import te
from vta.testing import run, simulator

COUNTERS = [
    "inp_load_nbytes", "wgt_load_nbytes", "acc_load_nbytes", "uop_load_nbytes", "out_store_nbytes", "gemm_counter",
    "alu_counter",
]  # fmt: skip


def negative_relu(env: vta.Environment) -> tuple[te.Schedule, list[te.Tensor]]:
    shape = (2, 3, env.BATCH, env.BLOCK_OUT)
    a = te.placeholder(shape, name="A", dtype=env.acc_dtype)
    buf = te.compute(shape, lambda *i: a(*i), "buf")
    low = te.compute(shape, lambda *i: te.min(buf(*i), 0), "low")
    c = te.compute(shape, lambda *i: low(*i).astype(env.out_dtype), "C")
    s = te.create_schedule(c.op)
    for tensor, pragma in ((buf, env.dma_copy), (low, env.alu)):
        s[tensor].set_scope(env.acc_scope)
        s[tensor].pragma(s[tensor].op.axis[0], pragma)
    s[c].pragma(s[c].op.axis[0], env.dma_copy)
    return s, [a, c]


@pytest.mark.parametrize("name", CONFIGS)
def test_run_gives_environment_and_session(name: str) -> None:
    seen: list[tuple[vta.Environment, dict[str, int]]] = []

    def check(env: vta.Environment, remote: vta.rpc.LocalSession) -> None:
        s, args = negative_relu(env)
        f = vta.build(s, args, target=env.target)
        values = np.random.default_rng(4).integers(-100, 100, size=(2, 3, env.BATCH, env.BLOCK_OUT)).astype(np.int32)
        a = vta.nd.array(values, remote.ext_dev(0))
        c = vta.nd.empty(values.shape, env.out_dtype, remote.ext_dev(0))
        simulator.clear_stats()
        f(a, c)
        np.testing.assert_array_equal(c.numpy(), np.minimum(values, 0).astype(np.int8))
        seen.append((env, simulator.stats()))

    with vta.Environment(CONFIGS[name]) as environment:
        run(check)
    [(env, stats)] = seen
    assert env is environment
    assert list(stats) == COUNTERS
    assert all(type(value) is int for value in stats.values())
    lanes = env.BATCH * env.BLOCK_OUT
    assert stats["acc_load_nbytes"] == 6 * lanes * 4
    assert stats["out_store_nbytes"] == 6 * lanes
    assert stats["alu_counter"] == 6


def test_counters_are_cleared() -> None:
    simulator.clear_stats()
    assert simulator.stats() == dict.fromkeys(COUNTERS, 0)
    assert simulator.enabled()


def test_execution_can_be_skipped() -> None:
    with vta.Environment(VTAConfig()) as env:
        remote = vta.rpc.LocalSession()
        s, args = negative_relu(env)
        f = vta.build(s, args)
        shape = (2, 3, env.BATCH, env.BLOCK_OUT)
        a = vta.nd.array(np.full(shape, -5, np.int32), remote.ext_dev())
        c = vta.nd.array(np.full(shape, 77, np.int8), remote.ext_dev())
        simulator.debug_mode(simulator.DEBUG_SKIP_EXEC)
        f(a, c)
        assert (c.numpy() == 77).all()
        simulator.debug_mode(0)
        f(a, c)
        assert (c.numpy() == -5).all()


def test_a_target_without_a_device_here_says_so() -> None:
    refusal = "device 'pynq' is a board, and nothing here drives it"
    with vta.Environment(VTAConfig(target="pynq")), pytest.raises(Exception, match=refusal):
        run(print)
    with vta.Environment(VTAConfig(target="pynq")):
        assert not simulator.enabled()

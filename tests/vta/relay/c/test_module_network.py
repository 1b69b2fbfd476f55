"""Functions as networks: their arrays, which are read and which are written, and what is refused."""

import numpy as np
import pytest

import vta
from examples import vector_add
from isa.config import VTAConfig
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from vta import te
from vta.build_module import build_generic
from vta.relay.c import CExportError, module_network


def built_vector_add() -> tuple[vta.Environment, vta.Module]:
    env = vta.Environment(VTAConfig())
    with env:
        return env, vta.build(*vector_add.schedule(env), name="vadd")


def test_a_functions_arrays_are_inputs_and_outputs() -> None:
    env, module = built_vector_add()
    network = module_network(module)
    assert (network.inputs, network.outputs) == (("A", "B"), ("C",))
    assert network.tensor("A").shape == (1, 64, 1, 16)
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, (1, 64, 1, 16)).astype(np.int32) for _ in range(2))
    found = NetworkRunner(network, Session(env.config, "sim")).run({"A": a, "B": b})
    np.testing.assert_array_equal(found["C"], (a + b).astype(np.int8))


def test_functions_of_the_host_are_refused() -> None:
    n = te.placeholder((4,), name="A", dtype="int32")
    result = te.compute((4,), lambda i: n[i] + 1, name="B")
    schedule = te.create_schedule(result.op)
    module = build_generic(te.schedule_to_func(schedule, [n, result], "host"))
    with pytest.raises(CExportError) as caught:
        module_network(module)
    assert str(caught.value) == "function 'host' computes on the host as well; what the accelerator does becomes C"


def test_sizes_that_are_open_are_refused() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A", dtype="int32")
    result = te.compute((n,), lambda i: a[i] + 1, name="B")
    module = build_generic(te.schedule_to_func(te.create_schedule(result.op), [a, result], "open"))
    with pytest.raises(CExportError) as caught:
        module_network(module)
    assert str(caught.value) == "function 'open': argument A: int32[?] is not an array of constant size"

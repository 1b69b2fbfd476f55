"""Every test here that asks for ``machine`` runs on each code path that this processor has."""

import pytest

from runtime.sim.code_path import Machine, host_machines


@pytest.fixture(params=list(Machine), ids=lambda machine: machine.value)
def machine(request: pytest.FixtureRequest) -> Machine:
    if request.param not in host_machines():
        pytest.skip(f"this processor cannot run the {request.param.value} kernels")
    return Machine(request.param)

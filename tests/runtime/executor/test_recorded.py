"""What a function asks of the accelerator is recorded without running it, and only what it asked itself."""

import numpy as np
import pytest

import vta
from runtime.executor.recorded import idle_session, recorded_launches
from runtime.executor.stored_launch import StoredLaunchError
from runtime.memory.array import DeviceArray
from runtime.session import Session
from vta.topi import Dense
from vta.topi.core.operator import compile as built


def arrays_of(device: Session) -> list[DeviceArray]:
    """Return the packed arrays of ``Dense(1, 16, 16)``: data, weights, result."""
    return [DeviceArray(device, shape, "int8") for shape in ((1, 1, 1, 16), (1, 1, 16, 16), (1, 1, 1, 16))]


def test_nothing_runs_and_a_second_recording_has_its_own_launches_alone() -> None:
    env = vta.get_env()
    device = idle_session(env.config)
    module = built(Dense(1, 16, 16), env).module
    first, again = arrays_of(device), arrays_of(device)
    first[2].copyfrom(np.full((1, 1, 1, 16), 7, np.int8))
    [one] = recorded_launches(module, device, first)
    [two] = recorded_launches(module, device, again)
    np.testing.assert_array_equal(first[2].numpy(), 7)
    np.testing.assert_array_equal(one.array, two.array)
    assert sorted(set(one.addresses.tensor.tolist())) == [0, 1, 2]


def test_arrays_that_the_function_takes_besides_are_refused() -> None:
    env = vta.get_env()
    device = idle_session(env.config)
    module = built(Dense(1, 16, 16), env).module
    data, weights, result = arrays_of(device)
    with pytest.raises(StoredLaunchError, match="touches a buffer at 0x"):
        recorded_launches(lambda *some: module(*some, result), device, [data, weights])

"""Launches without addresses: taken out and put in again, they are the same words."""

import re

import numpy as np
import pytest

import vta
from runtime.executor.recorded import idle_session
from runtime.executor.stored_launch import StoredLaunch, StoredLaunchError, TensorPlace
from runtime.session import Session
from tests.support.runtime.small_networks import captured
from vta.topi import Dense
from vta.topi.core.operator import compile as built


def session() -> Session:
    return idle_session(vta.get_env().config)


def test_a_launch_put_back_where_it_was_is_the_same() -> None:
    first = session()
    [stored], arrays = captured(built(Dense(3, 40, 50), vta.get_env()), first)
    launcher = first.queue.launcher
    places = [TensorPlace(array.allocation, 0) for array in arrays]
    back = stored.placed(first.config, places, launcher.zero_element, launcher.addresses)
    np.testing.assert_array_equal(back.array, launcher.launches[0].array)


def test_a_stored_launch_does_not_depend_on_where_it_was_captured() -> None:
    layer = built(Dense(3, 40, 50), vta.get_env())
    elsewhere = session()
    elsewhere.memory.alloc(123_456)
    [one], _ = captured(layer, session())
    [two], _ = captured(layer, elsewhere)
    np.testing.assert_array_equal(one.array, two.array)
    np.testing.assert_array_equal(one.addresses.offset, two.addresses.offset)


def test_a_buffer_without_a_number_is_refused() -> None:
    first = session()
    captured(built(Dense(1, 16, 16), vta.get_env()), first)
    [launch] = first.queue.launcher.launches
    address = launch.buffers[0].address
    with pytest.raises(
        StoredLaunchError, match=re.escape(f"the launch touches a buffer at {address:#x} that is no tensor's")
    ):
        StoredLaunch.of(launch, {})


def test_a_tensor_where_elements_do_not_start_is_refused() -> None:
    first = session()
    [stored], arrays = captured(built(Dense(1, 16, 16), vta.get_env()), first)
    launcher = first.queue.launcher
    places = [TensorPlace(array.allocation, 1) for array in arrays]
    with pytest.raises(StoredLaunchError, match=r"^a tensor lies where elements do not start$"):
        stored.placed(first.config, places, launcher.zero_element, launcher.addresses)

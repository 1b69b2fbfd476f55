"""Launches without addresses: taken out and put in again, they are the same words."""

import re

import numpy as np
import pytest

import vta
from isa.bulk import encode_all
from isa.instructions import Finish, Instruction, Load, MemoryId, Store
from runtime.executor.recorded import idle_session
from runtime.executor.stored_launch import AddressColumns, StoredLaunch, StoredLaunchError, TensorPlace
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
    assert not back.array.flags.writeable


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


def nothing_moved(*instructions: Instruction) -> StoredLaunch:
    """Return a launch without any entry in its table of addresses, and without micro-ops."""
    none = np.zeros(0, np.int64)
    words = encode_all((*instructions, Finish()), vta.get_env().config)
    columns = AddressColumns(none, none, none, none, none)
    return StoredLaunch(words, np.zeros(0, np.uint32), columns, (None,) * len(words))


def test_transfers_of_nothing_need_no_address() -> None:
    inp, uop = MemoryId.INP, MemoryId.UOP
    empty = [Load(memory=inp, x_size=x, y_size=y) for x, y in ((0, 3), (3, 0), (0, 0))]
    stores = [Store(x_size=x, y_size=y) for x, y in ((0, 3), (3, 0))]
    launch = nothing_moved(*empty, *stores, Load(memory=uop, x_size=0, y_size=1))
    launch.check("step", [], vta.get_env().config)
    assert len(launch) == 7


@pytest.mark.parametrize(
    ("instruction", "text"),
    [
        (
            Load(memory=MemoryId.INP, x_size=1, y_size=1),
            "not every load and store has an address, or something else has one",
        ),
        (Store(x_size=1, y_size=1), "not every load and store has an address, or something else has one"),
        (Load(memory=MemoryId.UOP, x_size=1, y_size=1), "it loads micro-ops beyond its 0"),
    ],
)
def test_transfers_of_something_need_one(instruction: Instruction, text: str) -> None:
    with pytest.raises(StoredLaunchError, match=f"^step: {text}$"):
        nothing_moved(instruction).check("step", [], vta.get_env().config)


def test_what_a_transfer_reaches_must_be_within_its_entry_and_its_tensor() -> None:
    """Three rows of two elements, five apart, reach from the first to the twelfth element, of 16 bytes each."""
    config = vta.get_env().config
    words = encode_all([Load(memory=MemoryId.INP, x_size=2, y_size=3, x_stride=5), Finish()], config)

    def check(offset: int, end: int, nbytes: int, tensor: int = 0) -> None:
        column = [np.array([value], np.int64) for value in (0, tensor, offset, end, 16)]
        StoredLaunch(words, np.zeros(0, np.uint32), AddressColumns(*column), (None, None)).check(
            "step", [nbytes], config
        )

    check(0, 12, 12 * 16)
    check(4, 16, 16 * 16)
    larger = "^step: a transfer is larger than its entry in the table of addresses$"
    beyond = "^step: a transfer reaches beyond its tensor$"
    for arguments, text in (
        ((0, 11, 12 * 16), larger),
        ((4, 15, 16 * 16), larger),
        ((4, 16, 16 * 16 - 1), beyond),
        ((-1, 12, 12 * 16), beyond),
        ((0, 17, 99 * 16, -1), beyond),  # there are as many zeros as the largest element has bytes: 256
        ((0, 12, 12 * 16, 1), "^step: an address refers to a tensor that the step does not have$"),
        ((0, 12, 12 * 16, -2), "^step: an address refers to a tensor that the step does not have$"),
    ):
        with pytest.raises(StoredLaunchError, match=text):
            check(*arguments)

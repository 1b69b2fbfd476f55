"""Keys that people write become the setup of simulated hardware, or one sentence."""

import pytest

from isa.machine.hardware_config import HardwareConfig, HardwareConfigError
from runtime.devices.device import HardwareSetup
from runtime.devices.hardware_settings import HARDWARE_KEYS, hardware_setup, keys_of


def test_keys_are_those_of_the_hardware_and_of_its_memory() -> None:
    assert HARDWARE_KEYS[:2] == ("addr_width", "data_width")
    assert HARDWARE_KEYS[-2:] == ("memory_latency", "stall_seed")
    assert hardware_setup({}) == HardwareSetup()


def test_what_is_given_is_set_and_the_rest_is_as_usual() -> None:
    found = hardware_setup({"data_width": 128, "memory_latency": 64, "stall_seed": 7})
    assert found == HardwareSetup(hardware=HardwareConfig(data_width=128), latency=64, stall_seed=7)


@pytest.mark.parametrize("stall_seed", [None, 7])
def test_a_setup_has_keys_that_make_it(stall_seed: int | None) -> None:
    setup = HardwareSetup(hardware=HardwareConfig(data_width=128, inst_queue_depth=4), latency=9, stall_seed=stall_seed)
    keys = keys_of(setup)
    assert tuple(keys) == HARDWARE_KEYS
    assert hardware_setup(keys) == setup


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"data_widht": 1}, "unknown key 'data_widht'; did you mean 'data_width'?"),
        ({"x": 1}, f"unknown key 'x'; the keys are {', '.join(HARDWARE_KEYS)}"),
        ({"data_width": 100}, "data_width is 100, but it must be one of 64, 128, 256, 512"),
        ({"data_width": "64"}, "data_width is '64', but it must be a whole number"),
        ({"memory_latency": 0}, "memory_latency is 0, but it must be a whole number from 1 to 1048576"),
        ({"memory_latency": True}, "memory_latency is True, but it must be a whole number from 1 to 1048576"),
        ({"memory_latency": 1 << 21}, "memory_latency is 2097152, but it must be a whole number from 1 to 1048576"),
        ({"stall_seed": -1}, "stall_seed is -1, but it must be a whole number from 0 to 2^64 - 1"),
        ({"stall_seed": 0.5}, "stall_seed is 0.5, but it must be a whole number from 0 to 2^64 - 1"),
    ],
)
def test_what_cannot_be_is_refused(keys: dict[str, object], text: str) -> None:
    with pytest.raises(HardwareConfigError) as error:
        hardware_setup(keys, where="mine.json")
    assert str(error.value) == f"mine.json: {text}"

"""What simulated hardware is made with, from the keys that people write: in a JSON file, a command line, a script.

The keys are the fields of ``HardwareConfig``, ``memory_latency`` and ``stall_seed``. Tests:
tests/runtime/devices/test_hardware_settings.py.
"""

import difflib
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TypeGuard

from isa.config_file import read_mapping
from isa.machine.hardware_config import HardwareConfig, HardwareConfigError
from isa.printable import short
from runtime.devices.device import DEFAULT_LATENCY, MOST_LATENCY, HardwareSetup

__all__ = ["HARDWARE_KEYS", "OF_MEMORY", "hardware_setup", "keys_of", "read_hardware_keys"]

OF_MEMORY = ("memory_latency", "stall_seed")
"""Keys of the simulated memory."""

HARDWARE_KEYS = (*(field.name for field in fields(HardwareConfig)), *OF_MEMORY)
"""Everything that can be set."""


def hardware_setup(keys: Mapping[str, object], *, where: str = "hardware") -> HardwareSetup:
    """Return the setup with these keys, and the defaults for all others.

    ``HardwareConfigError``, which starts with ``where``, for an unknown key and for a value that cannot be.
    """
    for key in keys:
        if key not in HARDWARE_KEYS:
            raise HardwareConfigError(f"{where}: {_unknown(key)}")
    sizes = {key: value for key, value in keys.items() if key not in OF_MEMORY}
    try:
        hardware = HardwareConfig(**sizes)  # type: ignore[arg-type]  # which checks what kind of value each is
    except HardwareConfigError as error:
        raise HardwareConfigError(f"{where}: {error}") from None
    latency, seed = keys.get("memory_latency", DEFAULT_LATENCY), keys.get("stall_seed")
    if not _is_whole(latency) or not 1 <= latency <= MOST_LATENCY:
        raise HardwareConfigError(
            f"{where}: memory_latency is {short(latency)}, but it must be a whole number from 1 to {MOST_LATENCY}"
        )
    if seed is not None and (not _is_whole(seed) or not 0 <= seed < 1 << 64):
        raise HardwareConfigError(
            f"{where}: stall_seed is {short(seed)}, but it must be a whole number from 0 to 2^64 - 1"
        )
    return HardwareSetup(hardware=hardware, latency=latency, stall_seed=seed)


def keys_of(setup: HardwareSetup) -> dict[str, int | None]:
    """Return all keys with the values of ``setup``, so that ``hardware_setup`` makes an equal one."""
    return {**asdict(setup.hardware), "memory_latency": setup.latency, "stall_seed": setup.stall_seed}


def read_hardware_keys(path: str) -> Mapping[str, object]:
    """Return the JSON object in a file; ``ConfigError`` for anything else."""
    return read_mapping(path)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _unknown(key: str) -> str:
    close = difflib.get_close_matches(key, HARDWARE_KEYS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"the keys are {', '.join(HARDWARE_KEYS)}"
    return f"unknown key {short(key)}; {hint}"

"""Hardware as the command lines of ``bench`` write it: bits of the bus and latency of the memory, such as ``64/16``."""

import argparse
from functools import cache

from isa.machine.hardware_config import DATA_WIDTHS
from runtime.devices.device import HardwareSetup
from runtime.devices.hardware_settings import hardware_setup

__all__ = ["hardware_text", "setup_of"]


@cache
def setup_of(hardware: str) -> HardwareSetup:
    """Return what ``bits/latency`` stands for."""
    bits, latency = hardware.split("/")
    return hardware_setup({"data_width": int(bits), "memory_latency": int(latency)})


def hardware_text(text: str) -> str:
    """Return ``text`` if it says hardware; argparse's error if it does not."""
    bits, _, latency = text.partition("/")
    if not (bits.isdecimal() and latency.isdecimal() and int(bits) in DATA_WIDTHS and int(latency) >= 1):
        widths = ", ".join(map(str, DATA_WIDTHS))
        raise argparse.ArgumentTypeError(f"expected BITS/LATENCY such as 64/16, with bits of {widths}, got {text!r}")
    return text

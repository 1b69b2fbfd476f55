"""The command that runs a recorded program again with another setting.

Tests: tests/vta/cli/test_again.py.
"""

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import PurePath

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.printable import in_one_line
from runtime.devices.device import DEFAULT_LATENCY
from vta.inspect.trace.model import TraceHeader

__all__ = ["command_with"]


def command_with(header: TraceHeader, setting: str) -> str:
    """Return the ``vta run`` that makes a trace of the same program, on the same machine but for ``setting``.

    The trace knows the program's file by its name only, without its folder and arguments.
    """
    key = setting.partition("=")[0]
    program = in_one_line(header.program)
    sets = [entry for entry in _differences(header) if entry.partition("=")[0] != key]
    if PurePath(program).suffix == ".py":  # programs carry their configuration
        sets += _config_differences(header.config)
    options = [part for entry in [*sets, setting] for part in ("--set", entry)]
    return shlex.join(["vta", "run", program, "--target", "tsim", *options, "--record", "again.trace"])


def _differences(header: TraceHeader) -> Iterator[str]:
    """Yield ``key=value`` for what the hardware of a trace had unlike the default."""
    usual: dict[str, object] = {**asdict(HardwareConfig()), "memory_latency": DEFAULT_LATENCY}
    for key, value in header.hardware.items():
        if key in usual and value != usual[key]:
            yield f"{key}={value}"


def _config_differences(config: VTAConfig) -> Iterator[str]:
    usual = VTAConfig().to_dict()
    for key, value in config.to_dict().items():
        if key not in ("TARGET", "HW_VER") and value != usual.get(key):
            yield f"{key}={value}"

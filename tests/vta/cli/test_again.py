"""The command that tries a change of the hardware."""

from dataclasses import asdict

import pytest

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.device import DEFAULT_LATENCY
from vta.cli.again import command_with
from vta.inspect.trace.model import TraceHeader


def header(program: str, config: VTAConfig | None = None, **hardware: object) -> TraceHeader:
    usual: dict[str, object] = {**asdict(HardwareConfig()), "memory_latency": DEFAULT_LATENCY}
    return TraceHeader("tsim", config or VTAConfig(), {**usual, **hardware}, program, {})


@pytest.mark.parametrize(
    ("recorded", "setting", "command"),
    [
        (header("a.py"), "data_width=128", "vta run a.py --target tsim --set data_width=128 --record again.trace"),
        (
            header("a b.py", VTAConfig(log_batch=1), memory_latency=64, data_width=128),
            "data_width=256",
            "vta run 'a b.py' --target tsim --set memory_latency=64 --set LOG_BATCH=1 --set data_width=256 "
            "--record again.trace",
        ),
        (
            header("a.vta", VTAConfig(log_batch=1)),
            "memory_latency=1",
            "vta run a.vta --target tsim --set memory_latency=1 --record again.trace",
        ),
        (
            header("a\x1b[2J;rm -r.vta"),
            "memory_latency=1",
            "vta run 'a\\x1b[2J;rm -r.vta' --target tsim --set memory_latency=1 --record again.trace",
        ),
    ],
)
def test_the_command_has_what_was_unlike_the_default_and_the_change(
    recorded: TraceHeader, setting: str, command: str
) -> None:
    assert command_with(recorded, setting) == command

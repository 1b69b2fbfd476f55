"""Signs of life from long simulations of the hardware."""

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from isa.text.assembler import assemble
from runtime.observe.heartbeat import Heartbeat
from runtime.session import Session
from vta.cli.heartbeat import LaunchProgress, heartbeat

LONG = """
load.uop sram=0 dram=0x400 y=1 x=1 stride=1
gemm uop=0:1 iter=10000,1 dst=0,0 src=0,0 wgt=0,0 reset
gemm uop=0:1 iter=16000,2 dst=0,0 src=0,0 wgt=0,0
finish
"""
"""Four cycles a tile and more than a heartbeat apart: every product adds to the same accumulators."""


def clock_of(*times: float) -> Callable[[], float]:
    """Return a clock that shows ``times``, one after the other."""
    return iter(times).__next__


def progress_on(console: Console, times: tuple[float, ...]) -> LaunchProgress:
    return LaunchProgress(console, clock_of(*times))


def test_br_152_a_launch_on_the_hardware_says_how_far_it_is() -> None:
    program = assemble(LONG)
    session = Session(program.config, "tsim")
    beats: list[Heartbeat | None] = []
    session.device.set_heartbeat(beats.append)
    session.run_program(program)
    assert beats[-1] is None
    during = [beat for beat in beats if beat is not None]
    assert len(beats) == len(during) + 1
    assert len(during) >= 3
    cycles = [beat.cycles for beat in during if beat.cycles is not None]
    assert len(cycles) == len(during)
    assert cycles == sorted(set(cycles))
    assert all(0 < beat.started <= beat.count == 4 for beat in during)
    session.device.set_heartbeat(None)
    session.run_program(program)
    assert beats[-1] is None
    assert beats.count(None) == 1


def test_a_short_launch_is_silent() -> None:
    output = io.StringIO()
    progress = progress_on(Console(file=output, force_terminal=True), (0.0, 1.9))
    for beat in (Heartbeat(8192, 1, 9), Heartbeat(16384, 2, 9), None):
        progress(beat)
    assert output.getvalue() == ""


def test_a_file_gets_a_line_every_ten_seconds() -> None:
    output = io.StringIO()
    progress = progress_on(Console(file=output, width=120), (0.0, 5.0, 10.0, 15.0, 20.5))
    for cycles in (1000, 2000, 3000, 4000, 1234567):
        progress(Heartbeat(cycles, cycles // 1000, 2000))
    progress(None)
    assert output.getvalue().splitlines() == [
        "launch 0: 3,000 cycles, 3 of 2,000 instructions, 10 s",
        "launch 0: 1,234,567 cycles, 1,234 of 2,000 instructions, 20 s",
    ]


def test_launches_are_numbered_and_timed_on_their_own() -> None:
    output = io.StringIO()
    progress = progress_on(Console(file=output, width=120), (0.0, 100.0, 110.0))
    for beat in (Heartbeat(8192, 1, 9), None, Heartbeat(8192, 1, 9), Heartbeat(9000, 2, 9), None):
        progress(beat)
    assert output.getvalue() == "launch 1: 9,000 cycles, 2 of 9 instructions, 10 s\n"


def test_a_terminal_gets_one_line_that_changes_and_goes() -> None:
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=120, color_system=None)
    progress = progress_on(console, (0.0, 3.0, 4.0))
    for cycles in (1000, 2000, 3000):
        progress(Heartbeat(cycles, 1, 9))
    progress(None)
    text = output.getvalue()
    assert "launch 0: 3,000 cycles, 1 of 9 instructions, 4 s" in text
    assert text.endswith("\x1b[2K")  # the line is erased


@pytest.mark.parametrize("name", ["sim", "reference"])
def test_devices_without_a_clock_have_no_heartbeat(name: str) -> None:
    program = assemble(LONG)
    session = Session(program.config, name)
    with heartbeat(session):
        session.run_program(program)

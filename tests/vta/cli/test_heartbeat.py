"""Signs of life from long simulations of the hardware."""

import logging

import pytest

from isa.progress import LOGGER
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


def test_launches_are_numbered_and_said_to_be_over(caplog: pytest.LogCaptureFixture) -> None:
    progress = LaunchProgress()
    with caplog.at_level(logging.DEBUG, LOGGER):
        for beat in (Heartbeat(8192, 1, 9), Heartbeat(16384, 2, 9), None, Heartbeat(None, 3, 2000), None):
            progress(beat)
    assert caplog.messages == [
        "launch 0: 1 of 9 instructions",
        "launch 0: 2 of 9 instructions",
        "launch 0: over",
        "launch 1: 3 of 2,000 instructions",
        "launch 1: over",
    ]
    assert [vars(record)["note"] for record in caplog.records] == ["8,192 cycles", "16,384 cycles", "", "", ""]


@pytest.mark.parametrize("name", ["sim", "reference"])
def test_devices_without_a_clock_have_no_heartbeat(name: str) -> None:
    program = assemble(LONG)
    session = Session(program.config, name)
    with heartbeat(session):
        session.run_program(program)

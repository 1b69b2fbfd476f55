"""Starting memory from the host: DDR3 with delays, in a model of its PHY, and SDRAM without them."""

from dataclasses import replace

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.device import DeviceError
from runtime.drivers.etherbone import EtherboneBus
from runtime.drivers.litex_board import BoardFacts, CsrEntry
from runtime.drivers.memory_training import LaneDelay, start_memory
from tests.support.drivers.ddr3_phy import CSR, MODE_REGISTERS, ORIGIN, Ddr3Words
from tests.support.drivers.etherbone_board import EtherboneBoard, Noise
from tests.support.drivers.rtl_board import facts_of

NBYTES = 1 << 16


def facts(**memory: object) -> BoardFacts:
    names = {name: CsrEntry(address, words) for name, (address, words) in CSR.items()}
    start = [
        {"address": 0, "bank": 0, "command": 0, "control": 12, "cycles": 5},
        {"address": 0, "bank": 0, "command": 0, "control": 14, "cycles": 5},
        *({"address": value, "bank": bank, "command": 15, "control": 0, "cycles": 0} for bank, value in MODE_REGISTERS),
    ]
    given = {"origin": ORIGIN, "bytes": NBYTES, "phases": 2, "read_phase": 0, "write_phase": 1, "byte_lanes": 2,
             "phase_bytes": 8, "delays": 8, "bitslips": 4, "start": start}  # fmt: skip
    plain = facts_of(VTAConfig(), HardwareConfig(), NBYTES, csr=names)
    return replace(plain, memory={**given, **memory})


def started(words: Ddr3Words, noise: Noise | None = None, **memory: object) -> tuple[LaneDelay, ...]:
    return start_memory(EtherboneBus(EtherboneBoard(words, noise)), facts(**memory))


@pytest.mark.parametrize(
    ("eyes", "chosen"),
    [
        ([(1, 2, 5), (1, 3, 7)], [LaneDelay(0, 1, 4, 4), LaneDelay(1, 1, 5, 5)]),
        ([(0, 0, 7), (3, 6, 6)], [LaneDelay(0, 0, 4, 8), LaneDelay(1, 3, 6, 1)]),
        ([(3, 0, 0), (2, 5, 7)], [LaneDelay(0, 3, 0, 1), LaneDelay(1, 2, 6, 3)]),
    ],
)
def test_every_lane_gets_the_middle_of_what_reads_right(
    eyes: list[tuple[int, int, int]], chosen: list[LaneDelay]
) -> None:
    words = Ddr3Words(NBYTES, eyes)
    assert list(started(words)) == chosen
    assert words.mode_registers == dict(MODE_REGISTERS)
    assert [(lane.bitslip, lane.delay) for lane in words.lanes] == [(each.bitslip, each.delay) for each in chosen]
    assert words.controller_has_it


def test_the_widest_range_is_chosen_where_there_are_several() -> None:
    words = Ddr3Words(NBYTES, [(0, 0, 1), (1, 0, 7)], more=[(2, 3, 6), (1, 0, 7)])
    assert list(started(words)) == [LaneDelay(0, 2, 5, 4), LaneDelay(1, 1, 4, 8)]


def test_a_lane_that_never_reads_right_is_an_error_with_what_was_seen() -> None:
    with pytest.raises(DeviceError) as caught:
        started(Ddr3Words(NBYTES, [(1, 2, 5), (9, 0, 0)]))
    assert str(caught.value) == (
        "the board: no delay of the memory's byte lane 1 reads right (00000000 00000000 00000000 00000000); "
        "power the board off and on, or build for a lower --mhz"
    )


def test_a_lane_without_bursts_is_no_lane_that_reads_right() -> None:
    words = Ddr3Words(NBYTES, [(1, 2, 5), (1, 2, 5)], sees_bursts=False)
    with pytest.raises(DeviceError, match="byte lane 0 reads right"):
        started(words)


def test_memory_that_is_not_there_is_an_error() -> None:
    words = Ddr3Words(NBYTES, [(1, 2, 5), (1, 3, 7)], address_bits=12)
    with pytest.raises(DeviceError) as caught:
        started(words)
    assert str(caught.value) == (
        "the board: memory does not keep what is written: 0x0 reads as 0x5aa5000e, not 0x5aa50000"
    )


def test_training_over_a_cable_that_loses_packets_is_right_in_the_end() -> None:
    words = Ddr3Words(NBYTES, [(1, 2, 5), (1, 3, 7)])
    chosen = started(words, Noise(lost=0.002))
    for lane, each in zip(words.lanes, chosen, strict=True):
        assert lane.reads_right
        assert each.width >= 3


def test_memory_without_delays_is_started_and_tried() -> None:
    words = Ddr3Words(NBYTES, [(0, 0, 0), (0, 0, 0)])
    assert started(words, delays=0, bitslips=0) == ()
    assert words.mode_registers == dict(MODE_REGISTERS)
    assert np.count_nonzero(words.memory) > 200

"""Where the memory model keeps its state: every region whole, none in another, none larger than what it holds."""

import pytest
from amaranth.hdl import Shape

from hw.interfaces import AXI4
from hw.sim.axi import state
from hw.sim.axi.state import Channel, StateField

WORD = 8


def test_fields_stand_one_after_the_other() -> None:
    assert [int(field) for field in StateField] == [WORD * number for number in range(25)]


def test_the_words_of_an_entry_stand_one_after_the_other() -> None:
    assert (state.ADDRESS, state.COUNT, state.ID, state.DUE, state.BURST_BYTES) == (0, 8, 16, 24, 32)
    # The widest beat has 512 bits, whose strobes are one word.
    assert (state.DATA, state.STROBE, state.LAST, state.BEAT_BYTES) == (0, 512 // 8, 512 // 8 + WORD, 512 // 8 + 16)


def test_regions_stand_one_after_the_other() -> None:
    channels = len(Channel)
    ends = {
        "THRESHOLDS": 25 * WORD, "HELD": channels * WORD, "PAYLOADS": channels * WORD,
        "READS": channels * state.PAYLOAD_BYTES, "WRITES": state.BURSTS * state.BURST_BYTES,
        "ANSWERS": state.BURSTS * state.BURST_BYTES, "BEAT_RING": state.BURSTS * state.BURST_BYTES,
        "STATE_BYTES": state.BEATS * state.BEAT_BYTES,
    }  # fmt: skip
    place = 0
    for name, size in ends.items():
        place += size
        assert getattr(state, name) == place, name


def test_rings_are_powers_of_two_and_hold_what_may_be_under_way() -> None:
    assert (state.BURSTS, state.BEATS) == (64, 512)  # an index is cut by a mask
    assert sorted(Channel) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("channel", ["ar", "aw", "w"])
def test_the_payload_of_the_widest_port_has_its_place(channel: str) -> None:
    """Every signal takes whole words of what is kept of a channel."""
    widest = AXI4(addr_width=64, data_width=512, id_width=16).members.items()
    widths = [Shape.cast(member.shape).width for name, member in widest if name.startswith(channel)]
    assert len(widths) >= 5
    assert sum(WORD * -(-width // 64) for width in widths) <= state.PAYLOAD_BYTES == 128

"""Slots lie at their natural alignment, and a region ends with a whole line behind what wide loads may touch."""

import pytest

from hw.sim.translate.layout import Region

WIDTHS = (1, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 512, 513)


@pytest.mark.parametrize("first", WIDTHS)
def test_slots_do_not_overlap_and_lie_at_their_alignment(first: int) -> None:
    region = Region()
    end = 0
    for width in (first, *WIDTHS, *reversed(WIDTHS)):
        slot = region.take(width)
        assert slot.width == width
        assert end <= slot.offset < end + 64
        size = -(-width // 8)
        assert slot.offset % min(8, 1 << (size - 1).bit_length()) == 0
        end = slot.offset + size


@pytest.mark.parametrize("size", [0, 1, 47, 48, 49, 63, 64, 65, 1000])
def test_a_region_is_whole_lines_with_room_for_a_load_behind_it(size: int) -> None:
    total = Region(size).total()
    assert total % 64 == 0
    assert size + 16 <= total < size + 16 + 64

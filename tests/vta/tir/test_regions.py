"""Regions of buffers hold what they were given."""

import pytest

from vta.tir.buffer import decl_buffer
from vta.tir.expr import ExprError, Range, const
from vta.tir.regions import BufferRegion, MatchBufferRegion


def test_a_region_has_a_range_for_each_dimension() -> None:
    a, part = decl_buffer((8, 8), name="A"), decl_buffer((4, 8), name="part")
    region = BufferRegion(a, [Range(const(0), const(4)), Range(const(0), const(8))])  # type: ignore[arg-type]
    assert MatchBufferRegion(part, region).source.region[0].extent == 4
    assert isinstance(region.region, tuple)
    with pytest.raises(ExprError) as error:
        BufferRegion(a, ())
    assert str(error.value) == "a region of buffer 'A' has 2 ranges, not 0"

"""Regions of buffers hold what they were given."""

import pytest

from vta.tir.buffer import decl_buffer
from vta.tir.expr import ExprError, Range, const
from vta.tir.regions import BufferRegion, MatchBufferRegion, region_at


def test_a_region_has_a_range_for_each_dimension() -> None:
    a, part = decl_buffer((8, 8), name="A"), decl_buffer((4, 8), name="part")
    region = BufferRegion(a, [Range(const(0), const(4)), Range(const(0), const(8))])  # type: ignore[arg-type]
    assert MatchBufferRegion(part, region).source.region[0].extent == 4
    assert isinstance(region.region, tuple)
    with pytest.raises(ExprError) as error:
        BufferRegion(a, ())
    assert str(error.value) == "a region of buffer 'A' has 2 ranges, not 0"


def test_slices_of_a_buffer_are_a_region() -> None:
    buffer = decl_buffer((8, 9), "int32", "b")
    region = buffer[2:5, 3]
    assert isinstance(region, BufferRegion)
    assert [(str(r.min), str(r.extent)) for r in region.region] == [("2", "3"), ("3", "1")]
    assert [(str(r.min), str(r.extent)) for r in region_at(buffer, (slice(None), slice(4, None))).region] == [
        ("0", "8"), ("4", "5"),
    ]  # fmt: skip
    for indices, text in (
        ((slice(0, 8, 2), 1), "a region of buffer 'b' has no steps: expected begin:end, got slice(0, 8, 2)"),
        ((slice(0, 8),), "buffer 'b' has 2 dimensions, not 1"),
    ):
        with pytest.raises(ExprError) as error:
            region_at(buffer, indices)
        assert str(error.value) == text
    assert buffer.scope() == buffer.scope == "global"

"""Copies of any size, stride and padding: the instructions they become move the same elements, and each one fits."""

import random
import re
from dataclasses import replace

import pytest

from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Load, MemoryId, Store
from runtime.queue.transfer import Piece, TileCopy, TransferError, TransferLimits, split_load, split_store
from tests.support.configs import CONFIGS

DEEP = VTAConfig(log_block=1, log_uop_buff_size=8, log_inp_buff_size=17, log_wgt_buff_size=7, log_acc_buff_size=10)
"""65,536 inputs: rows that need more than 16 bits, and pads of any size, fit on chip."""

GARBAGE = -1


def limits(config: VTAConfig) -> TransferLimits:
    return TransferLimits.of(config)


def load_model(copy: TileCopy, depth: int) -> list[int]:
    """Return the scratchpad after the load; element number n of the buffer holds n + 1."""
    sram = [GARBAGE] * depth
    place = copy.sram_base
    for row in range(-copy.y_pad_0, copy.y_size + copy.y_pad_1):
        for column in range(-copy.x_pad_0, copy.x_size + copy.x_pad_1):
            inside = 0 <= row < copy.y_size and 0 <= column < copy.x_size
            sram[place] = copy.offset + row * copy.x_stride + column + 1 if inside else 0
            place += 1
    return sram


def load_pieces(pieces: tuple[Piece, ...], depth: int, config: VTAConfig) -> list[int]:
    """Return the scratchpad after the pieces, one after the other; each must encode and do work."""
    sram = [GARBAGE] * depth
    for piece in pieces:
        copy = piece.copy
        assert copy.x_size
        assert copy.y_size
        encode(
            Load(
                memory=copy.memory,
                sram_base=copy.sram_base,
                dram_base=copy.offset,
                y_size=copy.y_size,
                x_size=copy.x_size,
                x_stride=copy.x_stride,
                y_pad_0=copy.y_pad_0,
                y_pad_1=copy.y_pad_1,
                x_pad_0=copy.x_pad_0,
                x_pad_1=copy.x_pad_1,
            ),
            config,
        )
        if piece.zeros:
            assert copy.offset == 0
            assert copy.reach == 1
        for place, value in enumerate(load_model(copy, depth)):
            if value != GARBAGE:
                sram[place] = 0 if piece.zeros else value
    return sram


def assert_same_load(copy: TileCopy, config: VTAConfig) -> int:
    """Assert that the pieces fill the tile and nothing else; return how many there are."""
    depth = config.depth(copy.memory)
    pieces = split_load(copy, 1 << 40, limits(config))
    assert load_pieces(pieces, depth, config) == load_model(copy, depth)
    return len(pieces)


def test_a_copy_that_fits_is_one_instruction_as_it_is() -> None:
    copy = TileCopy(
        memory=MemoryId.INP,
        sram_base=3,
        offset=5,
        x_size=4,
        y_size=2,
        x_stride=9,
        x_pad_0=15,
        y_pad_0=15,
        x_pad_1=15,
        y_pad_1=15,
    )
    assert split_load(copy, 1 << 20, limits(VTAConfig())) == (Piece(copy),)
    store = TileCopy(memory=MemoryId.OUT, sram_base=3, offset=5, x_size=1022, y_size=2, x_stride=65535)
    assert split_store(store, 1 << 30, limits(VTAConfig())) == (Piece(store),)


@pytest.mark.parametrize(
    ("field", "most"),
    [
        ("x_pad_0", 15),
        ("x_pad_1", 15),
        ("y_pad_0", 15),
        ("y_pad_1", 15),
        ("x_size", 65535),
        ("y_size", 65535),
        ("x_stride", 65535),
    ],
)
def test_a_field_holds_its_largest_value_and_no_more(field: str, most: int) -> None:
    largest, larger = (copy_of(**{"x_size": 1, "y_size": 1, "x_stride": 3, field: value}) for value in (most, most + 1))
    assert split_load(largest, 1 << 40, limits(DEEP)) == (Piece(largest),)
    assert split_load(larger, 1 << 40, limits(DEEP)) != (Piece(larger),)


SMALL = replace(TransferLimits.of(DEEP), size=8)
"""Fields of three bits for sizes and stride, so that their limits are soon reached."""


def test_rows_of_the_largest_size_keep_their_pads() -> None:
    copy = TileCopy(memory=MemoryId.INP, sram_base=0, offset=0, x_size=8, y_size=2, x_stride=9, x_pad_0=15)
    pieces = split_load(copy, 1 << 20, SMALL)
    assert [piece.copy.x_pad_0 for piece in pieces] == [15, 15]


def test_rows_at_the_largest_stride_stay_together() -> None:
    copy = TileCopy(memory=MemoryId.INP, sram_base=0, offset=0, x_size=2, y_size=17, x_stride=8)
    assert [piece.copy.y_size for piece in split_load(copy, 1 << 20, SMALL)] == [8, 8, 1]
    output = TileCopy(memory=MemoryId.OUT, sram_base=0, offset=0, x_size=8, y_size=9, x_stride=8)
    assert [piece.copy.y_size for piece in split_store(output, 1 << 20, SMALL)] == [8, 1]


def test_a_tile_may_end_where_its_buffers_end() -> None:
    config = VTAConfig()
    copy = TileCopy(memory=MemoryId.INP, sram_base=2044, offset=3, x_size=2, y_size=2, x_stride=5)
    assert split_load(copy, 10 * 16, limits(config)) == (Piece(copy),)


def test_random_loads_fill_their_tile() -> None:
    rng = random.Random(11)
    for _ in range(250):
        memory = rng.choice([MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.ACC_8BIT])
        big = rng.choice([0, 1, 2, 16, 17, 31, 40])
        copy = TileCopy(
            memory=memory,
            sram_base=rng.randrange(9),
            offset=rng.randrange(100),
            x_size=rng.choice([0, 1, 2, 5]),
            y_size=rng.choice([0, 1, 2, 3]),
            x_stride=rng.choice([0, 3, 5, 7, 65535, 65536, 1 << 20]),
            x_pad_0=rng.choice([0, 0, 1, 15, 16]),
            y_pad_0=rng.choice([0, 0, 1, 15, 16, big // 2]),
            x_pad_1=rng.choice([0, 0, 2, 15, 17]),
            y_pad_1=rng.choice([0, 0, 3, 15, 18, big // 3]),
        )
        config = rng.choice(list(CONFIGS.values()))
        if copy.sram_base + copy.rows * copy.width <= config.depth(memory):
            assert_same_load(copy, config)


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        ({"x_size": 4, "y_size": 5, "x_stride": 9, "y_pad_0": 16}, 2),
        ({"x_size": 4, "y_size": 5, "x_stride": 9, "y_pad_0": 40, "y_pad_1": 100}, 5),
        ({"x_size": 4, "y_size": 5, "x_stride": 9, "x_pad_0": 16}, 7),
        ({"x_size": 4, "y_size": 1, "x_stride": 0, "x_pad_0": 300, "x_pad_1": 200}, 3),
        ({"x_size": 0, "y_size": 0, "x_stride": 0, "x_pad_0": 20, "y_pad_0": 20, "y_pad_1": 3}, 2),
        ({"x_size": 4, "y_size": 5, "x_stride": 65536, "x_pad_0": 3, "y_pad_0": 2}, 5),
    ],
)
def test_large_pads_and_strides_take_few_instructions(fields: dict[str, int], most: int) -> None:
    copy = TileCopy(memory=MemoryId.INP, sram_base=7, offset=2, **fields)
    assert assert_same_load(copy, VTAConfig()) <= most


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        ({"x_size": 65536, "y_size": 1, "x_stride": 65536}, 2),
        ({"x_size": 1, "y_size": 65536, "x_stride": 3}, 2),
        ({"x_size": 1, "y_size": 65536, "x_stride": 1 << 16}, 65536),
        ({"x_size": 1, "y_size": 1, "x_stride": 1, "y_pad_0": 65535}, 3),
        ({"x_size": 300, "y_size": 2, "x_stride": 1 << 21, "x_pad_0": 30000, "x_pad_1": 2000}, 4),
    ],
)
def test_sizes_beyond_16_bits_are_cut(fields: dict[str, int], most: int) -> None:
    copy = TileCopy(memory=MemoryId.INP, sram_base=0, offset=2, **fields)
    pieces = split_load(copy, 1 << 40, limits(DEEP))
    assert len(pieces) <= most
    if len(pieces) < 10:
        assert_same_load(copy, DEEP)


def test_clearing_a_region_reads_few_elements() -> None:
    copy = TileCopy(memory=MemoryId.INP, sram_base=0, offset=0, x_size=0, y_size=0, x_stride=0, x_pad_0=8, y_pad_0=250)
    pieces = split_load(copy, 16, limits(VTAConfig()))
    assert len(pieces) == 2
    assert sum(piece.copy.y_size for piece in pieces) == 35
    assert assert_same_load(copy, VTAConfig()) == 2


def test_an_empty_tile_needs_no_instruction() -> None:
    empty = TileCopy(memory=MemoryId.INP, sram_base=0, offset=0, x_size=0, y_size=5, x_stride=0)
    assert split_load(empty, 16, limits(VTAConfig())) == ()
    assert (
        split_store(
            TileCopy(memory=MemoryId.OUT, sram_base=0, offset=0, x_size=3, y_size=0, x_stride=0), 1, limits(VTAConfig())
        )
        == ()
    )


def stored(pieces: tuple[Piece, ...], config: VTAConfig) -> dict[int, int]:
    """Return which scratchpad element each DRAM element receives; every piece must encode."""
    dram = {}
    for piece in pieces:
        c = piece.copy
        encode(
            Store(sram_base=c.sram_base, dram_base=c.offset, y_size=c.y_size, x_size=c.x_size, x_stride=c.x_stride),
            config,
        )
        for y in range(c.y_size):
            for x in range(c.x_size):
                dram[c.offset + y * c.x_stride + x] = c.sram_base + y * c.x_size + x
    return dram


@pytest.mark.parametrize("stride", [5, 65535, 65536, 1 << 20])
@pytest.mark.parametrize(("x_size", "y_size"), [(5, 1), (5, 4), (1, 7)])
def test_stores_reach_the_same_elements(stride: int, x_size: int, y_size: int) -> None:
    config = VTAConfig()
    copy = TileCopy(memory=MemoryId.OUT, sram_base=9, offset=3, x_size=x_size, y_size=y_size, x_stride=stride)
    expected = {3 + y * stride + x: 9 + y * x_size + x for y in range(y_size) for x in range(x_size)}
    assert stored(split_store(copy, 1 << 40, limits(config)), config) == expected


def copy_of(**fields: int) -> TileCopy:
    base = {"sram_base": 0, "offset": 0, "x_size": 4, "y_size": 2, "x_stride": 8}
    return TileCopy(memory=MemoryId(fields.pop("memory", MemoryId.INP)), **{**base, **fields})


@pytest.mark.parametrize(
    ("copy", "message"),
    [
        (copy_of(memory=0), "load of UOP: the queue loads micro-ops itself; use INP, WGT, ACC or ACC_8BIT"),
        (copy_of(memory=4), "load of OUT: it can only be stored; use INP, WGT, ACC or ACC_8BIT"),
        (copy_of(x_size=-1), "load of INP: x_size is -1, and nothing here is negative"),
        (copy_of(y_pad_1=-2), "load of INP: y_pad_1 is -2, and nothing here is negative"),
        (
            copy_of(sram_base=2041),
            "load of INP: 2 rows of 4 elements (pads included) from element 2041 end at 2049, and the buffer has 2048",
        ),
        (
            copy_of(offset=1),
            "load of INP: 2 rows of 4 elements with stride 8 from element 1 end at byte 208 of a DRAM buffer of 192 "
            "bytes (an element has 16)",
        ),
    ],
)
def test_loads_that_leave_a_buffer_are_refused(copy: TileCopy, message: str) -> None:
    with pytest.raises(TransferError, match=f"^{re.escape(message)}$"):
        split_load(copy, 192, limits(VTAConfig()))


def test_stores_that_leave_a_buffer_and_other_memories_are_refused() -> None:
    with pytest.raises(TransferError, match=re.escape("store from ACC: only OUT can be stored")):
        split_store(copy_of(memory=3), 192, limits(VTAConfig()))
    message = (
        "store of OUT: 2 rows of 4 elements with stride 8 from element 0 end at byte 192 of a DRAM buffer of 191 bytes "
        "(an element has 16)"
    )
    with pytest.raises(TransferError, match=f"^{re.escape(message)}$"):
        split_store(copy_of(memory=4), 191, limits(VTAConfig()))


def test_narrow_inputs_have_no_8_bit_accumulator_loads() -> None:
    config = VTAConfig(log_inp_width=2, log_wgt_width=2, log_inp_buff_size=14, log_wgt_buff_size=17)
    with pytest.raises(
        TransferError, match=re.escape("load of ACC_8BIT: it needs inputs of 8 bits, and the configuration has 4")
    ):
        split_load(copy_of(memory=5), 1 << 20, limits(config))

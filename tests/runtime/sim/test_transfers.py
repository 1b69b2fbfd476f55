"""LOAD and STORE of the functional simulator, against numpy and the reference."""

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Load, MemoryId, Store
from runtime.sim.code_path import CodePath
from tests.support.configs import CONFIGS
from tests.support.odd_configs import ODD_CONFIGS
from tests.support.runtime.functional_rig import Rig

TILES = (MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.ACC_8BIT)
SEED = 3


def any_bytes(nbytes: int) -> "np.ndarray[tuple[int], np.dtype[np.uint8]]":
    return np.random.default_rng(SEED).integers(0, 256, nbytes, dtype=np.uint8)


def fits(config: VTAConfig, memory: MemoryId, count: int) -> bool:
    allowed = memory is not MemoryId.ACC_8BIT or config.inp_width == 8
    return allowed and count <= config.depth(memory)


@pytest.mark.parametrize("memory", TILES)
@pytest.mark.parametrize("name", CONFIGS)
def test_a_padded_strided_load_fills_rows_and_zeros(name: str, memory: MemoryId, code_path: CodePath) -> None:
    config = CONFIGS[name]
    rig = Rig(config, code_path)
    base = rig.array(any_bytes(64 * config.elem_bytes(memory)), memory)
    # Numbers everywhere first, so that a zero that was not written shows.
    fill = Load(memory=memory, dram_base=base, y_size=1, x_size=60, x_stride=60)
    load = Load(
        memory=memory,
        sram_base=3,
        dram_base=base + 1,
        y_size=3,
        x_size=4,
        x_stride=7,
        y_pad_0=1,
        y_pad_1=2,
        x_pad_0=2,
        x_pad_1=1,
    )
    stats = rig.run(fill, load).statistics
    moved = (60 + 12) * config.elem_bytes(memory)
    name_of = {MemoryId.INP: "inp", MemoryId.WGT: "wgt", MemoryId.ACC: "acc", MemoryId.ACC_8BIT: "acc"}
    assert stats.as_dict()[f"{name_of[memory]}_load_nbytes"] == moved
    held = rig.simulator.scratchpad(memory)
    assert not held[3 : 3 + 7 + 2].any()
    assert held[3 + 7 + 2 : 3 + 7 + 6].any()


@pytest.mark.parametrize("name", ODD_CONFIGS)
def test_every_load_and_store_of_odd_elements_equals_the_reference(name: str, code_path: CodePath) -> None:
    config = ODD_CONFIGS[name]
    rig = Rig(config, code_path)
    for memory in TILES:
        if fits(config, memory, 4):
            base = rig.array(any_bytes(16 * config.elem_bytes(memory)), memory)
            rig.run(Load(memory=memory, dram_base=base, y_size=2, x_size=2, x_stride=5))
            if fits(config, memory, 6):
                rig.run(Load(memory=memory, dram_base=base + 3, y_size=1, x_size=2, x_pad_0=1, y_pad_1=1))
    out = rig.room(16 * config.out_elem_bytes, MemoryId.OUT)
    rig.run(Store(dram_base=out, y_size=2, x_size=2, x_stride=3))


def test_numbers_of_four_bits_are_packed_from_the_lowest_bits_up(code_path: CodePath) -> None:
    config = ODD_CONFIGS["four_bit"]
    rig = Rig(config, code_path)
    packed = np.array([0x21, 0x87, 0xF0], np.uint8)
    raw = np.zeros(config.inp_elem_bytes, np.uint8)
    raw[:3] = packed
    rig.launch(Load(memory=MemoryId.INP, dram_base=rig.array(raw, MemoryId.INP), y_size=1, x_size=1))
    assert rig.simulator.scratchpad(MemoryId.INP)[0, 0, :6].tolist() == [1, 2, 7, -8, 0, -1]


def test_one_bit_is_zero_or_minus_one(code_path: CodePath) -> None:
    config = ODD_CONFIGS["one_bit"]
    rig = Rig(config, code_path)
    raw = np.array([0b101, 0x80], np.uint8)
    rig.launch(Load(memory=MemoryId.INP, dram_base=rig.array(raw, MemoryId.INP), y_size=1, x_size=1))
    assert rig.simulator.scratchpad(MemoryId.INP)[0, 0].tolist() == [-1, 0, -1, *[0] * 12, -1]


def test_a_store_keeps_the_low_bits_of_what_a_load_put_into_the_accumulator(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    numbers = np.array([0, 1, -1, 127, 128, 255, 256, -129, 2**31 - 1, -(2**31), 511, -256, 5, 6, 7, 8], np.int32)
    base = rig.array(numbers, MemoryId.ACC)
    out = rig.room(16, MemoryId.OUT)
    rig.run(
        Load(memory=MemoryId.ACC, dram_base=base, y_size=1, x_size=1),
        Store(dram_base=out, y_size=1, x_size=1),
    )
    stored = rig.memory.view(out * 16, 16).view(np.int8)
    assert stored.tolist() == numbers.astype(np.int8).tolist()


def test_rows_that_overlap_in_dram_are_stored_in_order(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    base = rig.array(np.arange(16 * 12, dtype=np.int32), MemoryId.ACC)
    out = rig.room(16 * 16, MemoryId.OUT)
    rig.run(
        Load(memory=MemoryId.ACC, dram_base=base, y_size=1, x_size=12),
        Store(dram_base=out, y_size=3, x_size=4, x_stride=1),
    )


@pytest.mark.parametrize(("y_size", "x_size"), [(0, 3), (3, 0)])
def test_a_size_of_zero_moves_and_pads_nothing(y_size: int, x_size: int, code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    base = rig.array(any_bytes(64 * 16), MemoryId.INP)
    fill = Load(memory=MemoryId.INP, dram_base=base, y_size=1, x_size=64)
    empty = Load(memory=MemoryId.INP, sram_base=65535, y_size=y_size, x_size=x_size, y_pad_0=15, x_pad_1=15)
    store = Store(sram_base=65535, y_size=y_size, x_size=x_size)
    stats = rig.run(fill, empty, store).statistics
    assert stats.inp_load_nbytes == 64 * 16
    assert stats.out_store_nbytes == 0


def test_the_last_element_of_every_scratchpad_can_be_loaded(code_path: CodePath) -> None:
    config = VTAConfig()
    rig = Rig(config, code_path)
    for memory in TILES:
        base = rig.array(any_bytes(config.elem_bytes(memory)), memory)
        rig.run(Load(memory=memory, sram_base=config.depth(memory) - 1, dram_base=base, y_size=1, x_size=1))


def test_scratchpads_start_as_zeros_and_keep_their_contents_from_launch_to_launch(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    for memory in (MemoryId.UOP, MemoryId.INP, MemoryId.WGT, MemoryId.ACC):
        assert not rig.simulator.scratchpad(memory).any()
    base = rig.array(any_bytes(16), MemoryId.INP)
    rig.run(Load(memory=MemoryId.INP, dram_base=base, y_size=1, x_size=1))
    held = rig.simulator.scratchpad(MemoryId.INP)
    rig.run()
    assert held.any()
    assert np.array_equal(rig.simulator.scratchpad(MemoryId.INP), held)


def test_a_load_sees_what_an_earlier_store_of_the_launch_wrote(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    base = rig.array(np.arange(16, dtype=np.int32), MemoryId.ACC)
    out = rig.room(16, MemoryId.OUT)
    rig.run(
        Load(memory=MemoryId.ACC, dram_base=base, y_size=1, x_size=1),
        Store(dram_base=out, y_size=1, x_size=1),
        Load(memory=MemoryId.INP, dram_base=out, y_size=1, x_size=1),
    )
    assert rig.simulator.scratchpad(MemoryId.INP)[0, 0].tolist() == list(range(16))

"""Places of one scratchpad one after the other, each at a whole element."""

import re

import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import alloc, block, buffer
from tests.support.configs import CONFIGS
from vta.passes.memory_info import memory_info
from vta.passes.storage.reuse import StoragePlace
from vta.passes.storage.tagged_merge import CapacityError, check_capacity, index_constant, lay_out
from vta.tir.dtype import INT32, DType
from vta.tir.scopes import ACC_SCOPE, WGT_SCOPE


def place(name: str, bits: int, scope: str = ACC_SCOPE) -> StoragePlace:
    return StoragePlace(scope, INT32, 0, bits, [alloc(buffer(name, [bits // 32], "int32", scope), block())])


@pytest.mark.parametrize("name", CONFIGS)
def test_every_place_starts_at_a_whole_element(name: str) -> None:
    config = CONFIGS[name]
    unit = memory_info(config, ACC_SCOPE).unit_bits
    [block_of] = lay_out([place("a", unit * 3), place("b", 32), place("c", unit)], config)
    assert block_of.offsets == (0, unit * 3, unit * 4)
    assert block_of.bits == unit * 5
    assert block_of.var.name == "a"


def test_each_memory_has_a_block_and_host_memory_one_a_place() -> None:
    places = [
        place("a", 512),
        place("w", 2048, WGT_SCOPE),
        place("h", 64, "local"),
        place("b", 512),
        place("i", 64, "local"),
    ]
    blocks = lay_out(places, VTAConfig())
    assert [[p.var.name for p in b.places] for b in blocks] == [["a", "b"], ["w"], ["h"], ["i"]]


def test_a_memory_that_no_configuration_has_is_aligned_to_32_bits() -> None:
    [merged] = lay_out([place("a", 32, "local.x"), place("b", 40, "local.x"), place("c", 32, "local.x")], VTAConfig())
    assert (merged.offsets, merged.bits) == ((0, 32, 96), 128)


def test_blocks_of_several_attach_scopes_share_the_limit() -> None:
    config = VTAConfig()
    half = config.acc_depth * 512 // 2
    blocks = [*lay_out([place("a", half)], config), *lay_out([place("b", half)], config)]
    check_capacity(blocks, config)
    with pytest.raises(CapacityError, match=r"got 2049 elements"):
        check_capacity([*blocks, *lay_out([place("c", 8)], config)], config)


def test_many_names_are_cut_short() -> None:
    config = VTAConfig()
    [merged] = lay_out([place(f"m{k}", config.acc_depth * 512) for k in range(8)], config)
    shared = place("x", config.acc_depth * 512)
    shared.allocations += [alloc(buffer(n, [1], "int32", ACC_SCOPE), block()) for n in ("y", "z", "u")]
    with pytest.raises(CapacityError) as error:
        check_capacity([merged], config)
    assert "'m5' (2048 elements) and 2 more: expected at most 2048 elements" in str(error.value)
    with pytest.raises(CapacityError, match=r"too small for 'x/y/z/\.\.\.' "):
        check_capacity([*lay_out([shared], config), merged], config)


def test_an_index_that_needs_more_than_32_bits_gets_them() -> None:
    assert index_constant(5).dtype == "int32"
    assert index_constant(1 << 31).dtype == DType("int64")


def test_up_to_three_names_share_a_place_in_full_and_needs_are_counted_in_bytes() -> None:
    config = VTAConfig()
    shared = place("x", (config.acc_depth + 1) * 512)
    shared.allocations += [alloc(buffer(n, [1], "int32", ACC_SCOPE), block()) for n in ("y", "z")]
    with pytest.raises(CapacityError) as error:
        check_capacity(lay_out([shared, place("w", 32)], config), config)
    assert str(error.value) == (
        "the function: memory 'local.acc_buffer' is too small for 'x/y/z' (2049 elements), 'w' (1 element): expected "
        "at most 2048 elements (131072 bytes), got 2050 elements (131200 bytes); an element is 1x16 int32; use smaller "
        "tiles or fewer virtual threads"
    )


def test_six_names_are_told_and_more_are_counted() -> None:
    config = VTAConfig()
    for count, end in ((6, "'m5' (2048 elements): "), (7, "'m5' (2048 elements) and 1 more: ")):
        [merged] = lay_out([place(f"m{k}", config.acc_depth * 512) for k in range(count)], config)
        with pytest.raises(CapacityError, match=re.escape(end)):
            check_capacity([merged], config)


def test_what_fills_a_memory_to_the_last_element_fits() -> None:
    config = VTAConfig()
    check_capacity(lay_out([place("a", config.acc_depth * 512 - 32), place("b", 0)], config), config)
    assert index_constant((1 << 31) - 1).dtype == "int32"

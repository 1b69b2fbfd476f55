"""What the passes know about the scratchpads."""

import pytest

from isa.config import VTAConfig
from isa.instructions import MemoryId, Module
from isa.origin import Origin
from tests.support.configs import CONFIGS
from vta.passes.memory_info import MemoryScopeError, find_memory, memory_info, output_memory
from vta.tir.scopes import ACC_SCOPE, INP_SCOPE, WGT_SCOPE

SCOPES = (INP_SCOPE, WGT_SCOPE, ACC_SCOPE)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_sizes_come_from_the_configuration(config: VTAConfig) -> None:
    elements = {
        INP_SCOPE: (config.inp_elem_bits, config.inp_depth),
        WGT_SCOPE: (config.wgt_elem_bits, config.wgt_depth),
        ACC_SCOPE: (config.acc_elem_bits, config.acc_depth),
    }
    for scope, (bits, depth) in elements.items():
        info = memory_info(config, scope)
        assert (info.unit_bits, info.max_simd_bits, info.depth) == (bits, bits, depth)
        assert info.max_num_bits == bits * depth


def test_each_memory_has_its_shape_id_and_queue() -> None:
    config = CONFIGS["in16out32"]
    facts = {s: (i.dtype, i.rows, i.columns, i.memory, i.queue) for s in SCOPES for i in [memory_info(config, s)]}
    assert facts == {
        INP_SCOPE: ("int8", 1, 16, MemoryId.INP, Module.LOAD),
        WGT_SCOPE: ("int8", 32, 16, MemoryId.WGT, Module.LOAD),
        ACC_SCOPE: ("int32", 1, 32, MemoryId.ACC, Module.COMPUTE),
    }


def test_a_store_sees_the_accumulator_in_the_output_type() -> None:
    info = output_memory(CONFIGS["b2k16"])
    assert (info.scope, info.dtype, info.lanes) == (ACC_SCOPE, "int8", 32)
    assert (info.memory, info.queue) == (MemoryId.OUT, Module.STORE)
    assert info.depth == memory_info(CONFIGS["b2k16"], ACC_SCOPE).depth


def test_dram_is_no_scratchpad() -> None:
    assert find_memory(VTAConfig(), "global") is None
    with pytest.raises(MemoryScopeError) as caught:
        memory_info(VTAConfig(), "shared")
    assert str(caught.value) == (
        "the function: unknown memory scope: expected 'local.inp_buffer', 'local.wgt_buffer' or 'local.acc_buffer', "
        "got 'shared'"
    )


def test_a_misspelt_scope_is_refused_with_the_stage_and_the_scope_that_was_meant() -> None:
    with pytest.raises(MemoryScopeError) as caught:
        memory_info(VTAConfig(), "local.acc_bufer", Origin("A_buf", "add.py:3"))
    assert str(caught.value) == (
        "stage 'A_buf' (add.py:3): unknown memory scope: expected 'local.inp_buffer', 'local.wgt_buffer' or "
        "'local.acc_buffer', got 'local.acc_bufer'; did you mean 'local.acc_buffer'?"
    )

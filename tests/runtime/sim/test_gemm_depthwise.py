"""Depthwise steps of the functional simulator: the reference's sums at the extremes, whatever the loops share."""

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Gemm, Load, MemoryId, MicroOp
from runtime.devices.device import ExecutionError
from runtime.sim.code_path import CodePath
from tests.support.odd_configs import ODD_CONFIGS
from tests.support.runtime.functional_rig import Rig

CONFIGS = {
    "depthwise": ODD_CONFIGS["depthwise"],
    "depthwise_int4": ODD_CONFIGS["depthwise_int4"],
    "taps_of_a_block": VTAConfig(log_batch=1, depthwise_taps=16),
    "one_lane": VTAConfig(
        log_block=0,
        log_uop_buff_size=8,
        log_inp_buff_size=6,
        log_wgt_buff_size=6,
        log_acc_buff_size=8,
        depthwise_taps=1,
    ),
}


def loaded(config: VTAConfig, code_path: CodePath, *, extreme: bool) -> Rig:
    """Return a rig whose first elements of each scratchpad are loaded, with two micro-ops."""
    rng = np.random.default_rng(3)
    rig = Rig(config, code_path)
    loads = []
    for memory in (MemoryId.INP, MemoryId.WGT, MemoryId.ACC):
        count = min(config.depth(memory), 64)
        nbytes = count * config.elem_bytes(memory)
        raw = np.full(nbytes, 0x80, np.uint8) if extreme else rng.integers(0, 256, nbytes, dtype=np.uint8)
        loads.append(Load(memory=memory, dram_base=rig.array(raw, memory), y_size=1, x_size=count))
    rig.run(*loads, rig.micro_ops([MicroOp(), MicroOp(dst=1, src=2, wgt=1)]))
    return rig


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_depthwise_steps_are_the_references(name: str, extreme: bool, code_path: CodePath) -> None:
    rig = loaded(CONFIGS[name], code_path, extreme=extreme)
    for loops in (
        {"iter_out": 3, "iter_in": 2, "dst_factor_out": 2, "dst_factor_in": 1, "src_factor_in": 1},
        {"iter_out": 2, "iter_in": 3, "dst_factor_out": 1, "src_factor_in": 2, "wgt_factor_in": 1},
        {"iter_out": 3, "src_factor_out": 3, "wgt_factor_out": 1},
        {"iter_in": 0},
    ):
        rig.run(Gemm(uop_end=2, depthwise=True, **loops), Gemm(uop_end=1, **loops))  # type: ignore[arg-type]


def test_a_reset_is_the_same_with_the_flag(code_path: CodePath) -> None:
    rig = loaded(CONFIGS["depthwise"], code_path, extreme=False)
    rig.run(Gemm(uop_end=1, reset=True, depthwise=True, iter_in=4, dst_factor_in=1, src_factor_in=2047))


def test_the_last_tap_has_to_be_inside_of_the_buffer(code_path: CodePath) -> None:
    config = CONFIGS["depthwise"]
    rig = loaded(config, code_path, extreme=False)
    last = config.inp_depth - 3
    rig.run(Gemm(uop_end=1, iter_in=2, src_factor_in=last, depthwise=True))
    with pytest.raises(ExecutionError) as caught:
        rig.launch(Gemm(uop_end=1, iter_in=2, src_factor_in=last + 1, depthwise=True))
    depth = config.inp_depth
    assert str(caught.value) == f"instruction 0: input index {depth} is out of range, the buffer has {depth} elements"

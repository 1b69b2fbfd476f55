# amaranth: UnusedElaboratable=no
"""Depthwise steps on the stage: exact with multipliers of their own and shared ones, at the rate of other steps."""

from dataclasses import replace

import numpy as np
import pytest

from hw.compute.gemm import GemmCore
from hw.errors import ComponentError
from isa.config import VTAConfig
from isa.instructions import Gemm, MicroOp
from isa.machine.hardware_config import HardwareConfig
from tests.support.hw.compute_rig import ComputeRig, Stalls, load_uops, random_compute_program, uop_image

SMALL = VTAConfig(log_block=2, log_uop_buff_size=8, log_inp_buff_size=8, log_wgt_buff_size=9, log_acc_buff_size=10)
CONFIGS = {
    "two_of_four": replace(SMALL, depthwise_taps=2),
    "three_of_eight": replace(SMALL, log_block=3, log_wgt_buff_size=11, depthwise_taps=3),
    "batch": replace(SMALL, log_batch=1, log_inp_width=2, log_wgt_width=1, depthwise_taps=1),
}

QUICK = (("two_of_four", 1),)


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        pytest.param(
            name, shared, marks=() if (name, shared) in (("batch", 0), ("two_of_four", 1)) else pytest.mark.long
        )
        for name in CONFIGS
        for shared in (0, 1)
    ],
)
def test_random_programs_agree_with_the_reference(name: str, shared: int) -> None:
    config, hardware = CONFIGS[name], HardwareConfig(share_multipliers=shared)
    lane_by_lane = 0
    for seed in range(3):
        program, memory = random_compute_program(np.random.default_rng(seed), config)
        lane_by_lane += sum(isinstance(each, Gemm) and each.depthwise and not each.reset for each in program)
        rig = ComputeRig(config, seed=seed, stalls=Stalls(insn=30, memory=30), hardware=hardware, memory=memory)
        rig.run(program)
        rig.check()
    assert lane_by_lane >= 3


def test_all_taps_may_be_lanes_where_nothing_is_shared() -> None:
    config = replace(SMALL, depthwise_taps=4)
    program, memory = random_compute_program(np.random.default_rng(4), config)
    rig = ComputeRig(config, seed=4, memory=memory)
    rig.run(program)
    rig.check()


def test_steps_of_both_kinds_follow_each_other_without_a_bubble() -> None:
    config = CONFIGS["two_of_four"]
    uops = [MicroOp(dst=index % 3, src=index, wgt=index % 4) for index in range(8)]
    cycles = []
    for flags in ((False,) * 6, (False, True) * 3, (True,) * 6):
        rig = ComputeRig(config, seed=2, memory=uop_image(uops, config).ljust(256, b"\0"))
        rig.run([load_uops(len(uops))])
        cycles.append(rig.run([Gemm(uop_end=8, iter_in=4, depthwise=flag) for flag in flags]).finish)
        rig.check()
    assert len(set(cycles)) == 1


def test_more_taps_than_shared_lanes_are_refused() -> None:
    with pytest.raises(ComponentError) as caught:
        GemmCore(replace(SMALL, depthwise_taps=3), ahead=0, share_multipliers=True)
    assert str(caught.value) == (
        "GemmCore with shared multipliers has lanes for 2 depthwise taps, not 3; set DEPTHWISE_TAPS or "
        "share_multipliers to less"
    )

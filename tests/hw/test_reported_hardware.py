# amaranth: UnusedElaboratable=no
"""What users of such hardware reported, on the whole core in native code; the rest is in tests/cocotb."""

import numpy as np
import pytest

from hw.config import HardwareConfig
from isa.config import VTAConfig
from isa.reference import execute
from tests.support.core_sim import CoreSim
from tests.support.random_programs import random_program

SMALL = VTAConfig(log_block=1, log_uop_buff_size=7, log_inp_buff_size=6, log_wgt_buff_size=7, log_acc_buff_size=8)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_br_047_instructions_that_come_with_gaps_into_short_queues_hang_nothing(depth: int) -> None:
    core = CoreSim(SMALL, HardwareConfig(inst_queue_depth=depth))
    rng = np.random.default_rng(47)
    for index, stall in enumerate((0.0, 0.5, 0.9, 0.96)):  # half of the gaps at 0.96 exceed 16 cycles
        program = random_program(rng, SMALL, length=30)
        core.design.reset()  # the reference begins with scratchpads of zeros
        launch, memory = core.run(program, latency=1 + 20 * index, stalls=stall, seed=index + 1)
        assert launch.done, (depth, index, launch)
        np.testing.assert_array_equal(memory, execute(program).memory)

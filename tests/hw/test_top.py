from typing import Any

import numpy as np

from hw.top import Top
from isa.encoding import encode
from isa.instructions import Finish
from isa.machine.causes import Cause
from isa.machine.counters import COUNTED_MODULES
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import control_registers, register
from isa.reference import execute
from tests.support.hw.axi_dram import AxiDram
from tests.support.hw.axil_host import AxilHost
from tests.support.hw.core_rig import memory_after, program_image
from tests.support.hw.hw_streams import run_benches
from tests.support.isa.random_programs import random_program
from tests.support.odd_configs import ODD_CONFIGS

VTA = ODD_CONFIGS["two_lanes_in"]
HARDWARE = HardwareConfig(data_width=128, addr_width=40)


def test_a_host_runs_a_program_an_illegal_one_and_a_misaligned_one_through_the_registers() -> None:
    program = random_program(np.random.default_rng(3), VTA, length=8)
    memory, address = program_image(program)
    count = len(program.words)
    bad = -(-(address + 16 * count) // 64) * 64
    memory[bad : bad + 32] = (7).to_bytes(16, "little") + encode(Finish(), VTA).to_bytes(16, "little")
    want = execute(program).memory
    top = Top(VTA, HARDWARE)
    host = AxilHost(top.s_axil, seed=1, stall=0.2)
    dram = AxiDram(memory, latency=5, stall=0.1, seed=2)
    registers = control_registers(VTA, HARDWARE)

    def offset(name: str) -> Any:
        return register(registers, name).offset

    async def launch(ctx: Any, where: int, instructions: int) -> Any:
        await host.write(ctx, offset("insn_address"), where)
        await host.write(ctx, offset("insn_count"), instructions)
        await host.write(ctx, offset("irq_pending"), 1)
        await host.write(ctx, offset("launch"), 1)
        assert not ctx.get(top.irq)
        while (status := await host.read(ctx, offset("status"))) & 1:
            pass
        assert ctx.get(top.irq)
        cycles = await host.read(ctx, offset("cycles"))
        for module in COUNTED_MODULES:
            counts = [await host.read(ctx, offset(f"{module}_{cause.name.lower()}")) for cause in Cause]
            assert sum(counts) == cycles
            assert counts[Cause.WORK] > 0 or status != 0b010
        return status

    async def bench(ctx: Any) -> None:
        await host.write(ctx, offset("irq_enable"), 1)
        assert await host.read(ctx, offset("vta_digest")) == int(VTA.digest, 16) & 0xFFFFFFFF
        assert await launch(ctx, bad, 2) == 0b100 | 1 << 8
        assert await host.read(ctx, offset("error_place")) == 0
        assert await launch(ctx, address, count) == 0b010
        assert await host.read(ctx, offset("fetched")) == count
        assert await host.read(ctx, offset("cycles")) > count
        assert await launch(ctx, address + 8, count) == 0b100 | ErrorCode.MISALIGNED << 8
        assert await host.read(ctx, offset("cycles")) == 0

    run_benches(top, bench, background=(dram.bench(top.m_axi),))
    np.testing.assert_array_equal(memory_after(program, memory), want)

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from hw.instruction_check import InstructionCheck
from isa.config import VTAConfig
from isa.encoding import DecodingError, decode
from isa.instructions import Finish, Module
from isa.machine.error_codes import ErrorCode
from tests.support.configs import CONFIGS
from tests.support.odd_configs import ODD_CONFIGS


def interesting_words(config: VTAConfig, generator: random.Random, count: int) -> Any:
    """Return words that are often legal: few bits set, or a small change of such a word."""
    words = []
    for _ in range(count):
        word = generator.choice([0, 1, 2, 3, 4, 5, 7])
        for _ in range(generator.randrange(0, 6)):
            word |= 1 << generator.randrange(3, 128)
        if word & 7 < 2:
            word |= generator.randrange(8) << 7
        words.append(word)
    return words


@pytest.mark.parametrize("config", [CONFIGS["default"], CONFIGS["b1k8"], ODD_CONFIGS["one_bit"]], ids=str)
def test_the_hardware_refuses_what_the_decoder_refuses_and_routes_the_rest(config: VTAConfig) -> None:
    generator = random.Random(8)
    check = InstructionCheck(config)
    kinds = set()

    async def bench(ctx: Any) -> None:
        for word in interesting_words(config, generator, 3000):
            ctx.set(check.word, word)
            error = ErrorCode(ctx.get(check.error))
            kinds.add(error)
            try:
                instruction = decode(word, config)
            except DecodingError as refused:
                want = ErrorCode.ILLEGAL
                if "is unknown; the opcodes" in str(refused):
                    want = ErrorCode.OPCODE
                if "unused bits" in str(refused):
                    want = ErrorCode.UNUSED_BITS
                assert error == want, hex(word)
                continue
            assert error == ErrorCode.NONE, hex(word)
            routes = {
                Module.LOAD: ctx.get(check.to_load),
                Module.COMPUTE: ctx.get(check.to_compute),
                Module.STORE: ctx.get(check.to_store),
            }
            assert routes == {module: int(module is instruction.module) for module in Module}
            assert ctx.get(check.finish) == isinstance(instruction, Finish)
        await ctx.delay(1e-9)

    simulator = Simulator(check)
    simulator.add_testbench(bench)
    simulator.run()
    assert kinds == {ErrorCode.NONE, ErrorCode.OPCODE, ErrorCode.UNUSED_BITS, ErrorCode.ILLEGAL}

"""Garbage in place of instructions: refused as ``isa.encoding`` refuses it, and never a crash or a stray write."""

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.encoding import DecodingError, decode, encode
from isa.instructions import Alu, Finish, Gemm, Opcode
from runtime.devices.device import DeviceError, ExecutionError
from runtime.devices.functional import FunctionalSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.sim.code_path import host_code_path
from tests.support.configs import CONFIGS
from tests.support.odd_configs import ODD_CONFIGS
from tests.support.runtime.launching import MEMORY_LIMIT, place_words

SEED = 5
REASONS = ("out of range", "FINISH must be the last", "deadlock: ")
"""Why a legal word may still be refused."""


def simulator(config: VTAConfig) -> FunctionalSimulator:
    return FunctionalSimulator(config, DeviceMemory(MEMORY_LIMIT), code_path=host_code_path())


def random_words(count: int) -> list[int]:
    """Any bits at all, sparse bits, and single bits: most are illegal, some are not."""
    rng = np.random.default_rng(SEED)
    words = [int.from_bytes(rng.bytes(16), "little") for _ in range(count)]
    sparse = [
        word & int.from_bytes(rng.bytes(16), "little") & words[-i] & words[i // 2] for i, word in enumerate(words)
    ]
    opcodes = [word & ~7 | int(rng.integers(0, 8)) for word in sparse]
    singles = [1 << int(rng.integers(0, 128)) | opcode for opcode in range(8) for _ in range(40)]
    return [*words, *sparse, *opcodes, *singles]


def refusal(word: int, config: VTAConfig) -> str | None:
    try:
        decode(word, config)
    except DecodingError as error:
        return str(error)
    return None


def takes_long(word: int, config: VTAConfig) -> bool:
    """Whether a legal word asks for so many steps that no test can wait for it."""
    instruction = decode(word, config)
    if not isinstance(instruction, Gemm | Alu):
        return False
    return instruction.iter_out * instruction.iter_in * max(0, instruction.uop_end - instruction.uop_bgn) > 10_000


@pytest.mark.parametrize("name", [*CONFIGS, "four_bit", "one_bit"])
def test_a_word_is_refused_exactly_where_the_decoder_refuses_it(name: str) -> None:
    config = {**CONFIGS, **ODD_CONFIGS}[name]
    device = simulator(config)
    finish = encode(Finish(), config)
    refused = 0
    placed = place_words(device.memory, [0, finish])
    slot = device.memory.view(placed.address, 16)
    for word in random_words(250):
        slot[:] = np.frombuffer(word.to_bytes(16, "little"), np.uint8)
        expected = refusal(word, config)
        if expected is None and takes_long(word, config):
            continue
        message = None
        try:
            device.launch(placed.address, 2)
        except DeviceError as error:
            message = str(error)
        if expected is None:
            assert message is None or any(reason in message for reason in REASONS), (hex(word), message)
        else:
            assert message == f"instruction 0: {expected}"
            refused += 1
    assert refused > 300


def test_the_first_illegal_word_is_named_and_nothing_runs() -> None:
    device = simulator(VTAConfig())
    words = [encode(Gemm(uop_end=1), device.config), 7, 6, encode(Finish(), device.config)]
    placed = place_words(device.memory, words)
    with pytest.raises(ExecutionError) as caught:
        device.launch(placed.address, placed.count)
    assert str(caught.value) == f"instruction 1: {refusal(7, device.config)}"
    assert device.stats.instructions.total == 0


@pytest.mark.parametrize("name", CONFIGS)
def test_launches_of_garbage_end_with_an_error_and_leave_other_memory_alone(name: str) -> None:
    config = CONFIGS[name]
    rng = np.random.default_rng(SEED)
    device = simulator(config)
    block = device.memory.alloc(1 << 14)
    legal = [word for word in random_words(1000) if refusal(word, config) is None and word & 7 != Opcode.FINISH]
    legal = [word for word in legal if not takes_long(word, config)]
    assert len(legal) > 20
    refusals: list[str] = []
    for _ in range(150):
        words = [int(legal[i]) for i in rng.integers(0, len(legal), 12)] + [encode(Finish(), config)]
        raw = b"".join(word.to_bytes(16, "little") for word in words)
        device.memory.view(block.address, len(raw))[:] = np.frombuffer(raw, np.uint8)
        try:
            device.launch(block.address, len(words))
        except DeviceError as error:
            refusals.append(str(error))
    assert len(refusals) > 100
    assert [text for text in refusals if not any(reason in text for reason in REASONS)] == []
    assert not device.memory.address_space()[:4096].any()

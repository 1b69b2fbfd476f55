# amaranth: UnusedElaboratable=no
"""What is proved about parts of the hardware, and that each proof fails when its property is broken.

The product of two from one multiplier is tried with all operands (``tests/hw/compute/test_packed_product.py``).
"""

from functools import reduce
from operator import or_
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Mux, Signal, Value

from hw.instruction_check import InstructionCheck
from hw.token_counter import TokenCounter
from isa.config import VTAConfig
from isa.instructions import MemoryId, Opcode
from isa.layout import Layout, instruction_layouts
from isa.legality import legality_rules
from isa.machine.error_codes import ErrorCode
from tests.support.faults.proof_faults import DECODER_FAULTS, TOKEN_FAULTS
from tests.support.faults.source_faults import SourceFault
from tests.support.hw.proofs import Claims, assume, claim, holds_always, holds_for
from tests.support.odd_configs import ODD_CONFIGS

pytestmark = pytest.mark.long


# ---- the token queue


def token_claims() -> Claims:
    def state(m: Module, queue: Any, free: Any) -> None:
        model = Signal(22)
        m.d.comb += [queue.push.eq(free.push), queue.pop.eq(free.pop), queue.clear.eq(free.clear)]
        m.d.sync += model.eq(Mux(free.clear, 0, model + free.push - (free.pop & (model != 0))))
        assume(m, ~free.push | (model != (1 << 22) - 1))
        claim(m, queue.available == (model != 0))
        claim(m, (queue.count == model) & (queue.two == (model > 1)))

    return Claims(TokenCounter(), {"push": 1, "pop": 1, "clear": 1}, state)


def test_no_token_is_lost_made_or_taken_twice() -> None:
    assert holds_always(token_claims(), 3)


@pytest.mark.parametrize("planted", TOKEN_FAULTS, ids=lambda planted: planted.text)
def test_the_proof_of_the_token_queue_fails_with_a_fault(planted: SourceFault) -> None:
    with planted.planted():
        assert not holds_always(token_claims(), 6)


# ---- the decoder


def decoder_claims(config: VTAConfig) -> Claims:
    """Compare with the table of the instruction set, read bit by bit: no layout of the hardware is used."""

    def state(m: Module, check: Any, free: Any) -> None:
        m.d.comb += check.word.eq(free.word)
        wanted = Signal(ErrorCode)
        layouts = instruction_layouts(config)
        m.d.comb += wanted.eq(ErrorCode.OPCODE)
        for opcode in Opcode:
            with m.If(free.word[:3] == opcode.value):
                unused, broken = _judged(free.word, layouts[opcode.name], legality_rules(config)[opcode.name])
                wrong = Mux(unused, ErrorCode.UNUSED_BITS, Mux(broken, ErrorCode.ILLEGAL, ErrorCode.NONE))
                m.d.comb += wanted.eq(wrong)
        claim(m, check.error == wanted)
        memory = _bits(free.word, layouts["LOAD"], "memory")
        to_load = (memory == MemoryId.INP.value) | (memory == MemoryId.WGT.value)
        opcode_bits = free.word[:3]
        loads = opcode_bits == Opcode.LOAD.value
        claim(m, (wanted != ErrorCode.NONE) | (check.to_load == (loads & to_load)))
        claim(m, (wanted != ErrorCode.NONE) | (check.to_store == (opcode_bits == Opcode.STORE.value)))
        claim(m, (wanted != ErrorCode.NONE) | (check.finish == (opcode_bits == Opcode.FINISH.value)))
        claim(m, (wanted != ErrorCode.NONE) | (check.to_load + check.to_compute + check.to_store == 1))

    return Claims(InstructionCheck(config), {"word": 128}, state)


def _bits(word: Any, layout: Layout, name: str) -> Value:
    low = 0
    for entry in layout.fields:
        if entry.name == name:
            return word[low : low + entry.width]
        low += entry.width
    raise KeyError(name)


def _judged(word: Any, layout: Layout, rules: Any) -> tuple[Value, Value]:
    unused: Value = Const(0)
    for entry in layout.fields:
        if entry.unused:
            unused = unused | (_bits(word, layout, entry.name) != 0)
    broken: Value = Const(0)
    for rule in rules:
        holds: Value = Const(1)
        for condition in rule.conditions:
            field = next(entry for entry in layout.fields if entry.name == condition.field)
            mask = (1 << field.width) - 1
            one_of = reduce(
                or_, [_bits(word, layout, field.name) == value & mask for value in condition.values], Const(0)
            )
            holds = holds & (~one_of if condition.negated else one_of)
        broken = broken | holds
    return unused, broken


@pytest.mark.parametrize("name", ["default", "two_lanes_in", "depthwise"])
def test_the_decoder_is_the_table_of_the_instruction_set_for_every_word(name: str) -> None:
    assert holds_for(decoder_claims(VTAConfig() if name == "default" else ODD_CONFIGS[name]), 1)


@pytest.mark.parametrize("planted", DECODER_FAULTS, ids=lambda planted: planted.text)
def test_the_proof_of_the_decoder_fails_with_a_fault(planted: SourceFault) -> None:
    with planted.planted():
        assert not holds_for(decoder_claims(VTAConfig()), 1)

"""What the record of a launch that went wrong says to a person.

The sentences are those of ``isa.reference`` and ``isa.encoding`` wherever these have one.
Tests: ``tests/runtime/sim/test_failures.py``, ``tests/runtime/sim/test_tokens.py``.
"""

from collections.abc import Callable, Mapping
from typing import assert_never

from isa.bounds import index_text, row_outside, sram_text
from isa.config import VTAConfig
from isa.encoding import DecodingError, decode, decode_uop
from isa.extents import operands_of
from isa.instructions import Alu, Gemm, Instruction, Load, MemoryId, Module, Store
from isa.tokens import TokenQueue, pops
from runtime.memory.device_memory import FIRST_ADDRESS
from runtime.sim.record import Failure, UopField, head_field, token_field

__all__ = ["awaited_tokens", "failure_text", "head_of"]

Record = Mapping[str, int]


def failure_text(config: VTAConfig, record: Record, word: int, micro_op: Callable[[int], int]) -> str:
    """Return the sentence for the failure in ``record`` of the instruction ``word``.

    ``micro_op(i)`` is the 32-bit word at element ``i`` of the micro-op buffer.
    """
    value, limit, detail = record["value"], record["limit"], record["detail"]
    failure = Failure(record["failure"])
    match failure:
        case Failure.ILLEGAL_WORD:
            return _refusal(lambda: decode(word, config))
        case Failure.NOT_LAST:
            return f"FINISH must be the last instruction of a launch, and this one has {limit}"
        case Failure.NO_FINISH:
            return f"the last instruction of a launch must be FINISH, not {_kind(decode(word, config))}"
        case Failure.SRAM_RANGE:
            base = _transfer(decode(word, config)).sram_base
            return sram_text(MemoryId(detail).name, base, value - base, limit)
        case Failure.DRAM_RANGE:
            transfer = _transfer(decode(word, config))
            text = row_outside(transfer, config.elem_bytes(transfer.memory), range(FIRST_ADDRESS, limit))
            assert text is not None, "the native bounds check refused a transfer that lies in DRAM"
            return text
        case Failure.ILLEGAL_UOP:
            loops = _loops(decode(word, config))
            return _refusal(lambda: [decode_uop(micro_op(i), config) for i in range(loops.uop_bgn, loops.uop_end)])
        case Failure.UOP_RANGE:
            return index_text("micro-op", value - 1, limit)
        case Failure.INDEX_RANGE:
            operands = operands_of(_loops(decode(word, config)))
            field = UopField(detail).name.lower()
            name = next(operand.name for operand in operands if operand.field == field)
            return index_text(name, value, limit)
        case _:
            assert_never(failure)


def awaited_tokens(config: VTAConfig, record: Record, word: int, module: Module) -> tuple[TokenQueue, ...]:
    """Return the empty queues that ``word``, at the head of ``module``, waits for."""
    wanted = pops(module, decode(word, config).deps)
    return tuple(queue for queue in wanted if not record[token_field(queue)])


def head_of(record: Record, module: Module) -> int | None:
    """Return the index of the next instruction of ``module``, or None if it has none left."""
    index = record[head_field(module)]
    return index if index < record["count"] else None


def _refusal(decoder: Callable[[], object]) -> str:
    try:
        decoder()
    except DecodingError as error:
        return str(error)
    raise AssertionError("the native decoder refused a word that isa.encoding accepts")


def _kind(instruction: Instruction) -> str:
    return type(instruction).__name__.upper()


def _transfer(instruction: Instruction) -> Load | Store:
    assert isinstance(instruction, Load | Store)
    return instruction


def _loops(instruction: Instruction) -> Gemm | Alu:
    assert isinstance(instruction, Gemm | Alu)
    return instruction

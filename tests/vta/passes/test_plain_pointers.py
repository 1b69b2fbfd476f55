"""Plain pointers in calls: which memory, which offset, what is written."""

from collections.abc import Callable

import pytest

from isa.config import VTAConfig
from isa.instructions import MemoryId
from tests.support.compiler.tir_build import buffer, call
from vta.passes.plain_pointers import PlainPointer, plain_pointers, written_memory
from vta.passes.sync.calls import command_handle, read_barrier, write_barrier
from vta.tir.buffer import Buffer
from vta.tir.expr import Call, Expr, IntImm, Var
from vta.tir.scopes import ACC_SCOPE
from vta.tir.stmt import Evaluate

CONFIG = VTAConfig(log_batch=1, log_block_in=3, log_block_out=4, log_acc_buff_size=16)
DRAM = buffer("d", [1024], "int8")
ON_CHIP = buffer("b", [512], "int32", ACC_SCOPE)


def made(stmt: Evaluate) -> Call:
    assert isinstance(stmt.value, Call)
    return stmt.value


def load(memory: MemoryId) -> Call:
    place = ON_CHIP.access_ptr("r", "int32")
    return made(call("VTALoadBuffer2D", command_handle(), DRAM.data, 7, 2, 3, 4, 0, 0, 0, 0, place, int(memory)))


def store() -> Call:
    place = ON_CHIP.access_ptr("r", "int32")
    return made(call("VTAStoreBuffer2D", command_handle(), place, int(MemoryId.OUT), DRAM.data, 7, 2, 3, 4))


def offset_of(found: Call, pointer: PlainPointer) -> Expr:
    assert pointer.offset is not None
    return found.args[pointer.offset]


@pytest.mark.parametrize(
    ("memory", "unit"), [(MemoryId.INP, 16), (MemoryId.WGT, 128), (MemoryId.ACC, 32), (MemoryId.ACC_8BIT, 32)]
)
def test_a_load_reads_dram_in_tiles_and_writes_the_scratchpad(memory: MemoryId, unit: int) -> None:
    found = load(memory)
    [pointer] = plain_pointers(found, CONFIG)
    assert pointer == PlainPointer(DRAM.data, 3, unit, writes=False)
    assert offset_of(found, pointer) == IntImm(7)
    assert list(written_memory(found, CONFIG)) == [ON_CHIP.data]


def test_a_store_writes_dram_in_tiles() -> None:
    found = store()
    [pointer] = plain_pointers(found, CONFIG)
    assert pointer == PlainPointer(DRAM.data, 5, 32, writes=True)
    assert offset_of(found, pointer) == IntImm(7)
    assert list(written_memory(found, CONFIG)) == [DRAM.data]


@pytest.mark.parametrize("make", [read_barrier, write_barrier])
def test_a_barrier_writes_nothing_and_counts_elements(make: Callable[[Var, int, Expr, Expr], Evaluate]) -> None:
    found = made(make(DRAM.data, 8, IntImm(7), IntImm(9)))
    [pointer] = plain_pointers(found, CONFIG)
    assert pointer == PlainPointer(DRAM.data, 4, 1, writes=False)
    assert offset_of(found, pointer) == IntImm(7)
    assert list(written_memory(found, CONFIG)) == []


def test_an_unknown_call_may_write_through_all_its_pointers() -> None:
    other: Buffer = buffer("e", [4])
    found = made(call("f", 1, DRAM.data, other.data))
    assert list(plain_pointers(found, CONFIG)) == [
        PlainPointer(DRAM.data, None, 1, writes=True),
        PlainPointer(other.data, None, 1, writes=True),
    ]
    assert list(written_memory(found, CONFIG)) == [DRAM.data, other.data]


def test_an_access_pointer_is_no_plain_pointer() -> None:
    found = made(call("f", DRAM.access_ptr("rw")))
    assert list(plain_pointers(found, CONFIG)) == []
    assert list(written_memory(found, CONFIG)) == []

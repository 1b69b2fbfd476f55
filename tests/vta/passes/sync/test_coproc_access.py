"""What statements touch in memory, and how far."""

import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import alloc, block, buffer, call, function, host_load, loop, store
from tests.support.configs import CONFIGS
from vta.arith.bounds import Interval
from vta.passes.sync.access import MemoryAccess, accesses, extents_of, relaxed
from vta.tir.dtype import BOOL, INT32, DType
from vta.tir.expr import Broadcast, BufferLoad, Expr, IntImm, Ramp, Var
from vta.tir.printer import to_text
from vta.tir.stmt import Allocate, BufferStore, Evaluate, Stmt

A, B = buffer("A", (64,)), buffer("B", (64,))


def touched(node: Stmt | Expr, config: VTAConfig = CONFIGS["default"]) -> list[str]:
    """Kind, buffer and region of every access, as text."""
    return [described(access) for access in accesses(node, config)]


def described(access: MemoryAccess) -> str:
    low, high = (None if e is None else to_text(e) for e in (access.region.min, access.region.max))
    where = "anywhere" if low is None else f"{low}..{high}"
    return f"{'write' if access.write else 'read'} {access.data.name} {where}"


def test_loads_and_stores_touch_one_element() -> None:
    i = Var("i", INT32)
    assert touched(store(A, host_load(B, i + 1) + host_load(A, 3), i)) == [
        "write A i..i",
        "read B (i + 1)..(i + 1)",
        "read A 3..3",
    ]


def test_vectors_touch_what_their_ramp_spans() -> None:
    def vector(base: int, stride: int) -> Stmt:
        return BufferStore(A, Broadcast(IntImm(1), 4), (Ramp(IntImm(base), IntImm(stride), 4),))

    assert touched(vector(2, 3)) == ["write A 2..11"]
    assert touched(vector(11, -3)) == ["write A 2..11"]
    scattered = BufferLoad(A, (Broadcast(IntImm(7), 4),))
    assert touched(scattered) == ["read A anywhere"]


def test_access_pointers_touch_their_extent_as_their_mask_says() -> None:
    assert touched(Evaluate(A.access_ptr("rw", offset=8))) == ["read A 8..63", "write A 8..63"]
    assert touched(Evaluate(A.access_ptr("w"))) == ["write A 0..63"]


@pytest.mark.parametrize(
    ("config", "memory", "lanes"),
    [
        ("default", 2, 16),
        ("default", 1, 256),
        ("b2k16", 3, 32),
        ("in16out32", 3, 32),
        ("in16out32", 1, 512),
        ("b2k16", 5, 32),
    ],
)
def test_a_dma_load_reads_its_rows(config: str, memory: int, lanes: int) -> None:
    load = call("VTALoadBuffer2D", 0, A.data, 10, 3, 4, 5, 0, 0, 0, 0, 0, memory)
    assert touched(load, CONFIGS[config]) == [f"read A {10 * lanes}..{(10 + 3 * 5 + 3) * lanes - 1}"]


def test_a_dma_store_writes_its_rows() -> None:
    assert touched(call("VTAStoreBuffer2D", 0, 0, 4, A.data, 2, 3, 1, 3), CONFIGS["b2k16"]) == ["write A 64..159"]


def test_another_function_may_touch_anything_through_its_pointers() -> None:
    assert touched(call("helper", A.data, 3, Var("n", INT32))) == ["read A anywhere", "write A anywhere"]


def test_conflicts_need_one_memory_and_a_write() -> None:
    read, write = MemoryAccess(A.data, False), MemoryAccess(A.data, True)
    other = MemoryAccess(B.data, True)
    assert read.conflicts(write)
    assert write.conflicts(read)
    assert write.conflicts(write)
    assert not read.conflicts(read)
    assert not write.conflicts(other)


def test_a_region_is_relaxed_over_a_loop() -> None:
    i, j = Var("i", INT32), Var("j", INT32)
    access = MemoryAccess(A.data, True, Interval(i * 4 + j, i * 4 + j + 1))
    assert described(relaxed(access, i, Interval(IntImm(0), IntImm(7)))) == "write A j..(j + 29)"
    assert described(relaxed(access, i, Interval())) == "write A anywhere"


def test_extents_come_from_parameters_allocations_and_accesses() -> None:
    chip, loose = buffer("chip", (4, 8), "int8"), buffer("loose", (5,), "int16")
    i = Var("i", INT32)
    body = alloc(chip, loop(i, 4, store(loose, 0, i)), block(store(A, 0, 0)))
    wide = Allocate(chip.data, DType("int8x4"), (IntImm(3), IntImm(5)), store(A, 0, 0), IntImm(1, BOOL))
    [extent] = [extent for var, extent in extents_of(function(wide, A)).items() if var is chip.data]
    assert (extent.bits, to_text(extent.count)) == (32, "15")
    found = {var.name: (extent.bits, to_text(extent.count)) for var, extent in extents_of(function(body, A)).items()}
    assert found == {"A": (32, "64"), "chip": (8, "32"), "loose": (16, "5")}

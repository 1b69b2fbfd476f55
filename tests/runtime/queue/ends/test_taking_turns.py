"""Parts take turns where it is shown that this means the same; otherwise nothing is changed."""

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.known_uops import UopRange
from isa.layout import uop_layout
from runtime.memory.device_memory import DeviceMemory
from runtime.queue.ends.taking_turns import Known, Turns, take_turns
from runtime.queue.instruction_queue import DramSpan, Entry

CONFIG = VTAConfig()
BUFFER = DeviceMemory().alloc(1 << 16)
PARTS = [(0, 32), (32, 64)]


def known(instruction: Instruction, *uops: tuple[int, int, int]) -> Known:
    layout = uop_layout(CONFIG)
    shifts = [layout.offsets[layout.fields.index(layout.field(name))] for name in ("dst", "src", "wgt")]
    words = [sum(v << s for v, s in zip(uop, shifts, strict=True)) for uop in uops]
    target = DramSpan(BUFFER, 0, 1, 16) if isinstance(instruction, Load | Store) else None
    return Entry(instruction, target=target), UopRange.of(np.array(words, np.uint32), CONFIG) if words else None


def inputs(base: int, rows: int) -> Known:
    return known(Load(memory=MemoryId.INP, sram_base=base, x_size=32, y_size=rows, x_stride=40))


WEIGHTS = known(Load(memory=MemoryId.WGT, x_size=1, y_size=1, x_stride=1))
RESET = known(Gemm(reset=True, uop_end=1, iter_in=64, dst_factor_in=1), (0, 0, 0))
SUMS = known(Gemm(uop_end=1, iter_in=64, dst_factor_in=1, src_factor_in=1), (0, 0, 0))
SHIFT = known(Alu(alu_opcode=AluOpcode.SHR, use_imm=True, imm=3, uop_end=1, iter_in=64, dst_factor_in=1), (0, 0, 0))
STORE = known(Store(sram_base=0, x_size=32, y_size=2, x_stride=40))


def add(dst: int, src: int, step: int = 1) -> Known:
    alu = Alu(alu_opcode=AluOpcode.ADD, uop_end=1, iter_in=64, dst_factor_in=1, src_factor_in=step)
    return known(alu, (dst, src, 0))


def text(turns: Turns | None) -> list[str]:
    """Return the entries in short."""
    assert turns is not None
    found = []
    for entry in turns.entries:
        match entry.instruction:
            case Load() | Store() as transfer:
                found.append(f"{transfer.memory.name} {transfer.sram_base}+{transfer.x_size * transfer.y_size}")
            case Gemm() | Alu() as loops:
                name = "reset" if isinstance(loops, Gemm) and loops.reset else type(loops).__name__.lower()
                found.append(f"{name} {loops.iter_out * loops.iter_in * (loops.uop_end - loops.uop_bgn)}")
    return found


def test_a_part_has_what_it_needs_then_the_next_one() -> None:
    turns = take_turns([inputs(0, 2), WEIGHTS, RESET, SUMS, SHIFT, STORE], PARTS, CONFIG)
    assert text(turns) == [
        "reset 64",
        "INP 0+32", "WGT 0+1", "gemm 32", "alu 32", "OUT 0+32",
        "INP 32+32", "gemm 32", "alu 32", "OUT 32+32",
    ]  # fmt: skip


def test_parts_come_in_the_order_in_which_they_are_given() -> None:
    turns = take_turns([inputs(0, 2), SUMS], [*reversed(PARTS)], CONFIG)
    assert text(turns) == ["INP 32+32", "gemm 32", "INP 0+32", "gemm 32"]


def test_micro_ops_of_parts_lie_one_behind_the_other() -> None:
    turns = take_turns([SUMS, SHIFT], PARTS, CONFIG)
    assert turns is not None
    ranges = [(e.instruction.uop_bgn, e.instruction.uop_end) for e in turns.entries]  # type: ignore[union-attr]
    assert ranges == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert len(turns.words) == 4


def test_what_nobody_asks_for_is_loaded_at_the_end_and_micro_ops_are_kept_apart() -> None:
    uops = known(Load(memory=MemoryId.UOP, sram_base=9, x_size=3, y_size=1, x_stride=3))
    turns = take_turns([uops, inputs(0, 3), SUMS], PARTS, CONFIG)
    assert text(turns)[-1] == "INP 64+32"
    assert turns is not None
    assert turns.kept == (uops[0],)


def test_rows_that_are_too_short_to_load_by_themselves_come_together() -> None:
    gather = known(Gemm(uop_end=1, iter_in=64, dst_factor_in=1, src_factor_in=2), (0, 0, 0))
    turns = take_turns([known(Load(memory=MemoryId.INP, x_size=128, y_size=1, x_stride=128)), gather], PARTS, CONFIG)
    assert text(turns) == ["INP 0+128", "gemm 32", "gemm 32"]


def test_a_temporary_is_cut_at_the_same_distances() -> None:
    turns = take_turns([add(100, 0), add(0, 100), STORE], PARTS, CONFIG)
    assert text(turns) == ["alu 32", "alu 32", "OUT 0+32", "alu 32", "alu 32", "OUT 32+32"]


@pytest.mark.parametrize(
    "region",
    [
        [SUMS, inputs(0, 2)],
        [inputs(0, 2), inputs(32, 2), SUMS],
        [add(0, 1)],
        [add(0, 32)],
        [add(100, 0), known(Gemm(uop_end=1, iter_in=63, dst_factor_in=1), (200, 0, 0))],
        [SUMS, STORE, SHIFT],
        [SUMS, known(Store(sram_base=0, x_size=32, y_size=2, x_stride=9))],
        [SUMS, known(Store(sram_base=8, x_size=32, y_size=2, x_stride=32))],
        [SUMS, known(Store(sram_base=90, x_size=32, y_size=1, x_stride=16))],
        [SHIFT, RESET],
        [known(Load(memory=MemoryId.ACC, sram_base=0, x_size=8, y_size=1, x_stride=8)), RESET, SUMS],
        [known(Load(memory=MemoryId.INP, x_size=8)), SUMS],
        [known(Gemm(uop_end=1))],
        [known(Finish())],
    ],
    ids=[
        "loaded after it was read", "loaded twice", "reads its neighbour", "reads another part", "another length",
        "changed after it was stored", "a byte stored twice", "a store beyond the parts", "a store of another tile",
        "reset afterwards", "reset after a load", "a load of nothing", "unknown micro-ops", "finish",
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_left_alone(region: list[Known]) -> None:
    assert take_turns(region, PARTS, CONFIG) is None

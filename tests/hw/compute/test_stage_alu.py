"""The tensor ALU on the stage: rates, hazards, and work at the same time as GEMM's."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from hw.compute.alu import TensorAlu, alu_write_delay
from hw.compute.gemm import WRITE_DELAY
from hw.sim import compile_design
from isa.config import VTAConfig
from isa.encoding import encode, encode_uop
from isa.instructions import Alu, AluOpcode, Gemm, MicroOp
from tests.support.hw.accumulator_places import place
from tests.support.hw.compute_rig import COMPUTE_CONFIGS, ComputeRig, load_uops, uop_image

CONFIG = COMPUTE_CONFIGS["block4"]


def _trace(uops: list[MicroOp], program: Any, *, config: VTAConfig = CONFIG) -> Any:
    rig = ComputeRig(config, seed=2, memory=uop_image(uops, config).ljust(256, b"\0"))
    fill = Gemm(uop_bgn=len(uops), uop_end=len(uops) + 1, iter_in=config.acc_depth, dst_factor_in=1, src_factor_in=1)
    rig.run([load_uops(len(uops) + 1), fill])
    trace = rig.run(program)
    rig.check()
    return trace


def _immediate(count: int, **fields: Any) -> Any:
    return Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=-3, uop_end=1, iter_in=count, dst_factor_in=1, **fields)


def _tensors(count: int, **fields: Any) -> Any:
    return Alu(alu_opcode=AluOpcode.ADD, uop_end=1, iter_in=count, dst_factor_in=1, src_factor_in=1, **fields)


@pytest.mark.parametrize("make", [_immediate, _tensors])
@pytest.mark.parametrize("distance", [32, 16, 17, 18, 19, 23])
def test_the_alu_takes_one_cycle_a_tile(make: Callable[..., Any], distance: int) -> None:
    # The distance of source and destination decides whether they meet in a bank.
    uops = [MicroOp(dst=0, src=distance)]
    cycles = {count: _trace(uops, [make(count)] * 4).finish for count in (8, 16)}
    assert cycles[16] - cycles[8] == 32


def test_one_source_for_all_is_read_once() -> None:
    uops = [MicroOp(dst=0, src=40)]
    program = [Alu(alu_opcode=AluOpcode.ADD, uop_end=1, iter_in=count, dst_factor_in=1) for count in (17, 32)]
    assert _trace(uops, [program[1]]).finish - _trace(uops, [program[0]]).finish == 15


def test_alu_instructions_follow_each_other_without_a_bubble() -> None:
    uops = [MicroOp(dst=0)]
    one = _trace(uops, [_immediate(32)]).finish
    assert _trace(uops, [_immediate(32)] * 5).finish == one + 4 * 32


@pytest.mark.parametrize("opcode", AluOpcode)
def test_a_running_sum_in_one_destination_is_exact(opcode: AluOpcode) -> None:
    uops = [MicroOp(dst=0, src=1 + index) for index in range(6)]
    program = [Alu(alu_opcode=opcode, uop_end=6, iter_in=3, src_factor_in=5, iter_out=2)]
    _trace(uops, program)


def test_a_prefix_sum_through_neighbours_is_exact() -> None:
    uops = [MicroOp(dst=1, src=0)]
    _trace(uops, [_tensors(30), _tensors(30)])


def test_a_tile_may_be_both_operands() -> None:
    uops = [MicroOp(dst=0, src=0)]
    _trace(uops, [_tensors(20)] * 3)


def test_gemm_and_alu_work_at_the_same_time_on_different_tiles() -> None:
    uops = [MicroOp(dst=0, src=0), MicroOp(dst=32, src=1), MicroOp(dst=33, src=2)]
    gemm = [Gemm(uop_bgn=1, uop_end=3, iter_in=15, iter_out=4, dst_factor_in=2)]
    alu = [_immediate(16), _immediate(16), _immediate(16)]
    alone = _trace(uops, gemm).finish
    assert _trace(uops, [*gemm, *alu]).finish <= alone + 12
    assert _trace(uops, [*alu, *gemm]).finish <= alone + 33


@pytest.mark.parametrize("fused", [0, 1])
def test_what_gemm_reads_and_writes_beside_a_step_is_an_even_number_of_steps_apart(fused: int) -> None:
    assert (alu_write_delay(dataclasses.replace(CONFIG, fused_alu=fused)) - WRITE_DELAY) % 2 == 0


@pytest.mark.parametrize("begin", [112, 113])
def test_an_alu_beside_a_gemm_in_even_runs_takes_a_cycle_a_tile(begin: int) -> None:
    """They may meet at first, and are an odd number of tiles apart from then on, wherever both are."""
    uops = [MicroOp(dst=0, src=0), *(MicroOp(dst=begin + place, src=0) for place in range(28))]
    large = dataclasses.replace(CONFIG, log_inp_buff_size=10, log_acc_buff_size=12)
    alu = _immediate(112, iter_out=5)
    gemms = [Gemm(uop_bgn=1, uop_end=29, iter_out=4, iter_in=turns, dst_factor_out=28) for turns in (1, 4)]
    short, long = (_trace(uops, [gemm, alu], config=large).finish for gemm in gemms)
    assert long <= short + 1


def test_gemm_waits_for_the_alu_on_the_same_tiles() -> None:
    uops = [MicroOp(dst=0, src=0), MicroOp(dst=15, src=1), MicroOp(dst=16, src=2)]
    gemm = Gemm(uop_bgn=1, uop_end=3, iter_in=8, iter_out=4)
    alone = _trace(uops, [gemm]).finish
    assert _trace(uops, [_immediate(16), gemm]).finish >= alone + 14
    _trace(uops, [gemm, _immediate(16), gemm, _tensors(18), gemm])


def test_the_alu_goes_on_under_a_gemm_that_keeps_to_one_bank() -> None:
    uops = [MicroOp(dst=0, src=0), MicroOp(dst=40, src=1)]
    gemm = Gemm(uop_bgn=1, uop_end=2, iter_in=200, iter_out=3)
    alone = _trace(uops, [gemm]).finish
    assert _trace(uops, [gemm, _immediate(16)]).finish <= alone + 30


def test_an_alu_that_is_never_granted_a_read_asks_gemm_again_and_again() -> None:
    """Twice in 32 cycles: for a read of its own, and for the bank that its last write takes."""
    design = compile_design(TensorAlu(CONFIG))
    insn = Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=1, uop_end=1, iter_out=1, iter_in=4)
    design.poke("job__payload", encode(insn, CONFIG))
    design.poke("job__valid", 1)
    design.poke("gemm_ahead", 1)
    design.run_until("dst_read", 20)
    asked = []
    for cycle in range(100):
        if design.peek("bubble"):
            asked.append(cycle)
        design.step()
    first, second = asked[:2]
    assert 16 <= first <= 18
    assert second - first == alu_write_delay(CONFIG) - WRITE_DELAY
    assert asked == [cycle + again for again in (0, 32, 64) for cycle in (first, second)]


@pytest.mark.parametrize(
    ("fields", "sources"),
    [
        ({"use_imm": True, "imm": -3}, []),
        ({"src_factor_in": 1}, [32, 33, 34, 35, 36, 37]),
        ({}, [32]),
        ({"src_factor_out": 4}, [32, 36]),
    ],
)
def test_a_step_reads_what_it_needs_and_writes_a_fixed_time_later(fields: dict[str, Any], sources: list[int]) -> None:
    """Every tile has its address as its numbers; a source that is the one before is not read again."""
    design = compile_design(TensorAlu(CONFIG))
    loops: Any = {"uop_end": 1, "iter_in": 6, "dst_factor_in": 1}
    if "src_factor_out" in fields:
        loops = {"uop_end": 1, "iter_in": 3, "iter_out": 2, "dst_factor_in": 1, "dst_factor_out": 3}
    insn = Alu(alu_opcode=AluOpcode.ADD, **loops, **fields)
    design.poke("job__payload", encode(insn, CONFIG) | 9 << 128)
    design.poke("job__valid", 1)
    lanes = CONFIG.batch * CONFIG.block_out
    every = sum(1 << 32 * lane for lane in range(lanes))
    read: dict[str, list[tuple[int, int]]] = {"dst": [], "src": []}
    written, done = [], []
    results: list[int] = []
    for cycle in range(40):
        if design.peek("uop_enable"):
            design.poke("uop_data", encode_uop(MicroOp(dst=0, src=32), CONFIG))
        before = {
            name: place(design.peek(f"{name}_address"), CONFIG.log_acc_depth)
            for name in read
            if design.peek(f"{name}_read")
        }
        assert design.peek("working") == int("dst" in before)
        read["dst"] += [(cycle, before["dst"])] if "dst" in before else []
        read["src"] += [(cycle, before["src"])] if "src" in before else []
        if design.peek("write"):
            written.append((cycle + 1, place(design.peek("write_address"), CONFIG.log_acc_depth)))
        if len(results) < len(written) and written[len(results)][0] == cycle:
            results.append(design.peek("write_data"))
        if design.peek("done") >> 4:
            done.append((cycle, design.peek("done") & 15))
        design.step()
        design.poke("job__valid", 0)
        for name, address in before.items():
            design.poke(f"{name}_data", address * every)
    assert [address for _, address in read["src"]] == sources
    assert [address for _, address in read["dst"]] == list(range(6))
    assert [(cycle - alu_write_delay(CONFIG), address) for cycle, address in written] == read["dst"]
    added = [-3] * 6 if not sources else [source for source in sources for _ in range(6 // len(sources))]
    assert results == [((dst + other) % (1 << 32)) * every for dst, other in enumerate(added)]
    assert done == [(written[-1][0], 9)]
    assert not design.peek("bubble")

"""GEMM and resets on the stage: rates and exactness."""

from dataclasses import replace
from typing import Any

import pytest

from hw.compute.gemm import WRITE_DELAY, GemmCore
from hw.compute.jobs import job_layout
from hw.sim import compile_design
from hw.sim.netlist import cells as n
from hw.sim.netlist.frontend import build_netlist
from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Gemm, MicroOp
from tests.support.hw.compute_rig import COMPUTE_CONFIGS, ComputeRig, load_uops, uop_image

CONFIG = COMPUTE_CONFIGS["block4"]


def _cycles(uops: list[MicroOp], program: list[Gemm], *, config: VTAConfig = CONFIG) -> Any:
    """Return the cycles of a program after a load of ``uops``, checked against the reference."""
    rig = ComputeRig(config, seed=2, memory=uop_image(uops, config).ljust(256, b"\0"))
    rig.run([load_uops(len(uops))])
    trace = rig.run(program)
    rig.check()
    return trace.finish


def _gemms(count: int, **fields: Any) -> Any:
    return [Gemm(**fields)] * count


def test_a_gemm_takes_one_cycle_a_micro_op_and_a_constant() -> None:
    uops = [MicroOp(dst=index, src=index, wgt=index) for index in range(8)]  # binding counts the bits of iter_in - 1
    overhead = {
        turns: _cycles(uops, _gemms(1, uop_end=8, iter_in=turns, dst_factor_in=1)) - 8 * turns for turns in (9, 12, 16)
    }
    assert len(set(overhead.values())) == 1
    assert overhead[9] <= 30


def test_gemms_follow_each_other_without_a_bubble() -> None:
    uops = [MicroOp(dst=index, src=index, wgt=index) for index in range(8)]
    one = _cycles(uops, _gemms(1, uop_end=8, iter_in=4))
    assert _cycles(uops, _gemms(6, uop_end=8, iter_in=4)) == one + 5 * 32


@pytest.mark.parametrize("distance", [1, 2, 3, 4, 5])
def test_an_accumulator_may_be_used_again_at_any_distance_at_full_rate(distance: int) -> None:
    uops = [MicroOp(dst=index % distance, src=index, wgt=index % 4) for index in range(20)]
    fresh = [replace(uop, dst=index) for index, uop in enumerate(uops)]
    gemm = _gemms(1, uop_end=20, iter_in=3, src_factor_in=1)
    assert _cycles(uops, gemm) == _cycles(fresh, gemm)


def test_an_affine_reset_clears_four_tiles_a_cycle() -> None:
    uops = [MicroOp(dst=16 * index) for index in range(3)]
    cycles = {
        turns: _cycles(uops, [Gemm(reset=True, uop_end=3, iter_in=16, iter_out=turns, dst_factor_in=1)] * 5)
        for turns in (9, 16)
    }
    assert cycles[16] - cycles[9] == 5 * 3 * 16 * (16 - 9) / 4


def test_any_other_reset_clears_the_tiles_of_its_micro_ops() -> None:
    uops = [MicroOp(dst=dst) for dst in (5, 1, 9, 9, 0)]
    reset = Gemm(reset=True, uop_end=5, iter_in=3, iter_out=2, dst_factor_in=7, dst_factor_out=20)
    gemm = Gemm(uop_end=5, iter_in=3, iter_out=2, dst_factor_in=7, dst_factor_out=20)
    _cycles(uops, [gemm, reset, gemm, gemm, reset])


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "block4" else pytest.mark.long) for n in COMPUTE_CONFIGS]
)
def test_a_reset_between_two_gemms_is_in_order(name: str) -> None:
    config = COMPUTE_CONFIGS[name]
    uops = [MicroOp(dst=index % min(6, config.acc_depth)) for index in range(6)]
    gemm = Gemm(uop_end=6, iter_in=2)
    _cycles(uops, [gemm, Gemm(reset=True, uop_end=6), gemm, Gemm(reset=True, uop_bgn=2, uop_end=4)], config=config)


@pytest.mark.parametrize("fields", [{"iter_out": 0}, {"iter_in": 0}, {"uop_bgn": 3, "uop_end": 3}, {"uop_bgn": 4}])
def test_a_zero_extent_is_no_work(fields: dict[str, Any]) -> None:
    uops = [MicroOp(dst=index, src=index) for index in range(6)]
    _cycles(uops, [replace(Gemm(uop_end=2), **fields), replace(Gemm(reset=True, uop_end=2), **fields)])


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("multipliers", [None, 0, 1, 3, 5, 7, 8, 16])
def test_as_many_products_are_multipliers_as_there_are_to_be(multipliers: int | None, shared: bool) -> None:
    """Of 16 products, or of 8 for two rows each; the others are logic."""
    core = GemmCore(CONFIG, ahead=3, share_multipliers=shared, multipliers=multipliers)
    products = [cell for cell in build_netlist(core).cells if isinstance(cell, n.Operator) and cell.kind == "*"]
    there_are = 8 if shared else 16
    assert len(products) == (there_are if multipliers is None else min(multipliers, there_are))


@pytest.mark.parametrize(("log_block_out", "products"), [(0, 4), (1, 4), (2, 8)])
def test_two_rows_share_multipliers_where_there_are_two(log_block_out: int, products: int) -> None:
    config = VTAConfig(
        log_block_in=2, log_block_out=log_block_out, log_uop_buff_size=9, log_inp_buff_size=9, log_wgt_buff_size=10,
        log_acc_buff_size=11,
    )  # fmt: skip
    cells = build_netlist(GemmCore(config, ahead=3, share_multipliers=True)).cells
    assert sum(isinstance(cell, n.Operator) and cell.kind == "*" for cell in cells) == products


@pytest.mark.parametrize("ahead", range(4))
def test_a_destination_is_told_as_many_cycles_ahead_as_are_asked_for(ahead: int) -> None:
    """And it is written three cycles after its read, told two after it; a step that is left out is so everywhere."""
    config = VTAConfig(log_block=1, log_uop_buff_size=8, log_inp_buff_size=8, log_wgt_buff_size=8, log_acc_buff_size=8)
    core = GemmCore(config, ahead=ahead)
    assert core.latency == 2
    design = compile_design(core)
    layout = job_layout()
    design.poke("job__valid", 1)
    gemm = encode(Gemm(uop_end=1, iter_in=9, dst_factor_in=1), config)
    design.poke("job__payload", int(layout.const({"insn": gemm, "tag": 5}).as_bits()))
    seen: dict[str, list[int]] = {"acc_ahead": [], "acc_next": [], "acc_read": [], "acc_write": []}
    steps, done = [], []
    for cycle in range(30):
        design.poke("bubble", int(cycle in (4, 5, 8)))
        steps += [cycle] * design.peek("working")
        assert design.peek("uop_enable") == design.peek("working")
        for name, cycles in seen.items():
            if design.peek(name):
                cycles.append(cycle)
                port = f"{name}_address".replace("read_", "")
                assert design.peek(port) % config.acc_depth == len(cycles) - 1
        if design.peek("done") >> 4:
            done.append((cycle, design.peek("done") & 15))
        design.step()
        design.poke("job__valid", 0)
    assert len(steps) == 9
    assert steps[-1] - steps[0] == 8 + 3
    first = seen["acc_read"][0] - steps[0]
    assert seen["acc_read"] == [cycle + first for cycle in steps]
    assert seen["acc_ahead"] == [cycle - ahead for cycle in seen["acc_read"]]
    assert seen["acc_next"] == [cycle - 1 for cycle in seen["acc_read"]]
    assert seen["acc_write"] == [cycle + WRITE_DELAY - 1 for cycle in seen["acc_read"]]
    assert done == [(seen["acc_write"][-1] + 1, 5)]
    assert first == 2 + core.latency  # micro-op, addresses, operands, products and sums

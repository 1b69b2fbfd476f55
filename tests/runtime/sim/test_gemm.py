"""GEMM of the functional simulator: every shape of loops and blocks, exact modulo 2^32."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Gemm, Load, MemoryId, MicroOp
from runtime.sim import gemm
from runtime.sim.code_path import CodePath
from runtime.sim.emit import Emitter, Num
from runtime.sim.gemm_block import block_shapes
from runtime.sim.geometry import Geometry
from runtime.sim.record import UopField
from tests.support.configs import CONFIGS
from tests.support.odd_configs import ODD_CONFIGS
from tests.support.runtime.emitted import run_emitted
from tests.support.runtime.functional_rig import Rig

SEED = 7
ALL_CONFIGS = {**CONFIGS, **ODD_CONFIGS}
UOPS = (MicroOp(), MicroOp(dst=1, src=2, wgt=1), MicroOp(dst=1, src=0, wgt=0), MicroOp(dst=3, src=1, wgt=1))


def loaded_rig(config: VTAConfig, code_path: CodePath, *, extreme: bool = False) -> Rig:
    """A rig whose scratchpads are full of numbers."""
    rng = np.random.default_rng(SEED)
    rig = Rig(config, code_path)
    loads: list[Load] = []
    for memory in (MemoryId.INP, MemoryId.WGT, MemoryId.ACC):
        count = min(config.depth(memory), 512)
        nbytes = count * config.elem_bytes(memory)
        raw = np.full(nbytes, 0x80, np.uint8) if extreme else rng.integers(0, 256, nbytes, dtype=np.uint8)
        loads.append(Load(memory=memory, dram_base=rig.array(raw, memory), y_size=1, x_size=count))
    rig.run(*loads, rig.micro_ops([u for u in UOPS if u.wgt < config.wgt_depth and u.src < config.inp_depth]))
    return rig


def room_for(config: VTAConfig, gemm: Gemm, micro_ops: int) -> bool:
    depths = {"dst": config.acc_depth, "src": config.inp_depth, "wgt": config.wgt_depth}
    for operand, depth in depths.items():
        reach = max(getattr(uop, operand) for uop in UOPS[:micro_ops])
        reach += (gemm.iter_out - 1) * getattr(gemm, f"{operand}_factor_out")
        reach += (gemm.iter_in - 1) * getattr(gemm, f"{operand}_factor_in")
        if reach >= min(depth, 512):
            return False
    return True


def nest(outer: tuple[int, int, int, int], inner: tuple[int, int, int, int]) -> Gemm:
    """Two loops, each as trip count and factors of dst, src and wgt."""
    return Gemm(
        iter_out=outer[0],
        dst_factor_out=outer[1],
        src_factor_out=outer[2],
        wgt_factor_out=outer[3],
        iter_in=inner[0],
        dst_factor_in=inner[1],
        src_factor_in=inner[2],
        wgt_factor_in=inner[3],
    )


def loop_shapes() -> Iterator[Gemm]:
    """Step and reduction loops in both places, and trip counts that need blocks of every size."""
    for steps, trips in itertools.product((1, 2, 7, 9, 15), (1, 3)):
        yield nest((steps, 1, 2, 0), (trips, 0, 1, 1))
        yield nest((trips, 0, 1, 1), (steps, 1, 2, 0))
        yield nest((steps, 1, 0, 2), (trips, 0, 1, 1))
        yield nest((trips, 0, 0, 1), (steps, 2, 1, 1))
        yield nest((steps, 4, 1, 0), (trips, 1, 3, 0))
        yield nest((steps, 1, 0, 0), (trips, 1, 0, 1))
        yield nest((steps, 0, 1, 1), (trips, 0, 1, 0))
        yield nest((trips, 0, 1, 0), (steps, 0, 1, 1))
        yield nest((steps, 0, 0, 0), (trips, 0, 0, 0))


@pytest.mark.parametrize("name", ALL_CONFIGS)
def test_every_shape_of_loops_equals_the_reference(name: str, code_path: CodePath) -> None:
    config = ALL_CONFIGS[name]
    rig = loaded_rig(config, code_path)
    available = sum(uop.wgt < config.wgt_depth and uop.src < config.inp_depth for uop in UOPS)
    gemms = []
    for number, shape in enumerate(loop_shapes()):
        count = 1 + number % 4 if available == len(UOPS) else 1
        if room_for(config, shape, count):
            gemms.append(replace(shape, uop_end=count))
    assert len(gemms) >= 20
    rig.run(*gemms)


def test_sums_wrap_at_32_bits(code_path: CodePath) -> None:
    rig = loaded_rig(VTAConfig(), code_path, extreme=True)
    # (-128 * -128) * 16 lanes * 16383 steps = 4,294,705,152 per instruction, close to 2^32.
    stats = rig.run(*[Gemm(uop_end=1, iter_in=16383, iter_out=1)] * 3).statistics
    assert stats.gemm_counter == 3 * 16383


def test_the_most_negative_numbers_multiply_exactly(code_path: CodePath) -> None:
    for name in ("default", "b2k16", "block32"):
        rig = loaded_rig(CONFIGS[name], code_path, extreme=True)
        rig.run(Gemm(uop_end=4, iter_out=9, dst_factor_out=1, src_factor_out=1, iter_in=3, wgt_factor_in=1))


def test_reset_zeroes_what_the_loops_reach_and_nothing_else(code_path: CodePath) -> None:
    rig = loaded_rig(VTAConfig(), code_path)
    before = rig.acc
    stats = rig.run(Gemm(reset=True, uop_end=2, iter_out=3, dst_factor_out=10, iter_in=5, dst_factor_in=0)).statistics
    wanted = before.copy()
    wanted[[0, 1, 10, 11, 20, 21]] = 0
    assert np.array_equal(rig.acc, wanted)
    assert stats.gemm_counter == 0
    assert stats.instructions.gemm_reset == 1


def test_reset_looks_at_destinations_alone(code_path: CodePath) -> None:
    rig = Rig(CONFIGS["in16out32"], code_path)
    # Input 2047 does not exist in a GEMM that reads inputs with this factor, but a reset reads none.
    rig.run(
        rig.micro_ops([MicroOp(src=rig.config.inp_depth - 1)]),
        Gemm(reset=True, uop_end=1, iter_in=4, src_factor_in=9, dst_factor_in=1),
    )


@pytest.mark.parametrize(("outer", "inner"), [(0, 5), (5, 0), (0, 0)])
def test_zero_iterations_do_no_work(outer: int, inner: int, code_path: CodePath) -> None:
    rig = loaded_rig(VTAConfig(), code_path)
    before = rig.acc
    gemm = Gemm(uop_end=1, iter_out=outer, iter_in=inner, dst_factor_in=2047, src_factor_out=2047)
    stats = rig.run(gemm, replace(gemm, reset=True), Gemm(uop_bgn=3, uop_end=3), Gemm(uop_bgn=3, uop_end=1)).statistics
    assert np.array_equal(rig.acc, before)
    assert stats.gemm_counter == 0


def test_several_micro_ops_on_one_accumulator_element_add_up(code_path: CodePath) -> None:
    rig = loaded_rig(VTAConfig(), code_path)
    rig.run(rig.micro_ops([MicroOp(dst=5, src=i, wgt=i) for i in range(12)]), Gemm(uop_end=12, iter_in=2))


def test_weights_of_a_pad_add_nothing_whatever_was_there_before(code_path: CodePath) -> None:
    rig = loaded_rig(VTAConfig(), code_path)
    weights = rig.array(np.full(256, 3, np.uint8), MemoryId.WGT)
    pad = Load(memory=MemoryId.WGT, sram_base=1, dram_base=weights, y_size=1, x_size=1, x_pad_0=2, x_pad_1=1)
    rig.run(pad, rig.micro_ops([MicroOp(dst=i, src=i, wgt=i) for i in range(6)]), Gemm(uop_end=6))


@pytest.mark.parametrize(
    ("outer", "inner", "step", "trips", "around"),
    [
        ((5, 1, 0), (3, 0, 1), "out", 3, 1),  # the outer loop moves the accumulator, the inner one is a reduction
        ((3, 0, 1), (5, 1, 0), "in", 3, 1),
        ((5, 1, 1), (3, 1, 0), "in", 1, 5),  # both move it, and the inner one shares weights
        ((5, 1, 0), (3, 1, 1), "out", 1, 3),
        ((5, 1, 0), (3, 1, 0), "in", 1, 5),  # equally good
        ((1, 0, 0), (3, 0, 1), "out", 3, 1),  # one step, and all else is its reduction
        ((3, 0, 1), (1, 0, 0), "in", 3, 1),
        ((1, 1, 0), (3, 0, 1), "out", 3, 1),
        ((3, 0, 1), (4, 0, 1), "in", 3, 1),
    ],
)
def test_the_loop_that_moves_the_accumulator_is_done_in_steps_and_the_other_one_is_the_reduction(
    outer: tuple[int, int, int], inner: tuple[int, int, int], step: str, trips: int, around: int
) -> None:
    """A loop is its count and what it adds to the accumulator's and the weights' index."""

    def body(emit: Emitter) -> Num:
        given = {name: emit.arguments[name] for name in emit.arguments}
        fields = {"iter_out": given["out_0"], "iter_in": given["in_0"], "uop_bgn": emit.num(2), "uop_end": emit.num(9)}

        def factor(operand: UopField, name: str) -> Num:
            place = {UopField.DST: 1, UopField.SRC: 3, UopField.WGT: 2}[operand]
            return given[f"{name}_{place}"]

        nest = gemm._Nest.of(SimpleNamespace(fields=fields, factor=factor))  # type: ignore[arg-type]
        total = emit.num(0)
        for part in (nest.uops, nest.trips, nest.around, nest.step.count, nest.step.src):
            total = (total << 8) | part
        return total

    sizes = {f"out_{place}": value for place, value in enumerate((*outer, 11))}
    sizes |= {f"in_{place}": value for place, value in enumerate((*inner, 22))}
    found = run_emitted(body, **sizes).to_bytes(5, "big")
    count = (outer if step == "out" else inner)[0]
    assert tuple(found) == (7, trips, around, count, 11 if step == "out" else 22)


@pytest.mark.parametrize(
    ("name", "path", "shared", "own"),
    [
        ("default", CodePath.VNNI, [8, 4, 2, 1], [4, 1]),  # a row of 16 lanes is one vector, of 16 in registers
        ("default", CodePath.GENERIC, [2, 1], [1]),  # it is four of eight
        ("b2k16", CodePath.VNNI, [8, 4, 2, 1], [4, 1]),
        ("batch_16", CodePath.VNNI, [1], [1]),
        ("two_lanes_in", CodePath.AVX2, [2, 1], [1]),
    ],
)
def test_blocks_take_as_many_steps_as_registers_hold(
    name: str, path: CodePath, shared: list[int], own: list[int]
) -> None:
    config = ALL_CONFIGS[name]
    geometry = Geometry(config, path.unit(config.block_out))
    blocks = block_shapes(geometry)
    assert [[block.steps for block in each] for each in blocks] == [shared, own]
    for block in (*blocks[0], *blocks[1]):
        sums = block.steps * block.rows * block.vectors
        assert sums <= geometry.unit.accumulators
        assert config.batch % block.rows == config.block_out // geometry.lanes % block.vectors == 0
        assert block.parts == max(1, min(4 // sums, geometry.groups))
    assert {block.shared for block in blocks[0]} == {True}
    assert {block.shared for block in blocks[1] if block.steps > 1} <= {False}

"""Parts of GEMM and ALU instructions do the steps of the whole, each once, and those of their accumulators alone."""

from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Gemm, MicroOp
from isa.known_uops import UopRange
from isa.layout import uop_layout
from runtime.queue.ends.cut_loops import cut_kernel, in_runs, kernel_of, span_of
from runtime.queue.kernel_lowering import lower_kernel
from runtime.queue.uop_kernel import UopKernel

CONFIG = VTAConfig()


def words_of(uops: list[tuple[int, int, int]]) -> np.ndarray:
    """Return micro-ops as they lie in memory."""
    layout = uop_layout(CONFIG)
    shifts = [layout.offsets[layout.fields.index(layout.field(name))] for name in ("dst", "src", "wgt")]
    return np.array([sum(v << s for v, s in zip(uop, shifts, strict=True)) for uop in uops], np.uint32)


def instruction_steps(loops: Gemm | Alu, uops: UopRange) -> list[tuple[int, int, int]]:
    """Return the operands of every step, in order; what has no meaning is 0."""
    source = not (loops.reset if isinstance(loops, Gemm) else loops.use_imm)
    weight = isinstance(loops, Gemm) and not loops.reset
    wgt = (loops.wgt_factor_out, loops.wgt_factor_in) if isinstance(loops, Gemm) else (0, 0)
    return [
        (
            d + o * loops.dst_factor_out + i * loops.dst_factor_in,
            (s + o * loops.src_factor_out + i * loops.src_factor_in) * source,
            (w + o * wgt[0] + i * wgt[1]) * weight,
        )
        for o, i in product(range(loops.iter_out), range(loops.iter_in))
        for d, s, w in zip(uops.dst, uops.src, uops.wgt, strict=True)
    ]


def kernel_steps(kernel: UopKernel) -> list[tuple[int, int, int]]:
    """Return the same of the instructions that a kernel becomes."""
    found = []
    for step in lower_kernel(kernel, CONFIG):
        uops = UopRange.of(np.array(step.block.words, np.uint32), CONFIG)
        for instruction in step.instructions:
            found += instruction_steps(instruction, uops)
    return found


def random_gemm(rng: np.random.Generator) -> tuple[Gemm, UopRange]:
    """Return a convolution's instruction: loops of rows and columns, some of them written as micro-ops."""
    rows, columns, taps = (int(rng.integers(1, 6)) for _ in range(3))
    base = [int(rng.integers(0, 40)) for _ in range(3)]
    uops = [(base[0] + c, base[1] + 2 * c + t, base[2] + t) for t in range(taps) for c in range(columns)]
    if rng.random() < 0.3:
        uops = [uops[int(place)] for place in rng.permutation(len(uops))]
    gemm = Gemm(
        uop_end=len(uops), iter_out=rows, iter_in=int(rng.integers(1, 4)), dst_factor_out=columns, src_factor_out=11,
        src_factor_in=3, wgt_factor_in=7, dst_factor_in=int(rng.choice([0, rows * columns])),
    )  # fmt: skip
    return gemm, UopRange.of(words_of(uops), CONFIG)


@pytest.mark.parametrize("seed", range(40))
def test_the_parts_of_sums_are_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gemm, uops = random_gemm(rng)
    every = instruction_steps(gemm, uops)
    kernel = kernel_of(gemm, uops)
    low, high = span_of(kernel)
    assert (low, high) == (min(every)[0], max(step[0] for step in every) + 1)
    assert Counter(kernel_steps(kernel)) == Counter(kernel_steps(in_runs(kernel))) == Counter(every)
    cuts = sorted({low - 3, high + 2, *rng.integers(low, high + 1, 3).tolist()})
    found: list[tuple[int, int, int]] = []
    for begin, end in pairwise(cuts):
        parts = cut_kernel(kernel, begin, end)
        assert parts is not None
        mine = [step for part in parts for step in kernel_steps(part)]
        assert all(begin <= step[0] < end for step in mine)
        found += mine
    assert Counter(found) == Counter(every)


def test_evenly_spaced_micro_ops_become_loops() -> None:
    uops = UopRange.of(words_of([(c, 2 * c + t, t) for t in range(9) for c in range(28)]), CONFIG)
    kernel = kernel_of(Gemm(uop_end=252, iter_out=7, dst_factor_out=28, src_factor_out=60), uops)
    assert [loop.extent for loop in kernel.loops] == [7, 9, 28]
    assert kernel.uops == (MicroOp(),)
    assert sum(len(step.block.words) for step in lower_kernel(kernel, CONFIG)) == 7


def test_sums_in_runs_go_from_one_accumulator_to_the_next() -> None:
    uops = UopRange.of(words_of([(0, t, t) for t in range(9)]), CONFIG)
    gemm = Gemm(
        uop_end=9, iter_out=4, iter_in=28, dst_factor_out=28, dst_factor_in=1, src_factor_out=60, src_factor_in=2
    )
    [step] = lower_kernel(in_runs(kernel_of(gemm, uops)), CONFIG)
    dst = UopRange.of(np.array(step.block.words, np.uint32), CONFIG).dst
    assert dst == tuple(range(28))
    assert [loops.dst_factor_in for loops in step.instructions] == [28]


def test_too_many_micro_ops_for_runs_are_left_as_loops() -> None:
    uops = UopRange.of(words_of([(0, t, t) for t in range(9)]), CONFIG)
    kernel = kernel_of(Gemm(uop_end=9, iter_out=20, iter_in=30, dst_factor_out=30, dst_factor_in=1), uops)
    assert in_runs(kernel) is not kernel
    longer = kernel_of(Gemm(uop_end=9, iter_out=257, iter_in=2, dst_factor_out=1, src_factor_in=9), uops)
    assert in_runs(longer) is longer


def test_operations_on_one_accumulator_stay_in_their_order() -> None:
    alu = Alu(alu_opcode=AluOpcode.ADD, uop_end=1, iter_out=3, iter_in=4, dst_factor_in=1, src_factor_out=9)
    uops = UopRange.of(words_of([(0, 50, 0)]), CONFIG)
    parts = cut_kernel(kernel_of(alu, uops), 1, 3)
    assert parts is not None
    assert [step for part in parts for step in kernel_steps(part)] == [
        step for step in instruction_steps(alu, uops) if 1 <= step[0] < 3
    ]


def test_operations_that_read_what_others_wrote_are_not_cut_in_several() -> None:
    alu = Alu(
        alu_opcode=AluOpcode.ADD, uop_end=1, iter_out=3, iter_in=4, dst_factor_out=1, dst_factor_in=3, src_factor_out=1,
        src_factor_in=3,
    )  # fmt: skip
    kernel = kernel_of(alu, UopRange.of(words_of([(1, 0, 0)]), CONFIG))
    assert cut_kernel(kernel, 1, 13) == [kernel]
    assert cut_kernel(kernel, 2, 6) is None


def test_operations_on_other_accumulators_are_cut_anywhere() -> None:
    alu = Alu(alu_opcode=AluOpcode.ADD, uop_end=1, iter_out=4, iter_in=28, dst_factor_out=28, dst_factor_in=1,
              src_factor_out=1)  # fmt: skip
    uops = UopRange.of(words_of([(5, 200, 0)]), CONFIG)
    parts = cut_kernel(kernel_of(alu, uops), 40, 80)
    assert parts is not None
    mine = [step for part in parts for step in kernel_steps(part)]
    assert mine == [step for step in instruction_steps(alu, uops) if 40 <= step[0] < 80]


def test_depthwise_sums_and_resets_stay_what_they_are() -> None:
    uops = UopRange.of(words_of([(3, 4, 5)]), CONFIG)
    for gemm in (Gemm(reset=True, uop_end=1, iter_in=8, dst_factor_in=1), Gemm(depthwise=True, uop_end=1)):
        kernel = kernel_of(gemm, uops)
        assert kernel.operation is not None
        assert (kernel.operation.reset, kernel.operation.depthwise) == (gemm.reset, gemm.depthwise)

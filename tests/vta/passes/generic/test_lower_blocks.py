"""Blocks become plain statements."""

import numpy as np

from isa.config import VTAConfig
from tests.support.compiler.block_programs import gemm_relu, pipeline
from vta.passes.generic.lower_blocks import lower_blocks
from vta.tir.blocks import blocks_in
from vta.tir.interpreter.run import run_func
from vta.tir.verify import verify


def test_the_numbers_stay() -> None:
    for make in (gemm_relu, pipeline):
        func, inputs, expected = make()
        lowered = lower_blocks(func, VTAConfig())
        verify(lowered)
        assert list(blocks_in(lowered.body)) == []
        out = np.zeros_like(expected)
        run_func(lowered, [*inputs, out])
        np.testing.assert_array_equal(out, expected)

"""The matrix multiply of the CPU, step by step: each step of ``examples/optimize_gemm.py`` is the product."""

import numpy as np
import pytest

from examples import optimize_gemm
from vta.build_module import build_generic
from vta.processor import Processor

PROCESSORS = [Processor(4, 16, fuses=False, has_vnni=False), Processor(16, 32, fuses=True, has_vnni=False)]


@pytest.mark.parametrize("processor", PROCESSORS)
def test_each_step_is_the_product(processor: Processor) -> None:
    size, rng = 64, np.random.default_rng(1)
    a, b = (rng.standard_normal((size, size)).astype(np.float32) for _ in range(2))
    names = []
    for step in optimize_gemm.steps(size, processor):
        result = np.full((size, size), np.nan, np.float32)
        build_generic(step.schedule, step.args, "llvm")(a, b, result)
        np.testing.assert_allclose(result, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-4)
        names.append(step.name)
    assert names == [
        "as it is written", "blocking", "vectorization", "loop permutation", "array packing",
        "write cache in registers", "parallel",
    ]  # fmt: skip


def test_it_prints_a_line_for_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    optimize_gemm.main(64)
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in printed[:2]] == ["numpy", "as it is written"]
    assert len(printed) == 9
    assert printed[-1] == "Successful CPU matrix multiply!"

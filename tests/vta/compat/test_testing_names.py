"""What scripts find below tvm.testing."""

from typing import Any

import numpy as np
import pytest

from vta.compat import testing_names
from vta.tir.expr import Var

NAMES: Any = testing_names.testing_names()


def test_comparisons() -> None:
    NAMES["assert_allclose"](np.ones(3), np.ones(3) + 1e-9)
    for other in (np.zeros(3), np.ones(4)):
        with pytest.raises(AssertionError):
            NAMES["assert_allclose"](np.ones(3), other)
    x = Var("x")
    NAMES["assert_prim_expr_equal"]((x + 1) * 2, x * 2 + 2)
    with pytest.raises(testing_names.DifferenceError) as caught:
        NAMES["assert_prim_expr_equal"](x + 1, x)
    assert str(caught.value) == "(x + 1) and x are not equal"


def test_marks_keep_tests_that_can_run_and_skip_the_others() -> None:
    def case() -> None: ...

    assert NAMES["requires_llvm"](case) is case
    assert NAMES["requires_llvm"]()(case) is case
    assert NAMES["requires_gpu"](case).pytestmark[0].kwargs == {"reason": "there is no gpu here"}
    assert NAMES["parametrize_targets"](case).pytestmark[-1].args[0] == ("target", "dev")
    assert [name for name, _ in NAMES["parametrize_targets"]("llvm", "cuda").args[1]] == ["llvm"]
    assert [NAMES["device_enabled"](t) for t in ("llvm -mcpu=x", "cuda")] == [True, False]
    assert NAMES["enabled_targets"]()[0][0] == "llvm"
    assert NAMES["echo"](3) == 3
    assert NAMES["exclude_targets"]("cuda")(case) is case

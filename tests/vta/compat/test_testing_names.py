"""What scripts find below tvm.testing."""

from typing import Any

import numpy as np
import pytest

from vta.compat import testing_names
from vta.te import compute, create_prim_func, placeholder
from vta.tir.expr import Var
from vta.tir.schedule import Schedule
from vta.tir.structural import StructuralDifferenceError, structural_equal

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


@pytest.mark.parametrize("text_format", ["python", "json", ("python", "json")])
def test_a_trace_is_replayed_and_its_program_compared(text_format: str | tuple[str, ...]) -> None:
    verify = testing_names.schedule_testing_names()["verify_trace_roundtrip"]
    assert callable(verify)
    a = placeholder((8,), name="A")
    func = create_prim_func([a, compute((8,), lambda i: a[i] * 2, name="B")])
    sch = Schedule(func)
    sch.split(sch.get_loops("B")[0], factors=[2, 4])
    again = verify(sch=sch, mod=func, text_format=text_format)
    assert again is not sch
    assert structural_equal(again.mod, sch.mod)
    other = create_prim_func([a, compute((8,), lambda i: a[i] * 3, name="B")])
    with pytest.raises(StructuralDifferenceError):
        verify(sch=sch, mod=other, text_format=text_format)

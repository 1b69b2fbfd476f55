"""``tvm.runtime.convert``."""

from typing import Any

from runtime.packed_func import PackedFunc
from vta.compat.convert import convert
from vta.tir.expr import FloatImm, IntImm, StringImm, Var


def test_values_become_expressions_and_containers_are_walked() -> None:
    x = Var("x")
    given: Any = convert([1, (0.5,), "a", x])
    one, half, text, variable = given
    assert isinstance(one, IntImm)
    assert isinstance(half[0], FloatImm)
    assert isinstance(text, StringImm)
    assert variable is x
    assert int(convert({"k": 3})["k"]) == 3  # type: ignore[index]
    assert convert(None) is None


def test_functions_become_packed_ones() -> None:
    packed = convert(lambda x: x + 1)
    assert isinstance(packed, PackedFunc)
    assert packed(2) == 3

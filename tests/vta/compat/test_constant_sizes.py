"""Sizes as numbers."""

import pytest

from vta.compat.constant_sizes import SizeError, number, numbers
from vta.tir.expr import Var, const


def test_constants_become_numbers() -> None:
    n = Var("n")
    assert number(const(3) * 4) == 12
    assert numbers([const(3), 4, n + 1 - n]) == (3, 4, 1)
    assert numbers([n])[0] is n
    with pytest.raises(SizeError) as caught:
        number(n + 1)
    assert str(caught.value) == "get_const_int: expected a size that is a constant, got (n + 1)"

"""Orders: the numbers' own and random ones, which have each valid choice once."""

import numpy as np
import pytest

from vta.autotvm.space import ConfigSpace
from vta.autotvm.tuner import in_order
from vta.autotvm.tuner.in_order import random_order


def space(*sizes: int) -> ConfigSpace:
    found = ConfigSpace()
    for number, size in enumerate(sizes):
        found.define_knob(f"k{number}", range(size))
    return found


@pytest.mark.parametrize("shuffled", [1 << 20, 4])
@pytest.mark.parametrize("sizes", [(1,), (7,), (6, 10), (3, 5, 7)])
def test_every_valid_choice_comes_once(sizes: tuple[int, ...], shuffled: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_order, "_SHUFFLED", shuffled)
    found = space(*sizes)
    found.multi_filter(lambda config: config.index is not None and config.index % 3 != 1)
    order = list(random_order(found, np.random.default_rng(1)))
    assert sorted(order) == [index for index in range(len(found)) if index % 3 != 1]
    assert order == list(random_order(found, np.random.default_rng(1)))
    if len(found) > 10:
        assert order != sorted(order)
        assert order != list(random_order(found, np.random.default_rng(2)))


def test_a_large_space_is_not_listed() -> None:
    found = space(*(10,) * 12)
    order = random_order(found, np.random.default_rng(0))
    first = [next(order) for _ in range(100)]
    assert len(set(first)) == 100
    assert all(0 <= index < 10**12 for index in first)

"""Reports on tuners, as TVM's users made them."""

import pytest

from vta.autotvm.space.config_space import ConfigSpace
from vta.autotvm.space.policies import splits


@pytest.mark.parametrize(
    ("extent", "policy", "outputs", "count"),
    [
        (224, "factors", 3, 63),
        (224, "power2", 3, 36),
        (224, "verbose", 3, 84),
        (256, "factors", 3, 45),
        (1 << 25, "factors", 4, 3276),
    ],
)
def test_br_143_splits_are_all_there_once_also_of_large_sizes(
    extent: int, policy: str, outputs: int, count: int
) -> None:
    found = splits("x", extent, policy, outputs)
    assert len(found) == len(set(found)) == count


def test_br_144_a_space_without_knobs_has_one_choice() -> None:
    assert len(ConfigSpace()) == 1

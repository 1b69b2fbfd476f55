"""What ``bench.layers`` measures of ResNet-18's 1x1 convolutions, whose operations take as long as their sums."""

import pytest

import vta
from bench.layers import measure
from bench.setups import hardware_text, setup_of
from isa.config import VTAConfig


@pytest.mark.parametrize("name", ["C4", "C7", "C10"])
def test_convolutions_of_one_place_reach_most_of_the_peak(name: str) -> None:
    env = vta.Environment(VTAConfig(), hardware=setup_of(hardware_text("64/1")))
    found = measure(name, env)
    assert found.peak >= 0.92 * found.cycles
    assert found.followed == pytest.approx(found.cycles, rel=0.01)
    assert found.predicted == pytest.approx(found.cycles, rel=0.03)

"""The memory port of an environment."""

import vta
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from vta.topi.core.memory_port import bus_of
from vta.topi.tiling import Bus


def test_hardware_that_an_environment_names_has_its_bus_and_latency() -> None:
    assert bus_of(vta.Environment(VTAConfig(), hardware={"data_width": 256, "memory_latency": 7})) == Bus(
        beat_bytes=32, latency=7, sizes=HardwareConfig(data_width=256)
    )


def test_without_hardware_the_port_is_the_models_default() -> None:
    assert bus_of(vta.Environment(VTAConfig())) == Bus()

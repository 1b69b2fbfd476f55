"""What is measured: the hardware of an environment, the sizes in a target."""

import vta
from vta.autotvm.measure.inputs import hardware_of, sizes_of


def test_sizes_are_what_follows_the_device() -> None:
    assert sizes_of("ext_dev -device=vta -model=pynq_1x16_i8w8a32_15_15_18_17") == "1x16_i8w8a32_15_15_18_17"
    assert sizes_of(str(vta.get_env().target)) == "1x16_i8w8a32_15_15_18_17"


def test_hardware_is_what_an_environment_names() -> None:
    config = vta.get_env().config
    assert hardware_of(vta.Environment(config)) is None
    assert hardware_of(vta.Environment(config, hardware={"data_width": 256, "memory_latency": 5})) == (256, 5)

"""The library's template with upstream's tuning results: instruction words and micro-ops are upstream's.

Runtime calls are compared in tests/vta/passes/test_recorded_convolutions.py.
"""

import numpy as np
import pytest

import vta
from runtime.session import Session
from tests.support.golden.conv_cases import schedule_beyond_spine
from tests.support.golden.golden import case_names, load_case
from tests.support.golden.golden_arrays import place_arrays

LAYERS = case_names("alu.", "conv2d.", "group_conv2d.")


def test_nine_layers_are_recorded() -> None:
    assert len(LAYERS) == 9


@pytest.mark.parametrize(
    ("folder", "name"),
    # Tiles of one: hundred thousand instructions and more.
    [pytest.param(*layer, marks=[] if layer[0] == "default" else pytest.mark.long) for layer in LAYERS],
)
def test_words_and_micro_ops_of_a_layer_equal_the_recorded_ones(folder: str, name: str) -> None:
    case = load_case(folder, name)
    session = Session(case.config, "sim", record=True)
    with vta.Environment(case.config) as env:
        scheduled = schedule_beyond_spine(case, env)
        module = vta.build(scheduled.schedule, scheduled.args, target=env.target)
    arrays = place_arrays(case, session)
    for key, values in case.arrays.items():
        if key.startswith("in_"):
            arrays[key.removeprefix("in_")].copyfrom(values)
    module(*arrays.values())
    [launch] = session.queue.launcher.launches
    [recorded] = case.record["launches"]
    assert launch.words == case.words
    config = case.config
    used = (1 << (config.log_acc_depth + config.log_inp_depth + config.log_wgt_depth)) - 1
    # Upstream leaves what it finds in unused bits; here they are zero.
    assert launch.uops.tolist() == [int(word, 16) & used for word in recorded["uop_dram_hex"]]
    counted = dict(case.record["profiler"])
    if name == "alu.residual_add_int8":
        counted["acc_load_nbytes"] //= 4  # upstream counts the bytes that int8 becomes, not those that move
    assert session.device.stats.as_dict() == counted
    for key, expected in case.arrays.items():
        if key.startswith("out_"):
            np.testing.assert_array_equal(arrays[key.removeprefix("out_")].numpy(), expected)

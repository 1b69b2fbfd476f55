"""Models run with any tensor in sight, by onnxruntime and without it, to the same numbers."""

import numpy as np
import pytest

from tests.support.relay.float_models import small_network
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.encoding import Encoding
from vta.quantize.errors import CalibrationError
from vta.quantize.graph import name_of
from vta.quantize.plan import plan
from vta.quantize.prepare import prepared
from vta.quantize.write import Numbers, written

IMAGE = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)


def test_both_runners_agree_on_every_tensor() -> None:
    pytest.importorskip("onnxruntime")
    names = ["image", "relu6", "sum", "logits"]
    ours, theirs = (Runner(small_network(), names, onnxruntime=which)({"image": IMAGE}) for which in (False, True))
    assert list(ours) == list(theirs) == names
    for name in names:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-4, atol=1e-5)


def test_rounding_stays_where_it_is_in_networks_that_are_int8_in_part() -> None:
    """onnxruntime, left to itself, moves the rounding behind a limit in front of it, which has other results."""
    pytest.importorskip("onnxruntime")
    graph = prepared(small_network())
    found = plan(graph)
    layers = {name_of(node) for node in found.layers}
    numbers = Numbers(dict.fromkeys(found.roots, Encoding(0.05, 0)), {}, {})
    model = written(graph, found, numbers, only=set(found.points) - layers)
    fast, exact = (Runner(model, ["logits"], exact=exact)({"image": 3 * IMAGE})["logits"] for exact in (False, True))
    np.testing.assert_allclose(fast, exact, atol=1e-4)


def test_inputs_alone_need_no_run() -> None:
    assert list(Runner(small_network(), ["image"])({"image": IMAGE})) == ["image"]


@pytest.mark.parametrize("onnxruntime", [False, True])
def test_data_that_the_model_refuses_end_in_a_sentence(onnxruntime: bool) -> None:
    with pytest.raises(
        CalibrationError, match=r"^(onnxruntime cannot run the model|the model cannot be run) on the data: "
    ):
        Runner(small_network(), ["logits"], onnxruntime=onnxruntime)({"image": IMAGE[:, :2]})

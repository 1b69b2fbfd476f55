"""Models run with any tensor in sight, by onnxruntime and without it, to the same numbers."""

import numpy as np
import pytest

from tests.support.relay.float_models import small_network
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.errors import CalibrationError

IMAGE = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)


def test_both_runners_agree_on_every_tensor() -> None:
    pytest.importorskip("onnxruntime")
    names = ["image", "relu6", "sum", "logits"]
    ours, theirs = (Runner(small_network(), names, onnxruntime=which)({"image": IMAGE}) for which in (False, True))
    assert list(ours) == list(theirs) == names
    for name in names:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-4, atol=1e-5)


def test_inputs_alone_need_no_run() -> None:
    assert list(Runner(small_network(), ["image"])({"image": IMAGE})) == ["image"]


@pytest.mark.parametrize("onnxruntime", [False, True])
def test_data_that_the_model_refuses_end_in_a_sentence(onnxruntime: bool) -> None:
    with pytest.raises(
        CalibrationError, match=r"^(onnxruntime cannot run the model|the model cannot be run) on the data: "
    ):
        Runner(small_network(), ["logits"], onnxruntime=onnxruntime)({"image": IMAGE[:, :2]})

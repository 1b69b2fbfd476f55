"""What is seen of tensors is what a plain run shows."""

import numpy as np

from tests.support.relay.float_models import small_network
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.calibrate.observe import observe
from vta.quantize.calibrate.samples import Samples, input_types
from vta.quantize.plan import plan
from vta.quantize.prepare import prepared


def test_extremes_and_means_of_channels_are_those_of_all_data() -> None:
    model = small_network()
    graph = prepared(model)
    found = plan(graph)
    data = np.random.default_rng(2).standard_normal((12, 3, 8, 8)).astype(np.float32)
    observed = observe(graph, found, Samples({"image": data}, input_types(model)))
    assert list(observed) == list(found.roots)
    exact = Runner(model, list(found.roots), onnxruntime=False)({"image": data})
    for name, each in observed.items():
        value = exact[name]
        assert min(each.seen.low, each.held.low) == np.float32(value.min()) or name != "image"
        np.testing.assert_allclose(max(each.seen.high, each.held.high), value.max(), rtol=1e-4)
        axes = tuple(axis for axis in range(value.ndim) if axis != 1)
        np.testing.assert_allclose(each.means, value.mean(axes), rtol=1e-3, atol=1e-4)
    assert observed["image"].held.seen == 3 * 3 * 64

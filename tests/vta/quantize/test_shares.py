"""The share of a layer is what it alone, in int8, does to the outputs."""

import numpy as np
import pytest

from tests.support.relay.float_models import small_network
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.calibrate.samples import Samples, input_types
from vta.quantize.decide import decided
from vta.quantize.encoding import Encoding
from vta.quantize.options import Options
from vta.quantize.plan import plan
from vta.quantize.prepare import prepared
from vta.quantize.shares import error_shares
from vta.quantize.write import written


def test_shares_are_those_of_models_with_one_int8_layer_each() -> None:
    model = small_network()
    graph = prepared(model)
    found = plan(graph)
    numbers = decided(graph, found, {name: Encoding(0.1, 0) for name in found.roots}, Options())
    data = np.random.default_rng(3).standard_normal((4, 3, 8, 8)).astype(np.float32)
    shares = error_shares(graph, found, numbers, Samples({"image": data}, input_types(model)))
    assert sum(shares.values()) == pytest.approx(1)
    real = Runner(model, ["logits"], onnxruntime=False)({"image": data})["logits"].astype(np.float64)
    errors = {}
    for name, layers in (("image", []), ("relu6", ["conv1"]), ("relu3", ["project"])):
        # biases stay real: the share is that of the numbers, not of the units of the sums
        alone = written(graph, found, numbers, only={name, *layers})
        got = Runner(alone, ["logits"], onnxruntime=False)({"image": data})["logits"]
        errors[name] = ((got - real) ** 2).sum()
    total = errors["image"] / shares["image"]
    for name, error in errors.items():
        assert shares[name] == pytest.approx(error / total, rel=0.05)

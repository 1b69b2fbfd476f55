"""Scales that are powers of two apart: every operator rounds ties as onnxruntime does, to the even number.

All pairs of int8 numbers are tried where an operator has two operands, and all numbers where it has one; of layers,
random ones with biases that are whole sums. ``tests/vta/relay/backend/test_ties.py`` has the same on the device.
"""

import numpy as np
import pytest

from runtime.executor.operators.names import Op
from tests.support.relay.quantised_models import expected
from tests.support.relay.ties import TIED, Tied, tied
from vta.relay.integer import integer_network
from vta.relay.interpreter import run
from vta.relay.ir.traverse import calls
from vta.relay.onnx.importer import from_onnx


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("pattern", TIED, ids=lambda pattern: pattern.__name__)
def test_every_number_is_onnxruntime_s(pattern: Tied, seed: int) -> None:
    model, inputs = tied(pattern, seed)
    function = integer_network(from_onnx(model))
    assert not {Op.ADD, Op.MULTIPLY, Op.CONV2D, Op.DENSE, Op.AVG_POOL2D} & {each.callee for each in calls(function)}
    [wanted] = expected(model, inputs)
    np.testing.assert_array_equal(np.asarray(run(function, dict(inputs))), wanted)


@pytest.mark.parametrize("pattern", TIED, ids=lambda pattern: pattern.__name__)
def test_there_are_ties(pattern: Tied) -> None:
    """Without them the other test would say nothing: of some seed's real results, some are half-way between cells."""
    found = 0
    for seed in range(4):
        model, inputs = tied(pattern, seed)
        last = model.graph.node[-1]
        scale = next(each for each in model.graph.initializer if each.name == last.input[1])
        model.graph.output.pop()
        model.graph.output.add(name=last.input[0])
        [real] = expected(model, inputs)
        found += int((np.mod(real / np.frombuffer(scale.raw_data, np.float32), 1) == 0.5).sum())
    assert found

"""Scales that are powers of two apart: every operator rounds ties as onnxruntime does, to the even number.

All pairs of int8 numbers are tried where an operator has two operands, and all numbers where it has one; of layers,
random ones with biases that are whole sums. ``tests/vta/relay/backend/test_ties.py`` has the same on the device.
"""

from fractions import Fraction

import numpy as np
import pytest

from runtime.executor.operators.names import Op
from tests.support.relay.onnx_models import model_of
from tests.support.relay.quantised_models import Quantised, expected
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


@pytest.mark.parametrize("kind", ["Identity", "Relu", "Abs", "MaxPool", "Concat"])
@pytest.mark.parametrize(
    ("source", "target"), [(1, 6), (3, 20), (5, 2), (1, 10), (7, 4), (3, 1), (0.05, 0.02), (0.04, 0.1), (0.02, 0.12)]
)
def test_one_tensor_between_scales_that_are_small_numbers_apart_is_onnxruntime_s(
    kind: str, source: float, target: float
) -> None:
    """Ties of 1/6 or 3/20 are in no product of 32 bits, and those of 5/2 in none with 0.05 and 0.02 as float32.

    Where onnxruntime's float32 numbers are beside a tie of scales like these, the even number is right as well.
    """
    for zero, other in ((0, 0), (-128, 3), (17, -60)):
        q = Quantised()
        real = q.both("x", source, zero)
        match kind:
            case "MaxPool":
                last = q.op(kind, [real], kernel_shape=[1, 1])
            case "Concat":
                last = q.op(kind, [real, q.both(real, source * 4, 0)], axis=1)
            case _:
                last = q.op(kind, [real])
        q.quantize(last, target, other)
        model = model_of(q.nodes, {"x": ("float32", (1, 4, 8, 8))}, weights=q.weights)
        cells = (np.arange(-128, 128) - zero).reshape(1, 4, 8, 8)
        inputs = {"x": cells.astype(np.float32) * np.float32(source)}
        [wanted] = expected(model, inputs)
        found = np.asarray(run(integer_network(from_onnx(model)), inputs))
        if isinstance(target, int):
            np.testing.assert_array_equal(found, wanted)
        differs = found[:, :4] != wanted[:, :4]
        exact = [_even(cell, kind, source, target) for cell in cells[differs].tolist()]
        assert found[:, :4][differs].tolist() == [min(max(each + other, -128), 127) for each in exact]


def _even(cell: int, kind: str, source: float, target: float) -> int:
    """Return a cell at another scale, in exact numbers."""
    signed = {"Relu": max(cell, 0), "Abs": abs(cell)}.get(kind, cell)
    return round(signed * Fraction(str(source)) / Fraction(str(target)))

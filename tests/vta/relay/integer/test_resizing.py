"""Linear resizes by whole factors are sums with whole weights: exactly the real ones, but for one rounding."""

import numpy as np
import pytest

import vta
from runtime.executor.operators.names import Op
from runtime.executor.operators.resize import Coordinates, Resize2dAttrs, ResizeMethod
from runtime.executor.operators.types import TensorType
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.relay.patterns import PATTERNS, Pattern, made
from vta.relay.backend.build import build_network, host_reasons
from vta.relay.backend.kernel import Kernel
from vta.relay.integer import to_integers
from vta.relay.interpreter import run
from vta.relay.ir.nodes import Call, Function, Var, constant
from vta.relay.ir.traverse import calls
from vta.relay.onnx.importer import from_onnx
from vta.relay.ops.call import call
from vta.topi.transposed.conv2d_transpose_operator import Conv2dTranspose

FINER = 2.0**-5
ALL = (
    Coordinates.HALF_PIXEL, Coordinates.HALF_PIXEL_SYMMETRIC, Coordinates.PYTORCH_HALF_PIXEL, Coordinates.ALIGN_CORNERS,
    Coordinates.ASYMMETRIC,
)  # fmt: skip


def real(shape: tuple[int, int], attrs: Resize2dAttrs) -> tuple[Var, Call]:
    """Return cells of two channels, and a resize of what they stand for."""
    x = Var("x", TensorType((1, 2, *shape), "int8"))
    dequantised = call(Op.DEQUANTIZE, (x, constant(0.5, "float32"), constant(-7, "int8")))
    return x, call(Op.RESIZE2D, (dequantised,), attrs)


def quantised(x: Var, of: Call) -> Function:
    return Function((x,), call(Op.QUANTIZE, (of, constant(FINER, "float32"), constant(3, "int8"))))


def is_integer(function: Function) -> bool:
    return any(each.callee is Op.QNN_CONV2D_TRANSPOSE for each in calls(function))


@pytest.mark.parametrize("rule", ALL)
@pytest.mark.parametrize("factor", [1, 2, 3, 4])
def test_sums_are_the_real_numbers_but_for_one_rounding(rule: Coordinates, factor: int) -> None:
    rng = np.random.default_rng(factor)
    for source in (1, 2, 5):
        target = (source - 1) * factor + 1 if rule is Coordinates.ALIGN_CORNERS else source * factor
        width = 5 if rule is Coordinates.ALIGN_CORNERS else 6
        x, resized = real((source, 3), Resize2dAttrs((target, width), ResizeMethod.LINEAR, rule))
        integers = to_integers(quantised(x, resized))
        assert is_integer(integers)
        cells = rng.integers(-10, -4, (1, 2, source, 3)).astype(np.int8)
        found, wanted = run(integers, [cells]), run(Function((x,), resized), [cells])
        assert isinstance(found, np.ndarray)
        assert np.abs(found - np.clip(np.asarray(wanted) / FINER + 3, -128, 127)).max() <= 0.5 + 2.0**-6


@pytest.mark.parametrize(
    ("size", "attrs"),
    [
        ((4, 4), {"size": (6, 8)}),
        ((4, 4), {"size": (2, 4)}),
        ((4, 4), {"size": (32, 32)}),
        ((4, 4), {"size": (8, 8), "method": ResizeMethod.CUBIC}),
        ((4, 4), {"size": (8, 8), "exclude_outside": True}),
        ((4, 4), {"size": (8, 8), "scales": (2.1, 2.0)}),
        ((4, 4), {"size": (8, 8), "coordinates": Coordinates.ALIGN_CORNERS}),
        ((4, 4), {"size": (8, 8), "coordinates": Coordinates.CROP_AND_RESIZE}),
    ],
)
def test_other_resizes_stay_real(size: tuple[int, int], attrs: dict[str, object]) -> None:
    assert not is_integer(to_integers(quantised(*real(size, Resize2dAttrs(**attrs)))))  # type: ignore[arg-type]


LINEAR = [pattern for pattern in PATTERNS if pattern.__name__.startswith("resized_linearly")]


@pytest.mark.parametrize("pattern", LINEAR, ids=lambda pattern: pattern.__name__)
def test_the_accelerator_computes_the_sums(pattern: Pattern) -> None:
    model, x = made(pattern, 8)
    built = build_network(from_onnx(model), vta.get_env(), jobs=1)
    assert isinstance([item for item in built.items if isinstance(item, Kernel)][-1].operator, Conv2dTranspose)
    pads = "its pads are edge, and the accelerator pads with constants"
    assert (pads in host_reasons(built).values()) == ("corners" not in pattern.__name__)
    [found] = NetworkRunner(built.network, Session(built.network.config, "sim")).run({"x": x}).values()
    np.testing.assert_array_equal(found, run(built.function, [x]))

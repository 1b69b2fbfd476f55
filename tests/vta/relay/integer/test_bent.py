"""Functions of sums without a quantisation before them: within 1/2 + 2**-6 of the exact numbers, on the accelerator."""

from itertools import product

import numpy as np
import pytest

import vta
from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.products import QnnDenseAttrs
from runtime.executor.operators.types import TensorType
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.relay.patterns import PATTERNS, made
from vta.relay.backend.build import build_network
from vta.relay.backend.compare import against_onnxruntime
from vta.relay.backend.kernel import HostCall, Kernel
from vta.relay.integer.bent import product as joined
from vta.relay.integer.bent import rescaled_bent
from vta.relay.integer.scaling import Target
from vta.relay.integer.values import Gated, Leaky, Sums, Term, Value
from vta.relay.interpreter import run
from vta.relay.ir.nodes import Constant, Function, Var
from vta.relay.onnx.importer import from_onnx
from vta.relay.ops.call import call

NEAR = 0.5 + 2.0**-6
SCALES = (3e-7, 0.00012, 0.0123, 0.9)
TARGETS = (Target(0.0013, 0), Target(0.03, -100), Target(0.11, -128), Target(0.27, 90))


def far(
    value: Leaky | Gated, target: Target, exact: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"
) -> float | None:
    """Return how far results are from the exact ones, None where there are none."""
    assert value.sums.term is not None
    x = value.sums.term.expr
    assert isinstance(x, Var)
    made = rescaled_bent(value, target)
    if made is None:
        return None
    found = np.asarray(run(Function((x,), made), [NUMBERS]))
    assert found.dtype == np.int8
    return float(np.abs(found - np.clip(exact / target.scale + target.zero, -128, 127)).max())


NUMBERS = np.unique(
    np.concatenate([np.round(np.linspace(-span, span, 3001)) for span in (1500, 80_000, 3_000_000, 1 << 30)])
).astype(np.int32)[None]


def sums(scale: float, offset: float) -> Sums:
    return Sums(
        Term(Var("x", TensorType(NUMBERS.shape, "int32")), np.array([scale])), (), 1, np.array([offset * scale])
    )


@pytest.mark.parametrize("slope", [0.01, 0.2, 1.0, 3.5])
def test_leaky_relus_are_near_at_all_scales(slope: float) -> None:
    done = 0
    for scale, target, offset in product(SCALES, TARGETS, (0, -37)):
        real = (NUMBERS.astype(np.float64) + offset) * scale
        found = far(Leaky(sums(scale, offset), np.array([slope])), target, np.where(real > 0, real, real * slope))
        assert found is None or found <= NEAR, (scale, target, offset)
        done += found is not None
    assert done == 32


@pytest.mark.parametrize(
    ("slope", "offset", "top", "factor"), [(1 / 6, 0.5, 1, 1), (1, 3, 6, 1 / 6), (0.3, -0.25, 1, 2)]
)
def test_hard_swishes_are_near_at_all_scales(slope: float, offset: float, top: float, factor: float) -> None:
    done = 0
    for scale, target, bias in product(SCALES, TARGETS, (0, 12)):
        real = (NUMBERS.astype(np.float64) + bias) * scale
        exact = real * np.clip(real * slope + offset, 0, top) * factor
        found = far(Gated(sums(scale, bias), slope, offset, top, factor), target, exact)
        assert found is None or found <= NEAR, (scale, target, bias)
        done += found is not None
    assert done >= 12


def test_what_32_bits_do_not_hold_stays_real() -> None:
    assert rescaled_bent(Gated(sums(0.01, 0), 1 / 6, 0.5, 1), Target(1e-7, 0)) is None
    assert rescaled_bent(Gated(sums(0.01, 0), 1e-40, 0.5, 1), Target(0.1, 0)) is None


OF_SUMS = [pattern for pattern in PATTERNS if "of_sums" in pattern.__name__]


@pytest.mark.parametrize("pattern", OF_SUMS, ids=lambda pattern: pattern.__name__)
def test_they_are_part_of_the_layers_epilogue(pattern: object) -> None:
    model, x = made(pattern, 7)  # type: ignore[arg-type]
    built = build_network(from_onnx(model), vta.get_env(), jobs=1)
    assert [type(item) for item in built.items] == [HostCall, Kernel]
    [found] = NetworkRunner(built.network, Session(built.network.config, "sim")).run({"x": x}).values()
    np.testing.assert_array_equal(found, run(built.function, [x]))
    compared = against_onnxruntime(built.function, model, {"x": x})
    assert [each.largest <= 1 for each in compared] == [True] * len(compared)
    assert compared[-1].elements == found.size


def test_a_product_of_two_layers_is_no_hard_swish() -> None:
    x = Var("x", TensorType((2, 4), "int8"))
    weights = Constant(np.ones((3, 4), np.int8))
    one, other = (call(Op.QNN_DENSE, (x, weights), QnnDenseAttrs(zero)) for zero in (0, 1))
    scale = np.array([0.1])
    values = [
        Value(lambda: one, sums=Sums(Term(one, scale), (), 1)),
        Value(lambda: other, sums=Sums(Term(other, scale), (), 1, low=0.0, high=6.0)),
    ]
    assert joined(call(Op.MULTIPLY, (one, other)), values) is None
    values[1] = Value(lambda: one, sums=Sums(Term(one, scale), (), 1, low=0.0, high=6.0))
    gated = joined(call(Op.MULTIPLY, (one, one)), values)
    assert gated is not None
    assert isinstance(gated.bent, Gated)
    assert (gated.bent.slope, gated.bent.offset, gated.bent.top) == (1, 0, 6)

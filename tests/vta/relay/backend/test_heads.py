"""Which single operators the accelerator does, as what, and why not: against plain numpy on engines."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import vta
from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.padding import PadAttrs, PadMode
from runtime.executor.operators.pooling import AvgPool2dAttrs, GlobalPoolAttrs
from runtime.executor.operators.qnn.products import QnnMulAttrs
from runtime.executor.operators.qnn.quantize import DequantizeAttrs, QuantizeAttrs
from runtime.executor.operators.qnn.saturating import RescaleAttrs
from runtime.executor.operators.resize import Coordinates, NearestRounding, Resize2dAttrs, ResizeMethod, UpsamplingAttrs
from runtime.executor.operators.types import Array, TensorType
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.relay.plain_windows import plain_windows
from vta.relay.backend.build import Built, build_network, host_reasons
from vta.relay.backend.kernel import Kernel
from vta.relay.ir.nodes import Expr, Function, Var, constant
from vta.relay.ops.call import call

SHAPE = (1, 20, 6, 7)
DATA = np.random.default_rng(1).integers(-128, 128, SHAPE).astype(np.int8)


def kernels(built: Built) -> list[str]:
    return [type(item.operator).__name__ for item in built.items if isinstance(item, Kernel)]


def ran(built: Built, arrays: Sequence[Array], engine: str = "sim") -> Array:
    runner = NetworkRunner(built.network, Session(built.network.config, engine))
    [result] = runner.run(dict(zip(built.network.inputs, arrays, strict=True))).values()
    return result


def of_one(op: Op, attrs: Attrs, shape: tuple[int, ...] = SHAPE) -> Built:
    x = Var("x", TensorType(shape, "int8"))
    return build_network(Function((x,), call(op, (x,), attrs)), vta.get_env(), jobs=1)


def real(data: Expr, scale: float, zero: int = 0) -> Expr:
    return call(Op.DEQUANTIZE, (data, constant(scale, "float32"), constant(zero, "int8")), DequantizeAttrs(0))


def quantised(data: Expr, scale: float, zero: int = 0) -> Expr:
    return call(Op.QUANTIZE, (data, constant(scale, "float32"), constant(zero, "int8")), QuantizeAttrs("int8", 0))


PADS = PadAttrs(((0, 0), (0, 0), (1, 2), (0, 3)), -5.0)
NEAREST = Resize2dAttrs((12, 21), ResizeMethod.NEAREST)


@pytest.mark.parametrize("engine", ["sim", "tsim"])
@pytest.mark.parametrize(
    ("op", "attrs", "kernel", "numpy"),
    [
        (Op.PAD, PADS, "Pad2d", lambda x: np.pad(x, PADS.pad_width, constant_values=-5)),
        (Op.RESIZE2D, NEAREST, "Upsample2d", lambda x: x.repeat(2, 2).repeat(3, 3)),
        (Op.UPSAMPLING, UpsamplingAttrs(1, 2), "Upsample2d", lambda x: x.repeat(2, 3)),
        (Op.GLOBAL_MAX_POOL2D, GlobalPoolAttrs(), "MaxPool2d", lambda x: x.max((2, 3), keepdims=True)),
    ],
)
def test_what_moves_cells_runs_on_the_accelerator(
    op: Op, attrs: Attrs, kernel: str, numpy: Callable[[Array], Array], engine: str
) -> None:
    built = of_one(op, attrs)
    assert kernels(built) == [kernel]
    assert np.array_equal(ran(built, [DATA], engine), numpy(DATA))


@pytest.mark.parametrize(
    ("coordinates", "rounding"),
    [
        (Coordinates.ASYMMETRIC, NearestRounding.FLOOR),
        (Coordinates.HALF_PIXEL, NearestRounding.ROUND_PREFER_FLOOR),
        (Coordinates.HALF_PIXEL, NearestRounding.ROUND_PREFER_CEIL),
    ],
)
def test_every_rule_that_repeats_pixels_alike_is_the_same_kernel(
    coordinates: Coordinates, rounding: NearestRounding
) -> None:
    built = of_one(Op.RESIZE2D, Resize2dAttrs((12, 14), ResizeMethod.NEAREST, coordinates, rounding))
    assert kernels(built) == ["Upsample2d"]
    assert np.array_equal(ran(built, [DATA]), DATA.repeat(2, 2).repeat(2, 3))


@pytest.mark.parametrize(
    ("op", "attrs", "reason"),
    [
        (
            Op.RESIZE2D,
            Resize2dAttrs((9, 14), ResizeMethod.NEAREST),
            "it takes some pixels more often than others, and the accelerator repeats all alike",
        ),
        (
            Op.RESIZE2D,
            Resize2dAttrs((12, 14), ResizeMethod.NEAREST, Coordinates.ASYMMETRIC, NearestRounding.CEIL),
            "it takes some pixels more often than others, and the accelerator repeats all alike",
        ),
        (
            Op.PAD,
            PadAttrs(((0, 0), (0, 0), (1, 1), (1, 1)), 0, PadMode.REFLECT),
            "its pads are reflect, and the accelerator pads with constants",
        ),
        (
            Op.PAD,
            PadAttrs(((0, 0), (0, 1), (1, 1), (1, 1))),
            "it pads images or channels, and the accelerator pads rows and columns",
        ),
    ],
)
def test_what_the_accelerator_does_not_do_stays_with_the_host_and_says_why(op: Op, attrs: Attrs, reason: str) -> None:
    assert list(host_reasons(of_one(op, attrs)).values()) == [reason]


@pytest.mark.parametrize("engine", ["sim", "tsim"])
@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("ceil", [False, True])
def test_averages_of_windows_of_different_sizes_are_near_to_the_exact_ones(
    include: bool, ceil: bool, engine: str
) -> None:
    """Pads that do not count, and last windows that are not whole: a number of cells for each place."""
    attrs = AvgPool2dAttrs((3, 2), (2, 2), (1, 1, 1, 0), (1, 1), ceil, count_include_pad=include)
    x = Var("x", TensorType(SHAPE, "int8"))
    built = build_network(
        Function((x,), quantised(call(Op.AVG_POOL2D, (real(x, 0.05, -20),), attrs), 0.031, 7)), vta.get_env(), jobs=1
    )
    assert kernels(built) == ["SumPool2d"]
    found = ran(built, [DATA], engine)
    for place, inside, count in plain_windows(
        DATA, kernel=(3, 2), strides=(2, 2), padding=(1, 1, 1, 0), dilation=(1, 1), outputs=found.shape[2:]
    ):
        divisor = count if include else len(inside)
        exact = sum(int(each) + 20 for each in inside) / divisor * 0.05 / 0.031 + 7
        assert abs(found[place] - np.clip(exact, -128, 127)) <= 0.5 + 2**-6


def product(zeros: tuple[int, int]) -> Built:
    x, y = (Var(name, TensorType(SHAPE, "int8")) for name in "xy")
    made = call(Op.QNN_MUL, (x, y), QnnMulAttrs(*zeros))
    nothing = constant(0, "int32")
    scaled = call(Op.RESCALE, (made, nothing, nothing, constant(5000, "int32")), RescaleAttrs(shift=19))
    return build_network(Function((x, y), scaled), vta.get_env(), jobs=1)


@pytest.mark.parametrize("engine", ["sim", "tsim"])
def test_products_of_two_tensors_run_on_the_accelerator(engine: str) -> None:
    other = np.random.default_rng(2).integers(-128, 128, SHAPE).astype(np.int8)
    built = product((0, 0))
    assert kernels(built) == ["Binary"]
    exact = np.clip((DATA.astype(int) * other * 5000 + (1 << 18)) >> 19, -128, 127)
    assert np.array_equal(ran(built, [DATA, other], engine), exact)


def test_products_with_zero_points_stay_with_the_host() -> None:
    assert next(iter(host_reasons(product((0, 3))).values())) == (
        "its operands have zero points, and the accelerator multiplies numbers as they are"
    )


@pytest.mark.parametrize("engine", ["sim", "tsim"])
@pytest.mark.parametrize(
    ("op", "function"),
    [
        (Op.HARD_SWISH, lambda r: r * np.clip(r / 6 + 0.5, 0, 1)),
        (Op.HARD_SIGMOID, lambda r: np.clip(r * 0.2 + 0.5, 0, 1)),
        (Op.LEAKY_RELU, lambda r: np.where(r > 0, r, 0.01 * r)),
        (Op.TANH, np.tanh),
        (Op.NEGATIVE, lambda r: -r),
    ],
)
def test_functions_run_on_the_accelerator(op: Op, function: Callable[[Array], Array], engine: str) -> None:
    x = Var("x", TensorType(SHAPE, "int8"))
    body = quantised(call(op, (real(x, 0.043, 11),)), 0.0513, -3)
    built = build_network(Function((x,), body), vta.get_env(), jobs=1)
    assert kernels(built) == ["Elementwise"]
    exact = np.clip(function((DATA.astype(float) - 11) * 0.043) / 0.0513 - 3, -128, 127)
    assert np.abs(ran(built, [DATA], engine) - exact).max() <= 0.5 + 2**-6

"""Folding places of the window into channels changes no sum, is chosen where it pays, and runs on every engine."""

import numpy as np
import pytest

import vta
from tests.support.compiler.random_operators import check
from tests.support.configs import CONFIGS
from vta.topi.conv.conv2d_operator import Conv2d, conv2d_sums
from vta.topi.conv.folding import FoldedWindow, fold_data, fold_kernel
from vta.topi.core.epilogue import Bias, Clip, RoundingShift, ShiftRight
from vta.topi.core.layout import unpack_activations
from vta.topi.core.operator import OperatorError, compile  # noqa: A004
from vta.topi.core.window import Window, WindowError

STEPS = (ShiftRight(8), Bias(), Clip(0, 127))


def folded_sums(data: np.ndarray, kernel: np.ndarray, folded: FoldedWindow, fill: int) -> np.ndarray:
    """Return the sums by way of folded data and kernel, which go through the accelerator's layout."""
    images = fold_data(data, folded, batch=2, block=8, fill=fill)
    weights = fold_kernel(kernel, folded.factors)
    plain = unpack_activations(images, data.shape[0], weights.shape[1])
    return conv2d_sums(plain, weights, folded.left, 1)


def test_sums_of_folded_images_are_those_of_the_image() -> None:
    rng = np.random.default_rng(1)
    done = 0
    while done < 150:
        kernel_size, strides = (tuple(int(n) for n in rng.integers(1, high, 2)) for high in (8, 5))
        window = Window(
            kernel_size,
            strides,
            padding=tuple(int(n) for n in rng.integers(0, 4, 4)),
            dilation=tuple(int(n) for n in rng.integers(1, 4, 2)),
        )
        images, channels, outputs, height, width = (int(n) for n in rng.integers(1, (4, 5, 4, 25, 25)))
        try:
            output = window.output(height, width)
        except WindowError:
            continue
        factors = tuple(int(rng.integers(1, taps + 1)) for taps in window.kernel)
        data = rng.integers(-128, 128, (images, channels, height, width)).astype(np.int8)
        kernel = rng.integers(-128, 128, (outputs, channels, *window.kernel)).astype(np.int8)
        zero_point = int(rng.choice([0, -128, 5]))
        folded = FoldedWindow(window, factors, output)  # type: ignore[arg-type]  # two of them
        sums = folded_sums(data, kernel, folded, zero_point)
        missing = zero_point * kernel.sum(axis=(1, 2, 3), dtype=np.int32).reshape(1, -1, 1, 1)
        np.testing.assert_array_equal(sums - missing, conv2d_sums(data, kernel, window, 1, zero_point))
        done += 1


def test_space_to_depth_takes_strides_away() -> None:
    window = Window((7, 7), (2, 2), (3, 3, 3, 3))
    folded = FoldedWindow(window, (2, 2), window.output(224, 224))
    assert folded.left == Window((4, 4))
    assert folded.extents == (115, 115)
    assert folded.gaps == (2, 2)


FIRST_LAYERS = {
    "resnet": (Conv2d(1, 3, 224, 224, 64, (7, 7), (2, 2), (3, 3, 3, 3), epilogue=STEPS), (7, 7)),
    "efficientnet": (Conv2d(1, 3, 224, 224, 32, (3, 3), (2, 2), (1, 1, 1, 1), epilogue=STEPS), (3, 3)),
    "vit": (Conv2d(1, 3, 224, 224, 384, (16, 16), (16, 16), epilogue=STEPS), (16, 16)),
    "grey": (Conv2d(1, 1, 28, 28, 16, (3, 3), padding=(1, 1, 1, 1), epilogue=STEPS), (3, 3)),
    "full": (Conv2d(1, 16, 56, 56, 64, (3, 3), epilogue=STEPS), (1, 1)),
    "groups": (Conv2d(1, 4, 56, 56, 64, (3, 3), groups=2, epilogue=STEPS), (1, 1)),
    "point": (Conv2d(1, 3, 56, 56, 64, (1, 1), epilogue=STEPS), (1, 1)),
}


@pytest.mark.parametrize("name", FIRST_LAYERS)
def test_what_pays_is_folded(name: str) -> None:
    layer, factors = FIRST_LAYERS[name]
    assert layer.folded(vta.get_env()).factors == factors


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize(
    "layer",
    [
        Conv2d(1, 3, 23, 21, 20, (7, 7), (2, 2), (3, 3, 2, 3), epilogue=STEPS),
        Conv2d(3, 2, 17, 16, 9, (4, 4), (4, 4), zero_point=-7, epilogue=(RoundingShift(6),)),
        Conv2d(2, 1, 12, 19, 33, (3, 5), (1, 2), (1, 0, 2, 3), (2, 1), zero_point=-128, epilogue=STEPS),
    ],
    ids=["resnet", "patches", "dilated"],
)
def test_first_layers_compute_what_numpy_computes(layer: Conv2d, config: str) -> None:
    env = vta.Environment(CONFIGS[config])
    assert layer.folded(env).factors != (1, 1)
    check(layer, config)


@pytest.mark.parametrize("fold", [None, (2, 2), (1, 7), (1, 1)])
def test_first_layers_run_on_the_hardware(fold: tuple[int, int] | None) -> None:
    check(Conv2d(1, 3, 22, 22, 32, (7, 7), (2, 2), (3, 3, 3, 3), epilogue=STEPS, fold=fold), "default", engine="tsim")


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize(
    "layer",
    [
        Conv2d(2, 20, 9, 8, 24, (3, 3), (2, 1), (1, 1, 1, 0), zero_point=-128, epilogue=(RoundingShift(9),)),
        Conv2d(1, 24, 9, 9, 24, (3, 3), padding=(1, 1, 1, 1), groups=24, zero_point=17, epilogue=STEPS),
        Conv2d(1, 40, 5, 7, 17, (1, 1), zero_point=127, epilogue=STEPS),
        Conv2d(1, 3, 9, 9, 8, (3, 3), padding=(1, 1, 1, 1), zero_point=-3, epilogue=STEPS, fold=(1, 1)),
    ],
    ids=["pads", "depthwise", "point", "unfolded"],
)
def test_a_zero_point_is_what_pads_and_missing_values_are(layer: Conv2d, config: str) -> None:
    check(layer, config)


def test_the_twin_takes_the_zero_point_off_and_pads_with_it() -> None:
    rng = np.random.default_rng(2)
    data = rng.integers(-128, 128, (1, 5, 6, 7)).astype(np.int8)
    kernel = rng.integers(-128, 128, (4, 5, 3, 3)).astype(np.int8)
    window = Window((3, 3), padding=(1, 2, 0, 1))
    padded = np.pad(data.astype(np.int64), ((0, 0), (0, 0), (1, 0), (2, 1)), constant_values=9) - 9
    expected = conv2d_sums(padded, kernel, Window((3, 3)), 1)
    np.testing.assert_array_equal(conv2d_sums(data, kernel, window, 1, 9), expected)


def test_what_is_computed_has_no_fold_and_no_zero_point() -> None:
    env = vta.get_env()
    layer = Conv2d(1, 3, 20, 20, 16, (3, 3), (2, 2), (1, 1, 1, 1), zero_point=4, epilogue=STEPS, fold=(3, 3))
    plain = layer.plain(env)
    assert plain == Conv2d(1, 27, 10, 10, 16, (1, 1), epilogue=(Bias(), *STEPS), fold=(1, 1))
    assert plain.plain(env) == plain
    assert plain.macs == layer.macs
    assert compile(layer, env).scheduled.args[0].shape == compile(plain, env).scheduled.args[0].shape


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"zero_point": 128}, "Conv2d: zero_point takes a number from -128 to 127, not 128"),
        ({"zero_point": "0"}, "Conv2d: zero_point takes a number from -128 to 127, not '0'"),
        ({"fold": (2,)}, "Conv2d: fold takes 2 numbers from 1 (rows, columns), not (2,)"),
        ({"fold": (2, 4)}, "Conv2d: fold is at most the kernel, (3, 3), not (2, 4)"),
        ({"fold": (2, 2), "groups": 2}, "Conv2d: fold is (1, 1) for a convolution in groups, not (2, 2)"),
    ],
)
def test_folds_and_zero_points_that_cannot_be_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(OperatorError) as caught:
        Conv2d(1, 4, 9, 9, 8, (3, 3), **changes)  # type: ignore[arg-type]  # what is refused
    assert str(caught.value) == message

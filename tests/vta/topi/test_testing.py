"""The numpy twins against numbers worked out by hand, and against the operators themselves."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic
from vta.topi import testing
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import convolution, elementwise, nn, pooling, rearrange


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape) * 7 + shape[0]).standard_normal(shape).astype(np.float32)


def run(make: Callable[..., te.Tensor], *arrays: np.ndarray) -> np.ndarray:
    ins = [te.placeholder(a.shape, str(a.dtype), f"in{i}") for i, a in enumerate(arrays)]
    out = make(*ins)
    result = vta.nd.empty([int(e) for e in out.shape], str(out.dtype))  # type: ignore[call-overload]
    build_generic(te.create_schedule(out.op), [*ins, out])(*map(vta.nd.array, arrays), result)
    return result.numpy()


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", ["SAME", "VALID", 1])
def test_convolutions_are_the_operators(stride: int, padding: Any) -> None:
    x, w = values(2, 4, 7, 8), values(6, 4, 3, 3)
    pads = {"SAME": 1, "VALID": 0}.get(padding, padding) if isinstance(padding, str) else padding
    got = run(lambda a, b: convolution.conv2d_nchw(a, b, stride, pads, 1), x, w)
    np.testing.assert_allclose(got, testing.conv2d_nchw_python(x, w, stride, padding), rtol=1e-3, atol=1e-4)
    d = values(4, 2, 3, 3)
    got = run(lambda a, b: convolution.depthwise_conv2d_nchw(a, b, stride, pads, 1), x, d)
    np.testing.assert_allclose(got, testing.depthwise_conv2d_python_nchw(x, d, stride, padding), rtol=1e-3, atol=1e-4)
    turned = testing.conv2d_nhwc_python(x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), stride, padding)
    np.testing.assert_allclose(
        turned.transpose(0, 3, 1, 2), testing.conv2d_nchw_python(x, w, stride, padding), rtol=1e-5
    )


def test_a_transposed_convolution_is_the_convolutions_gradient() -> None:
    x, w = values(1, 3, 4, 5), values(3, 2, 3, 3)
    got = run(lambda a, b: convolution.conv2d_transpose_nchw(a, b, (2, 2), (1, 1), "float32", (1, 1)), x, w)
    want = testing.conv2d_transpose_nchw_python(x, w, (2, 2), (1, 1), (1, 1))
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)
    grown = testing.dilate_python(x, (1, 1, 2, 2))
    assert grown.shape == (1, 3, 7, 9)
    again = testing.conv2d_nchw_python(grown, w.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1], 1, [1, 1, 2, 2])
    np.testing.assert_allclose(want, again, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("counted", [True, False])
def test_pools_are_the_operators(kind: str, counted: bool) -> None:
    x = values(1, 3, 7, 9)
    got = run(lambda a: pooling.pool2d(a, [3, 2], [2, 2], [1, 1], [1, 0, 1, 0], kind, False, "NCHW", counted), x)
    want = testing.poolnd_python(x, [3, 2], [2, 2], [1, 1], [1, 0], [1, 0], kind, counted)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_normalisations_are_the_operators() -> None:
    x, gamma, beta = values(4, 6), values(6), values(6, 1)[:, 0]
    np.testing.assert_allclose(run(nn.softmax, x), testing.softmax_python(x), rtol=1e-4)
    np.testing.assert_allclose(run(nn.log_softmax, x), testing.log_softmax_python(x), rtol=1e-4, atol=1e-6)
    got = run(lambda a, g, b: nn.layer_norm(a, g, b, (1,)), x, gamma, beta)
    np.testing.assert_allclose(got, testing.layer_norm_python(x, gamma, beta, 1), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(testing.l2_normalize_python(np.array([[3.0, 4.0]]), 1e-9, [1]), [[0.6, 0.8]])
    ones = np.ones((1, 4, 1, 1))
    assert testing.lrn_python(ones, 3, 1, 1, 3, 1)[0, :, 0, 0].tolist() == [1 / 3, 1 / 4, 1 / 4, 1 / 3]


def test_products_slices_and_the_rest() -> None:
    x, y, bias = values(3, 5), values(4, 5), values(4)
    np.testing.assert_allclose(testing.dense(x, y, bias, use_relu=True), np.maximum(x @ y.T + bias, 0), rtol=1e-6)
    np.testing.assert_allclose(testing.batch_matmul(x[None], y[None])[0], x @ y.T, rtol=1e-6)
    np.testing.assert_allclose(run(lambda a, b: nn.batch_matmul(a, b), x[None], y[None])[0], x @ y.T, rtol=1e-4)
    grid = np.arange(24).reshape(2, 3, 4)
    assert (testing.strided_slice_python(grid, [1], [2], [1], "size", [2]) == grid[:, :, 1:3]).all()
    assert (testing.strided_slice_python(grid, [0, 0], [2, 3], [1, 2]) == grid[0:2, 0:3:2]).all()
    assert testing.one_hot(np.array([1, 0]), 5, 2, 3, 0, "int32").tolist() == [[2, 5], [5, 2], [2, 2]]
    assert testing.gather_python(grid, 2, grid[:, :, :1] % 4).shape == (2, 3, 1)
    picture = values(1, 2, 2, 3)
    assert (testing.upsampling_python(picture, (2, 3)) == np.kron(picture, np.ones((2, 3), np.float32))).all()
    assert (run(lambda a: rearrange.flip(a, 1), x) == x[:, ::-1]).all()
    assert (run(elementwise.abs, x) == abs(x)).all()


def test_arguments_without_a_meaning_are_refused() -> None:
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: testing.dilate_python(np.ones((2, 2)), [2]), "dilate_python: expected 2 strides, got 1"),
        (
            lambda: testing.conv2d_nchw_python(values(1, 1, 3, 3), values(1, 1, 1, 1), 1, "FULL"),
            "padding: expected 'SAME', 'VALID', or 1, 2 or 4 numbers, got 'FULL'",
        ),
    ]
    for call, text in cases:
        with pytest.raises(OperatorError) as caught:
            call()
        assert str(caught.value) == text

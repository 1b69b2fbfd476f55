"""Arithmetic of whole tensors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic

FUNCTIONS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b,
]  # fmt: skip


def run(tensor: te.Tensor, inputs: list[te.Tensor], arrays: list[np.ndarray]) -> np.ndarray:
    out = vta.nd.empty([int(e) for e in tensor.shape], str(tensor.dtype))  # type: ignore[call-overload]
    build_generic(te.create_schedule(tensor.op), [*inputs, tensor])(*map(vta.nd.array, arrays), out)
    return out.numpy()


@pytest.mark.parametrize(
    "shapes", [((4, 3), (4, 3)), ((4, 3), (3,)), ((4, 1), (1, 3)), ((), (2,)), ((2, 1, 3), (4, 1))]
)
def test_shapes_broadcast_as_numpys(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (te.placeholder(shape, name=name) for shape, name in zip(shapes, "AB", strict=True))
    rng = np.random.default_rng(3)
    x, y = (rng.random(shape).astype(np.float32) + np.float32(1) for shape in shapes)
    for function in FUNCTIONS:
        tensor = function(a, b)
        assert tensor.op.tag == "broadcast"
        np.testing.assert_allclose(run(tensor, [a, b], [x, y]), function(x, y), rtol=1e-5)


def test_a_number_on_either_side() -> None:
    a, n = te.placeholder((2, 3), name="A"), te.var("n")
    x = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
    for function in FUNCTIONS:
        np.testing.assert_allclose(run(function(a, 3), [a], [x]), function(x, 3), rtol=1e-6)
        np.testing.assert_allclose(run(function(3, a), [a], [x]), function(3, x), rtol=1e-6)
    tensor = n + a
    assert isinstance(tensor, te.Tensor)
    assert tensor.op.tag == "elemwise"
    assert isinstance(a + n, te.Tensor)
    assert isinstance(-a, te.Tensor)
    assert isinstance(a[0, 1] + a, te.Tensor)
    out = vta.nd.empty((2, 3))
    build_generic(te.create_schedule(tensor.op), [a, n, tensor])(vta.nd.array(x), 5, out)
    np.testing.assert_allclose(out.numpy(), x + 5)


def test_what_does_not_go_together_is_refused() -> None:
    a, b = te.placeholder((2, 3), name="A"), te.placeholder((4,), name="B")
    for call, text in (
        (lambda: a + b, "add of 'A' and 'B': sizes 3 and 4 of dimension -1 do not go together"),
        (lambda: a * [1], "multiply: expected a tensor or a number, got [1]"),
    ):
        with pytest.raises(te.TensorError) as caught:
            call()
        assert str(caught.value) == text

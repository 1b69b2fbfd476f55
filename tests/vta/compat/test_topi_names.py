"""``tvm.topi``: the names of both, and the right one by the image."""

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed
from vta import te, topi
from vta.compat.topi_names import LayoutError, topi_names


def test_both_sides_are_in_one_tree() -> None:
    names = topi_names()
    assert names["add"].__wrapped__ is topi.add  # type: ignore[attr-defined]  # of tensors, it is that one
    assert callable(names["softmax"] if "softmax" in names else names["nn"]["softmax"])  # type: ignore[index]
    for name in ("sum", "argmax", "reshape", "less", "exp"):
        assert callable(names[name])


def test_pools_choose_by_the_image() -> None:
    nn = topi_names()["nn"]
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    [largest] = computed(lambda t: nn["pool2d"](t, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max"), x)  # type: ignore[index]
    assert largest.ravel().tolist() == [5, 7, 13, 15]
    [whole] = computed(lambda t: nn["global_pool"](t, "max"), x)  # type: ignore[index]
    assert whole.ravel().tolist() == [15]
    packed = te.placeholder((1, 1, 4, 4, 1, 16), name="P", dtype="int8")
    assert nn["global_pool"](packed, "max").ndim == 6  # type: ignore[index]


def test_convolutions_choose_by_the_image() -> None:
    conv2d = topi_names()["nn"]["conv2d"]  # type: ignore[index]
    rng = np.random.default_rng(2)
    x, w = rng.random((1, 2, 5, 6), np.float32), rng.random((3, 2, 3, 3), np.float32)
    [expected] = computed(lambda a, b: topi.cpu.convolution.conv2d_nchw(a, b, 1, 1, 1), x, w)
    for layout, order, filters in (("NCHW", (0, 1, 2, 3), (0, 1, 2, 3)), ("NHWC", (0, 2, 3, 1), (2, 3, 1, 0))):
        turned = x.transpose(order), w.transpose(filters)
        for call in (
            lambda a, b, layout=layout: conv2d(a, b, 1, 1, 1, data_layout=layout),
            lambda a, b, layout=layout: conv2d(a, b, 1, 1, 1, layout),
        ):
            [found] = computed(call, *map(np.ascontiguousarray, turned))
            np.testing.assert_allclose(found, expected.transpose(order), rtol=1e-5)
    with pytest.raises(LayoutError) as error:
        conv2d(te.placeholder((1, 2, 5, 6)), te.placeholder((3, 2, 3, 3)), 1, 1, 1, "CHWN")
    assert str(error.value) == "topi.nn.conv2d: plain images are NCHW, NHWC, HWCN, not 'CHWN'"
    packed = te.placeholder((1, 1, 4, 4, 1, 16), "int8"), te.placeholder((1, 1, 1, 1, 16, 16), "int8")
    assert conv2d(*packed, 1, 0).ndim == 6

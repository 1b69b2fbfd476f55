"""``tvm.topi``: the names of both, and the right one by the image."""

import numpy as np

from tests.support.compiler.cpu_operators import computed
from vta import te, topi
from vta.compat.topi_names import topi_names


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

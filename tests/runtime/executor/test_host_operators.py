"""The host's steps are checked before anything runs: attributes, and that they make what the network says."""

import re

import numpy as np
import pytest

from isa.config import VTAConfig
from runtime.executor.host_operators import prepared
from runtime.executor.network import HostStep, Network, NetworkError, Tensor


def network(step: HostStep, *shapes: tuple[tuple[int, ...], str]) -> Network:
    """Return a network of ``step`` alone, from ``x`` to ``y``."""
    tensors = {name: Tensor(name, *shape) for name, shape in zip("xyz", shapes, strict=False)}
    return Network(
        config=VTAConfig(), tensors=tensors, steps=(step,), inputs=("x",), outputs=("y",), arena_bytes=0,
        constants=np.zeros(0, np.uint8), host_constants={},
    )  # fmt: skip


FOLD = {
    "extents": (4, 4), "factors": (1, 3), "gaps": (1, 1), "dilation": (1, 1), "pads": (0, 1), "batch": 1, "block": 16,
    "fill": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "attributes", "x", "y", "sentence"),
    [
        ("frobnicate", {}, (1,), (1,), "step 'n' needs operator 'frobnicate', which is not here"),
        ("tile", {}, (1,), (1,), "step 'n', tile: the attribute 'reps' is not given"),
        ("tile", {"reps": (1 << 50,)}, (1,), (1,), "step 'n', tile: a dimension is an integer from 0, or unknown"),
        (
            "tile", {"reps": (1 << 20,)}, (1,), (1,),
            "step 'n', tile, makes Tensor[(1048576,), int8], and the network says Tensor[(1,), int8]",
        ),
        ("pack", {"batch": 0, "block": 16}, (1, 3), (1, 1, 1, 16), "step 'n', pack: batch is from 1, not 0"),
        ("pack", {"batch": 1, "block": 16}, (3,), (3,),
            "step 'n', pack: what is packed has images and channels, not 1"),
        ("pack", {"batch": 1}, (3,), (3,), "step 'n', pack: the attribute 'block' is not given"),
        (
            "unpack", {"images": 2, "channels": 3}, (1, 1, 1, 16), (2, 3),
            "step 'n', unpack: a tensor of shape (1, 1, 1, 16) has no 2 images of 3 channels",
        ),
        ("unpack", {"images": 2, "channels": 3}, (1,), (2, 3),
            "step 'n', unpack: what is unpacked has four dimensions"),
        ("fold", {**FOLD, "gaps": (0, 1)}, (1, 3, 4, 4), (1, 1, 4, 4, 1, 16),
            "step 'n', fold: gaps is from 1, not (0, 1)"),
        (
            "fold", {**FOLD, "pads": (-1, 1)}, (1, 3, 4, 4), (1, 1, 4, 4, 1, 16),
            "step 'n', fold: pads (-1, 1) are from 0, and fill 0 is an int8",
        ),
        (
            "fold", {**FOLD, "gaps": (1 << 40, 1)}, (1, 3, 4, 4), (1, 1, 4, 4, 1, 16),
            "step 'n', fold: its windows reach over 59373627899922 elements, and the image has 16 a channel",
        ),
        ("fold", FOLD, (3, 4, 4), (1, 1, 4, 4, 1, 16), "step 'n', fold: what is folded is images of four dimensions"),
    ],
)  # fmt: skip
def test_a_step_that_does_not_fit_is_refused(
    operator: str, attributes: dict[str, object], x: tuple[int, ...], y: tuple[int, ...], sentence: str
) -> None:
    step = HostStep("n", operator, ("x",), ("y",), attributes)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(NetworkError, match=f"^{re.escape(sentence)}"):
        prepared(step, network(step, (x, "int8"), (y, "int8")))


def test_the_right_steps_run() -> None:
    image = np.arange(48, dtype=np.int8).reshape(1, 3, 4, 4)
    fold = HostStep("n", "fold", ("x",), ("y",), FOLD)  # type: ignore[arg-type]
    [folded] = prepared(fold, network(fold, ((1, 3, 4, 4), "int8"), ((1, 1, 4, 4, 1, 16), "int8")))([image])
    assert folded[0, 0, 2, 1, 0, :9].tolist() == [image[0, c, 2, x] for x in (0, 1, 2) for c in range(3)]
    pack = HostStep("n", "pack", ("x",), ("y",), {"batch": 1, "block": 16})
    [packed] = prepared(pack, network(pack, ((1, 3, 4, 4), "int8"), ((1, 1, 4, 4, 1, 16), "int8")))([image])
    unpack = HostStep("n", "unpack", ("x",), ("y",), {"images": 1, "channels": 3})
    [back] = prepared(unpack, network(unpack, ((1, 1, 4, 4, 1, 16), "int8"), ((1, 3, 4, 4), "int8")))([packed])
    np.testing.assert_array_equal(back, image)


def test_what_has_no_result_for_its_numbers_is_told() -> None:
    step = HostStep("n", "take", ("x", "i"), ("y",), {"axis": 0})
    tensors = {"x": Tensor("x", (4,), "int8"), "i": Tensor("i", (1,), "int64"), "y": Tensor("y", (1,), "int8")}
    whole = Network(
        config=VTAConfig(), tensors=tensors, steps=(step,), inputs=("x", "i"), outputs=("y",), arena_bytes=0,
        constants=np.zeros(0, np.uint8), host_constants={},
    )  # fmt: skip
    run = prepared(step, whole)
    assert run([np.arange(4, dtype=np.int8), np.array([2])])[0].tolist() == [2]
    with pytest.raises(NetworkError, match=r"^step 'n', take: "):
        run([np.arange(4, dtype=np.int8), np.array([9])])

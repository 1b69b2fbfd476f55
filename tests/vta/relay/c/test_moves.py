"""Where moved elements come from: the operator itself is the judge, on other numbers."""

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from isa.config import VTAConfig
from runtime.executor.host_operators import prepared
from runtime.executor.network import Home, HostStep, Network, Tensor
from runtime.executor.operators.attribute_values import Plain
from tests.support.hw.c_board import built, missing_compiler
from vta.codegen.c import PRELUDE
from vta.codegen.c.types import memory_type
from vta.relay.c.move_code import move_code
from vta.relay.c.moves import CONSTANT, Move, moves_of
from vta.tir.dtype import DType

_POINTER = ctypes.c_void_p

FOLD = {
    "extents": (4, 5), "factors": (3, 3), "gaps": (2, 1), "dilation": (1, 2), "pads": (1, 2), "batch": 1, "block": 16,
    "fill": -7,
}  # fmt: skip
PADS = {"pad_width": ((0, 0), (0, 0), (1, 2), (0, 3)), "pad_value": 5.0, "pad_mode": "constant"}
MOVES: list[tuple[str, Mapping[str, Plain], list[tuple[int, ...]], list[tuple[int, ...]], str]] = [
    ("transpose", {"axes": (0, 2, 3, 1)}, [(2, 3, 4, 5)], [(2, 4, 5, 3)], "int8"),
    ("reshape", {"newshape": (3, -1)}, [(2, 3, 4)], [(3, 8)], "float32"),
    ("concatenate", {"axis": 1}, [(2, 3), (2, 1), (2, 4)], [(2, 8)], "int32"),
    ("split", {"sizes": (1, 4), "axis": 1}, [(2, 5)], [(2, 1), (2, 4)], "int16"),
    ("strided_slice", {"begin": (1, None), "end": (7, None), "strides": (3, -2)}, [(8, 6)], [(2, 3)], "uint8"),
    ("tile", {"reps": (2, 3)}, [(2, 5)], [(4, 15)], "bool"),
    ("nn.pad", PADS, [(1, 2, 3, 4)], [(1, 2, 6, 7)], "float32"),
    ("nn.pad", {**PADS, "pad_value": float("-inf")}, [(1, 2, 3, 4)], [(1, 2, 6, 7)], "float32"),
    ("nn.pad", {**PADS, "pad_mode": "reflect", "pad_width": ((0, 0), (0, 0), (2, 2), (2, 2))}, [(1, 2, 3, 4)],
     [(1, 2, 7, 8)], "int8"),
    ("nn.depth_to_space", {"block_size": 2}, [(1, 8, 3, 2)], [(1, 2, 6, 4)], "int8"),
    ("pack", {"batch": 1, "block": 16}, [(1, 20, 3, 2)], [(1, 2, 3, 2, 1, 16)], "int8"),
    ("unpack", {"images": 1, "channels": 20}, [(1, 2, 3, 2, 1, 16)], [(1, 20, 3, 2)], "int8"),
    ("fold", FOLD, [(1, 3, 7, 8)], [(1, 2, 4, 5, 1, 16)], "int8"),
    ("copy", {}, [()], [()], "int64"),
]  # fmt: skip


def step_of(
    operator: str,
    attributes: Mapping[str, Plain],
    inputs: Sequence[tuple[int, ...]],
    outputs: Sequence[tuple[int, ...]],
    dtype: str,
) -> tuple[HostStep, Network]:
    reads, makes = [f"x{n}" for n, _ in enumerate(inputs)], [f"y{n}" for n, _ in enumerate(outputs)]
    shapes = zip([*reads, *makes], [*inputs, *outputs], strict=True)
    tensors = {name: Tensor(name, shape, dtype) for name, shape in shapes}
    step = HostStep("n", operator, tuple(reads), tuple(makes), attributes)
    return step, Network(
        config=VTAConfig(), tensors=tensors, steps=(step,), inputs=tuple(reads), outputs=tuple(makes), arena_bytes=0,
        constants=np.zeros(0, np.uint8), host_constants={},
    )  # fmt: skip


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:  # type: ignore[type-arg]
    return rng.integers(0, 2 if dtype == "bool" else 120, shape).astype(dtype)


def moved(move: Move, arrays: Sequence[np.ndarray]) -> np.ndarray:  # type: ignore[type-arg]
    """Return what a move makes of arrays."""
    result = move.value.copy()
    for number, array in enumerate(arrays):
        where = move.operand == number
        result[where] = array.reshape(-1)[move.place[where]]
    return result


@pytest.mark.parametrize(("operator", "attributes", "inputs", "outputs", "dtype"), MOVES)
def test_moves_are_found(
    operator: str,
    attributes: Mapping[str, Plain],
    inputs: list[tuple[int, ...]],
    outputs: list[tuple[int, ...]],
    dtype: str,
) -> None:
    step, network = step_of(operator, attributes, inputs, outputs, dtype)
    found = moves_of(step, network)
    assert found is not None
    arrays = [numbers(np.random.default_rng(n), shape, dtype) for n, shape in enumerate(inputs)]
    for move, expected in zip(found, prepared(step, network)(arrays), strict=True):
        np.testing.assert_array_equal(moved(move, arrays), expected)
        assert move.value.dtype == dtype


@pytest.mark.skipif(bool(missing_compiler()), reason=missing_compiler())
def test_moves_in_c_move_the_same(tmp_path_factory: pytest.TempPathFactory) -> None:
    texts, calls = [], []
    for case, (operator, attributes, inputs, outputs, dtype) in enumerate(MOVES):
        step, network = step_of(operator, attributes, inputs, outputs, dtype)
        arrays = [numbers(np.random.default_rng(n), shape, dtype) for n, shape in enumerate(inputs)]
        found = moves_of(step, network)
        assert found is not None
        for part, (move, expected) in enumerate(zip(found, prepared(step, network)(arrays), strict=True)):
            operands = sorted({*move.operand.reshape(-1).tolist()} - {CONSTANT})
            name = f"move_{case}_{part}"
            texts.append(move_code(move, name, memory_type(DType(dtype)), DType(dtype), operands)[len("static ") :])
            calls.append((name, [arrays[n] for n in operands], expected))
    prototypes = [text.split("\n{", 1)[0] + ";" for text in texts]
    library = built({"moves.c": "\n".join([PRELUDE, *prototypes, *texts])}, tmp_path_factory.mktemp("moves"))
    for name, arrays, expected in calls:
        result = np.zeros(expected.shape, expected.dtype)
        getattr(library, name)(*(array.ctypes.data_as(_POINTER) for array in (*arrays, result)))
        np.testing.assert_array_equal(result, expected, err_msg=name)
    assert "static const" not in texts[0]  # a transposition is loops
    assert any("(float)-INFINITY" in text for text in texts)


@pytest.mark.parametrize(
    ("operator", "attributes", "inputs", "outputs", "dtype"),
    [
        ("nn.relu", {}, [(4,)], [(4,)], "int32"),
        ("minimum", {}, [(4,), (4,)], [(4,)], "int64"),
        ("cast", {"dtype": "int8"}, [(4,)], [(4,)], "int8"),
        ("image.resize2d", {"size": (4, 4)}, [(1, 1, 3, 3)], [(1, 1, 4, 4)], "float32"),
    ],
)
def test_what_computes_is_no_move(
    operator: str,
    attributes: Mapping[str, Plain],
    inputs: list[tuple[int, ...]],
    outputs: list[tuple[int, ...]],
    dtype: str,
) -> None:
    assert moves_of(*step_of(operator, attributes, inputs, outputs, dtype)) is None


def test_selections_take_indices_that_are_constants() -> None:
    tensors = {
        "x": Tensor("x", (5, 3), "int8"),
        "i": Tensor("i", (4,), "int64", Home.HOST_CONSTANT),
        "y": Tensor("y", (4, 3), "int8"),
    }
    step = HostStep("n", "take", ("x", "i"), ("y",), {"axis": 0})
    network = Network(
        config=VTAConfig(), tensors=tensors, steps=(step,), inputs=("x",), outputs=("y",), arena_bytes=0,
        constants=np.zeros(0, np.uint8), host_constants={"i": np.array([4, 0, 0, 2])},
    )  # fmt: skip
    found = moves_of(step, network)
    assert found is not None
    assert found[0].place[:, 0].tolist() == [12, 0, 0, 6]

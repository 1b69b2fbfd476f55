from typing import Any

import numpy as np
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.products import BatchMatmulAttrs
from tests.support.relay.apply import applied, refusal

RNG = np.random.default_rng(1)


def test_a_dense_layer_multiplies_by_the_transposed_weight() -> None:
    data, weight = RNG.normal(size=(2, 3, 5)).astype(np.float32), RNG.normal(size=(4, 5)).astype(np.float32)
    expected = np.einsum("abk,uk->abu", data.astype(np.float64), weight.astype(np.float64))
    assert np.allclose(applied(Op.DENSE, data, weight), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 4), (4, 2)), ((2, 1, 3, 4), (5, 4, 2)), ((4,), (4, 2)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4,))],
)
def test_matmul_is_that_of_numpy(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    left, right = RNG.integers(-9, 9, a).astype(np.float32), RNG.integers(-9, 9, b).astype(np.float32)
    assert np.array_equal(applied(Op.MATMUL, left, right), np.matmul(left, right))


def test_operands_of_batch_matmul_may_be_transposed() -> None:
    a, b = RNG.integers(-9, 9, (2, 4, 3)).astype(np.float32), RNG.integers(-9, 9, (1, 5, 4)).astype(np.float32)
    result = applied(Op.BATCH_MATMUL, a, b, attrs=BatchMatmulAttrs(transpose_a=True, transpose_b=True))
    assert np.array_equal(result, np.einsum("nkm,bok->nmo", a, b))


F = "float32"


@pytest.mark.parametrize(
    ("op", "types", "sentence"),
    [
        (Op.DENSE, [((2, 3), F), ((4, 5), F)], "the weight (4, 5) takes rows of 5, and the data is (2, 3)"),
        (Op.DENSE, [((), F), ((4, 5), F)], "the weight (4, 5) takes rows of 5, and the data is ()"),
        (
            Op.DENSE,
            [((2, 3), F), ((3,), F)],
            "weight has 2 dimensions, not 1: Tensor[(3,), float32]",
        ),
        (Op.DENSE, [((2, 3), "int8"), ((3, 3), "int8")], "data holds floating point numbers, not int8"),
        (Op.MATMUL, [((2, 3), F), ((2, 3), F)], "shapes (2, 3) and (2, 3) do not multiply: 3 columns, 2 rows"),
        (Op.MATMUL, [((), F), ((2, 3), F)], "matrices have an axis or more, and the shapes are () and (2, 3)"),
        (Op.MATMUL, [((3, 2, 3), F), ((2, 3, 3), F)], "shapes (3,) and (2,) do not broadcast"),
        (Op.BATCH_MATMUL, [((2, 2), F), ((2,), F)], "b consists of matrices, and its shape is (2,)"),
    ],
)
def test_what_does_not_multiply_is_refused(op: Op, types: Any, sentence: str) -> None:
    assert refusal(op, *types) == sentence

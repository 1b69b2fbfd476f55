"""Products of activations, single and in batches, turned and not."""

import numpy as np
import pytest

import vta
from tests.support.configs import CONFIGS
from tests.support.turns import in_turn
from vta.topi.core.epilogue import Bias, Clip, Residual, ShiftRight
from vta.topi.core.operator import Operator, OperatorError, compile  # noqa: A004
from vta.topi.core.resident import Resident
from vta.topi.matmul.batch_matmul import BatchMatmul, Matmul
from vta.topi.matmul.matmul_schedule import MatmulTiles

STEPS = (ShiftRight(7), Bias(), Residual(), Clip(-100, 100))
TURNS = [(False, False), (True, False), (False, True), (True, True)]


def check(operator: Operator, env: vta.Environment, tiles: object = None) -> None:
    rng = np.random.default_rng(8)
    limits = {"int8": 128, "int32": 1 << 14}
    values = [rng.integers(-limits[o.dtype], limits[o.dtype], o.shape).astype(o.dtype) for o in operator.inputs(env)]
    np.testing.assert_array_equal(compile(operator, env, tiles)(*values), operator.reference(*values))


@pytest.mark.parametrize(("turns", "name"), in_turn(TURNS, CONFIGS))
def test_products_of_any_size_are_numpys(turns: tuple[bool, bool], name: str) -> None:
    (transpose_a, transpose_b), config = turns, CONFIGS[name]
    env = vta.Environment(config)
    check(Matmul(9, 20, 33, transpose_a, transpose_b, STEPS), env)
    check(BatchMatmul(3, 37, 40, 50, transpose_a, transpose_b, STEPS), env)


def test_the_reference_is_the_product() -> None:
    a, b = np.arange(6, dtype=np.int8).reshape(2, 3), np.arange(12, dtype=np.int8).reshape(3, 4)
    assert Matmul(2, 3, 4).reference(a, b).tolist() == (a @ b).tolist()
    assert Matmul(2, 3, 4, transpose_a=True).reference(a.T, b).tolist() == (a @ b).tolist()
    pair = np.stack([a, a + 1]), np.stack([b, b - 1])
    wide = BatchMatmul(2, 2, 3, 4, transpose_b=False).reference(*pair)
    assert wide.tolist() == [(x @ y).tolist() for x, y in zip(*pair, strict=True)]


def test_awkward_numbers_of_rows_and_columns_are_filled_up() -> None:
    env = vta.get_env()
    operator = BatchMatmul(2, 37, 16, 33 * 16, epilogue=(*STEPS, Residual("int32")))
    data, weights, *_ = operator.schedule(env).args
    assert (data.shape[0], weights.shape[0]) == (2 * 40, 2 * 40)
    check(operator, env)


def test_tiles_divide_each_product() -> None:
    env = vta.get_env()
    for tiles in (
        MatmulTiles(6, 1, 3, 4, 2),
        MatmulTiles(6, 2, 1, 2, resident=Resident.KERNEL),
        MatmulTiles(24, 1, 1, 3, 2, resident=Resident.DATA),
        MatmulTiles(24, 2, 3, 2),
    ):
        check(BatchMatmul(2, 24, 32, 48, epilogue=STEPS), env, tiles)
    with pytest.raises(OperatorError) as error:
        compile(BatchMatmul(2, 24, 32, 48), env, MatmulTiles(5, 1, 3))
    assert str(error.value) == (
        "BatchMatmul: tiles of 5 x 3 blocks do not divide each of the 2 products of 24 x 3 blocks"
    )
    with pytest.raises(OperatorError) as error:
        compile(BatchMatmul(2, 24, 32, 48), env, "all")
    assert str(error.value) == "BatchMatmul: tiles are MatmulTiles, not 'all'"


def test_products_describe_themselves() -> None:
    env = vta.get_env()
    operator = BatchMatmul(2, 5, 6, 7, transpose_a=True, epilogue=(Residual(), Bias()))
    assert [(o.name, o.shape) for o in operator.inputs(env)] == [
        ("a", (2, 6, 5)), ("b", (2, 7, 6)), ("residual", (2, 5, 7)), ("bias", (7,))
    ]  # fmt: skip
    assert (operator.output(env).shape, operator.macs) == ((2, 5, 7), 420)
    single = Matmul(5, 6, 7, transpose_b=True)
    assert [o.shape for o in single.inputs(env)] == [(5, 6), (7, 6)]
    assert (single.output(env).shape, single.macs) == ((5, 7), 210)
    with pytest.raises(OperatorError, match="Matmul: columns takes a number from 1, not -1"):
        Matmul(5, 6, -1)

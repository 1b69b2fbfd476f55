import numpy as np
import pytest

import vta
from tests.support.compiler.random_operators import environment
from tests.support.compiler.run_schedule import run_schedule
from vta import te, topi
from vta.topi.alu.alu_schedule import AluTiles
from vta.topi.alu.pooling import AveragePool2d, MaxPool2d
from vta.topi.core.operator import Array, OperatorError


def pooled(env: vta.Environment, operator: MaxPool2d | AveragePool2d, tiles: AluTiles, *, whole: bool = False) -> Array:
    """Run the te functions for what ``operator`` describes, on packed arrays; return the plain result."""
    values = np.random.default_rng(8).integers(-128, 128, operator.data_shape).astype(np.int8)
    [packed] = operator.pack(env, values)
    data = te.placeholder(packed.shape, "int8", "data")
    kind = "max" if isinstance(operator, MaxPool2d) else "avg"
    if whole:
        cells = topi.nn.global_pool(data, kind, env=env)
    else:
        cells = topi.nn.pool2d(
            data, operator.kernel, operator.strides, operator.dilation, operator.padding, kind, operator.ceil_mode,
            "NCHW1n16c", env=env,
        )  # fmt: skip
    output = topi.cast(cells, "int8")
    result = run_schedule(topi.schedule_alu(output, tiles, env), [data, output], [packed], env.config)
    plain = operator.unpack(env, result.output)
    np.testing.assert_array_equal(plain, operator.reference(values))
    return plain


@pytest.mark.parametrize("config", ["default", "b2k16"])
def test_pool2d_is_what_the_operators_are(config: str) -> None:
    env = environment(config)
    pooled(env, MaxPool2d(1, 20, 9, 8, (3, 3), (2, 1), (1, 0, 1, 1)), AluTiles(1, 1, 2, 7))
    truncated = topi.Rounding.TRUNCATE
    average = AveragePool2d(1, 20, 8, 8, (3, 2), (1, 2), count_include_pad=True, rounding=truncated)
    pooled(env, average, AluTiles(1, 1, 3, 4, threads=2, thread_axis=2))


def test_global_pool_takes_whole_images_in_pieces_if_need_be() -> None:
    env = environment("default")
    tile = AluTiles(1, 1, 1, 1)
    pooled(env, MaxPool2d(1, 20, 50, 40, (50, 40)), tile, whole=True)
    pooled(env, AveragePool2d(1, 20, 7, 7, (7, 7), rounding=topi.Rounding.TRUNCATE), tile, whole=True)


def test_what_is_no_packed_image_is_refused() -> None:
    plain = te.placeholder((1, 16, 8, 8), "int8", "data")
    with pytest.raises(OperatorError) as caught:
        topi.nn.global_pool(plain, "max", "NCHW")
    assert str(caught.value) == (
        "pool2d takes packed images of six dimensions, not layout 'NCHW' of 4; pack them (vta.topi.core.pack), or use "
        "vta.topi.MaxPool2d and AveragePool2d"
    )
    packed = te.placeholder((1, 1, 8, 8, 1, 16), "int8", "data")
    with pytest.raises(OperatorError) as caught:
        topi.nn.global_pool(packed, "sum")
    assert str(caught.value) == "pool_type is 'max' or 'avg', not 'sum'"


def test_averages_that_need_tables_are_refused() -> None:
    packed = te.placeholder((1, 1, 8, 8, 1, 16), "int8", "data")
    with pytest.raises(OperatorError) as caught:
        topi.nn.pool2d(packed, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), "avg", count_include_pad=False)
    assert str(caught.value) == (
        "pool2d of int8: averages are of int8, and all windows have as many cells; vta.topi.AveragePool2d has tables "
        "for windows that differ"
    )

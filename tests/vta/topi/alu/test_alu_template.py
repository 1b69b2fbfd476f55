from collections.abc import Sequence

import numpy as np
import pytest

import vta
from tests.support.compiler.random_operators import environment
from tests.support.compiler.run_schedule import run_schedule
from vta import te, topi
from vta.topi.alu.alu_schedule import AluStages, AluTiles
from vta.topi.alu.alu_template import alu_stages, schedule_alu
from vta.topi.core.operator import OperatorError

SHAPE = (1, 4, 6, 5)
TILES = AluTiles(tile_b=1, tile_co=2, tile_h=3, tile_w=5, threads=2)


def names(tensors: Sequence[te.Tensor]) -> list[str]:
    return [tensor.op.name for tensor in tensors]


def inputs(env: vta.Environment, *dtypes: str) -> list[te.Tensor]:
    shape = (*SHAPE, env.BATCH, env.BLOCK_OUT)
    return [te.placeholder(shape, dtype, f"x{i}") for i, dtype in enumerate(dtypes)]


def test_conversions_are_loads_and_the_rest_is_the_alu_s() -> None:
    env = environment("default")
    a, b = inputs(env, "int8", "int32")
    total = topi.add(topi.cast(a, "int32"), b)
    output = topi.cast(topi.clip(topi.right_shift(total, 2), -9, 9), "int8")
    stages = alu_stages(output, env)
    assert names(stages.loads) == ["T_cast"]
    assert names(stages.elementwise) == ["T_add", "T_right_shift", "clipA", "clipB"]
    assert stages.direct == (b,)


def test_a_pad_is_a_load_or_part_of_one() -> None:
    env = environment("default")
    narrow, wide = inputs(env, "int8", "int32")
    for data, inlined in ((narrow, ["PadInput"]), (wide, [])):
        padded = topi.nn.pad(data, [0, 0, 1, 1, 0, 0])
        loaded = topi.cast(padded, "int32") if data is narrow else padded
        found = alu_stages(topi.cast(topi.relu(loaded), "int8"), env)
        assert names(found.inlined) == inlined
        assert names(found.loads) == (["T_cast"] if inlined else ["PadInput"])
        assert found.direct == ()


def test_a_schedule_of_te_operators_computes_what_they_say() -> None:
    env = environment("default")
    a, b, c = inputs(env, "int8", "int32", "int8")
    product = topi.multiply(topi.cast(a, "int32"), topi.cast(c, "int32"))
    either = topi.maximum(topi.subtract(b, product), topi.negative(topi.minimum(b, product)))
    output = topi.cast(topi.right_shift(either, 3), "int8")
    schedule = schedule_alu([output], TILES, env)
    rng = np.random.default_rng(4)
    shape = (*SHAPE, env.BATCH, env.BLOCK_OUT)
    x, z = (rng.integers(-128, 128, shape).astype(np.int8) for _ in range(2))
    y = rng.integers(-30_000, 30_000, shape).astype(np.int32)
    result = run_schedule(schedule, [a, b, c, output], [x, y, z], env.config)
    p = x.astype(np.int32) * z
    np.testing.assert_array_equal(result.output, (np.maximum(y - p, -np.minimum(y, p)) >> 3).astype(np.int8))


def test_the_current_environment_is_taken_where_none_is_given() -> None:
    env = environment("b1k8")
    (a,) = inputs(env, "int32")
    output = topi.cast(topi.relu(a), "int8")
    with env:
        schedule_alu(output, TILES)
    assert alu_stages(output, env) != AluStages()


def test_an_output_that_is_not_packed_int8_is_refused() -> None:
    env = environment("default")
    (a,) = inputs(env, "int32")
    with pytest.raises(OperatorError) as caught:
        schedule_alu(topi.relu(a), TILES, env)
    assert str(caught.value) == (
        "stage 'T_relu': the ALU's operators end in int8 of six dimensions (N, C, H, W, batch, block), not in int32 "
        "of 6"
    )

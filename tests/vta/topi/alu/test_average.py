import numpy as np
import pytest

from tests.support.compiler.random_operators import environment
from vta import te
from vta.topi.alu.average import Average
from vta.topi.alu.division import Rounding


def average(counts: list[list[int]], rounding: Rounding = Rounding.HALF_UP) -> Average:
    return Average(np.array(counts), rounding)


def test_one_divisor_is_part_of_the_operations() -> None:
    env = environment("default")
    sums = te.placeholder((1, 1, 1, 2, 1, 16), "int32", "sums")
    one = average([[9, 9]])
    assert one.is_uniform
    assert one.tables(env) == ()
    averaged = one.of(env, sums)
    assert [stage.op.name for stage in averaged.stages] == [
        "pool_biased", "pool_product", "pool_offset", "pool_quotient",
    ]  # fmt: skip
    assert averaged.tables == ()


def test_a_power_of_two_is_added_to_and_shifted() -> None:
    sums = te.placeholder((1, 1, 1, 2, 1, 16), "int32", "sums")
    stages = average([[4, 4]]).of(environment("default"), sums).stages
    assert [stage.op.name for stage in stages] == ["pool_biased", "pool_halved"]
    assert average([[1, 1]]).of(environment("default"), sums).stages == ()


@pytest.mark.parametrize("config", ["default", "b2k16"])
def test_several_divisors_are_in_tables(config: str) -> None:
    env = environment(config)
    mixed = average([[4, 6, 6], [6, 9, 9]])
    assert not mixed.is_uniform
    multipliers, offsets = mixed.tables(env)
    assert multipliers.shape == offsets.shape == (1, 1, 2, 3, env.BATCH, env.BLOCK_OUT)
    assert multipliers.dtype == np.int32
    quotients = mixed.quotients()
    assert (multipliers[0, 0, 1, 2] == quotients[9].multiplier).all()
    assert (offsets[0, 0, 0, 1] == quotients[6].offset).all()
    sums = te.placeholder((1, 1, 2, 3, env.BATCH, env.BLOCK_OUT), "int32", "sums")
    averaged = mixed.of(env, sums)
    assert [stage.op.name for stage in averaged.stages] == ["pool_product", "pool_offset", "pool_quotient"]
    assert [tuple(int(e) for e in table.shape) for table in averaged.tables] == [multipliers.shape] * 2


def test_symmetric_rounding_divides_the_magnitude() -> None:
    sums = te.placeholder((1, 1, 1, 2, 1, 16), "int32", "sums")
    stages = average([[4, 4]], Rounding.HALF_AWAY).of(environment("default"), sums).stages
    assert [stage.op.name for stage in stages] == [
        "pool_sign", "pool_magnitude", "pool_biased", "pool_halved", "pool_signed",
    ]  # fmt: skip

"""Definitions: which have schedules, and why others do not."""

from dataclasses import replace

import pytest

import vta
from isa.config import VTAConfig
from tests.support.tuning.definitions import convolution, gated, pool_with_residual, two_products
from vta import te, topi
from vta.auto_scheduler.definition import Definition, DefinitionError
from vta.autotvm.space import ConfigSpace


def knobs(tensors: list[te.Tensor]) -> set[str]:
    space = ConfigSpace()
    Definition.of(tensors[-1], vta.get_env()).choices.knobs(space)
    return set(space.knobs)


def test_products_and_what_the_alu_does_have_choices() -> None:
    tiles = {"tile_0", "tile_1", "tile_2", "tile_3", "rotate_tiles", "resident", "shared"}
    one = {"step_0", "rotate_steps_0"}
    assert knobs(convolution(2, 4, 2)) == tiles | one
    assert knobs(gated(2, 4, 4, 2)) == knobs(two_products()) == tiles | one | {"step_1", "rotate_steps_1"}
    assert knobs(pool_with_residual(2, 4)) == tiles


def test_a_schedule_comes_with_the_tensor_that_it_computes() -> None:
    output = convolution(2, 4, 2, 1, 2)[-1]
    found = Definition.of(output, vta.get_env())
    space = ConfigSpace()
    found.choices.knobs(space)
    schedule, made = found.schedule(output, found.choices.tiles(space.get(0)))
    assert made is not output  # it reads what was gathered
    assert schedule[made].op is made.op


def test_what_fits_no_scratchpad_is_refused_when_it_is_searched() -> None:
    env = vta.Environment(replace(VTAConfig(), log_acc_buff_size=6))
    with env:
        found = Definition.of(convolution(1, 4, 1)[-1], env)
    with pytest.raises(DefinitionError) as caught:
        found.first()
    assert str(caught.value) == (
        "stage 'T_cast': no tiles fit this configuration: even in the smallest ones the accumulator buffer would need "
        "6 elements and has 1 (64 bytes each)"
    )


def test_sizes_that_are_no_numbers_are_refused() -> None:
    x = te.placeholder((te.var("n"), 1, 16), "int8", "x")
    with pytest.raises(DefinitionError) as caught:
        Definition.of(topi.cast(topi.cast(x, "int32"), "int8"), vta.get_env())
    assert str(caught.value) == "tensor 'T_cast': the sizes of an operator are numbers, not (n, 1, 16)"

"""Definitions: which have schedules, and why others do not."""

import pytest

import vta
from tests.support.tuning.definitions import convolution, pool_with_residual, two_products
from vta import te, topi
from vta.auto_scheduler.definition import Definition, DefinitionError
from vta.autotvm.space import ConfigSpace


def test_convolutions_and_what_the_alu_does_have_choices() -> None:
    found = []
    for tensors in (convolution(2, 4, 2), pool_with_residual(2, 4)):
        space = ConfigSpace()
        Definition.of(tensors[-1], vta.get_env()).choices.knobs(space)
        found.append(set(space.knobs))
    assert found[0] == {
        "tile_h", "tile_w", "tile_ci", "tile_co", "tile_kh", "rotate_tiles", "rotate_steps", "resident",
    }  # fmt: skip
    assert found[1] == {"tile_b", "tile_co", "tile_h", "tile_w", "threads", "thread_axis"}


def other_sum() -> te.Tensor:
    x = te.placeholder((1, 2, 4, 4, 1, 16), "int8", "x")
    w = te.placeholder((2, 2, 16, 16), "int8", "w")
    k, i = te.reduce_axis((0, 2), "k"), te.reduce_axis((0, 16), "i")
    wide = te.compute(
        (1, 2, 4, 4, 1, 16),
        lambda n, c, h, j, b, o: te.sum(
            x(n, k, h, j, b, i).astype("int32") * w(c, k, o, i).astype("int32"), axis=[k, i]
        ),
        name="own",
    )
    return topi.cast(wide, "int8")


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (lambda: two_products()[-1], "stage 'T_cast': one sum of products is scheduled at a time, not 'res', 'res'"),
        (
            other_sum,
            "stage 'own': tiles are searched for topi.conv2d and topi.group_conv2d; give schedule_conv2d the tiles of "
            "another computation",
        ),
        (
            lambda: topi.relu(te.placeholder((4, 4), "int32", "x")),
            "stage 'T_relu': the ALU's operators end in int8 of six dimensions (N, C, H, W, batch, block), not in "
            "int32 of 2",
        ),
    ],
)
def test_others_are_refused(output: object, text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Definition.of(output(), vta.get_env())
    assert str(caught.value) == text

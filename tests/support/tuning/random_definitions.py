"""Random definitions with sums of products, and random choices of their tiles."""

import random

from vta import te, topi
from vta.auto_scheduler.nest import Nest
from vta.auto_scheduler.nest_search import nest_choices, ranked
from vta.auto_scheduler.nest_tiles import NestTiles
from vta.autotvm.space import ConfigSpace
from vta.environment import get_env

__all__ = ["random_definition", "random_tiles"]

_ATTEMPTS = 200


def random_definition(rng: random.Random) -> list[te.Tensor]:
    """Return one to three convolutions of an image or of several, joined, with what the ALU may do behind them."""
    env = get_env()
    cells = (env.BATCH, env.BLOCK_OUT)
    images, blocks_in, blocks_out = rng.choice((1, 1, 2)), rng.randint(1, 3), rng.randint(1, 3)
    height, width, stride = rng.randint(2, 9), rng.randint(2, 9), rng.choice((1, 1, 2))
    shape = (images, blocks_in, height, width, env.BATCH, env.BLOCK_IN)
    arguments: list[te.Tensor] = []

    def given(shape: tuple[int, ...], dtype: str) -> te.Tensor:
        arguments.append(te.placeholder(shape, dtype, f"input_{len(arguments)}"))
        return arguments[-1]

    data = given(shape, env.inp_dtype)
    sums: list[te.Tensor] = []
    for number in range(rng.choice((1, 2, 2, 3))):
        rows = rng.choice((1, 1, 3))
        columns = rng.choice((1, rows))
        kernel = given((blocks_out, blocks_in, rows, columns, env.BLOCK_OUT, env.BLOCK_IN), env.wgt_dtype)
        read = given(shape, env.inp_dtype) if number and rng.random() < 0.3 else data
        sums.append(topi.conv2d(read, kernel, (stride,) * 2, (rows // 2, columns // 2) * 2, (1, 1)))
    joined = sums[0]
    for other in sums[1:]:
        limited = topi.clip(topi.right_shift(other, rng.randint(3, 7)), -rng.randint(1, 60), rng.randint(1, 60))
        join = rng.choice((topi.add, topi.multiply, topi.maximum))
        joined = join(topi.right_shift(joined, 5), limited)
        if rng.random() < 0.3:
            joined = topi.add(joined, other)
    sizes = tuple(int(extent) for extent in joined.shape)
    if rng.random() < 0.5:
        joined = topi.add(joined, given((1, sizes[1], 1, 1, *cells), env.acc_dtype))
    if rng.random() < 0.4 and env.inp_dtype == "int8":
        joined = topi.add(joined, topi.cast(given(sizes, "int8"), env.acc_dtype))
    if rng.random() < 0.3 and min(sizes[2:4]) > 1:
        layout = f"NCHW{env.BATCH}n{env.BLOCK_OUT}c"
        steps = (rng.choice((1, 2)),) * 2
        joined = topi.nn.pool2d(joined, (2, 2), steps, (1, 1), (0, 0, 0, 0), "max", layout=layout)
    limited = topi.clip(topi.right_shift(joined, rng.randint(0, 6)), -128, 127)
    return [*arguments, topi.cast(limited, env.out_dtype)]


def random_tiles(nest: Nest, rng: random.Random) -> NestTiles:
    """Return a valid choice, one in three times the one that the model likes best."""
    choices, space = nest_choices(nest), ConfigSpace()
    choices.knobs(space)
    for _ in range(_ATTEMPTS if rng.random() < 0.7 else 0):
        tiles = choices.tiles(space.get(rng.randrange(len(space))))
        if choices.allows(tiles):
            return tiles
    return ranked(nest, "a random definition")[0]

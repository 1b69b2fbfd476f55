"""Random steps of ``tir.Schedule`` on any function of blocks: what is accepted must leave the numbers as they were."""

from collections.abc import Callable
from random import Random

from vta.tir.func import PrimFunc
from vta.tir.schedule import BlockRV, BlockScheduleError, Schedule

__all__ = ["random_block_schedule", "random_step", "random_sum_step"]

_TRIES = 60
_FACTORS = ([None, 2], [2, None], [None, 3, 2], [3, 2], [None, 4], [1, None], [2, 2])
_LAYOUTS = (lambda i, j: [j, i], lambda i, j: [i, j // 2, j % 2])


def random_step(sch: Schedule, rng: Random) -> None:
    """Apply one primitive with random arguments; raises ``BlockScheduleError`` where it does not apply."""
    blocks = sch.get_child_blocks(BlockRV("root"))
    block = rng.choice(blocks)
    loops = sch.get_loops(block)
    other = rng.choice(sch.get_loops(rng.choice(blocks)) or [None])
    loop = rng.choice(loops) if loops else None
    match rng.randrange(17):
        case 0 | 1:
            sch.split(loop, rng.choice([[None, 4], [2, None], [None, 3, 2]]))  # type: ignore[arg-type]
        case 2:
            at = rng.randrange(max(len(loops) - 1, 1))
            sch.fuse(*loops[at : at + 2])
        case 3 | 4:
            sch.reorder(*rng.sample(loops, k=min(len(loops), rng.randint(2, 3))))
        case 5:
            sch.compute_at(block, other)  # type: ignore[arg-type]
        case 6:
            sch.reverse_compute_at(block, other)  # type: ignore[arg-type]
        case 7:
            rng.choice([sch.compute_inline, sch.reverse_compute_inline])(block)
        case 8:
            sch.cache_read(block, rng.randrange(2), rng.choice(["global", "local"]))
        case 9:
            sch.cache_write(block, 0, rng.choice(["global", "local"]))
        case 10:
            sch.decompose_reduction(block, loop)  # type: ignore[arg-type]
        case 11:
            sch.rfactor(loop, rng.randrange(3))  # type: ignore[arg-type]
        case 12:
            sch.blockize(loop)  # type: ignore[arg-type]
        case 13:
            if block not in sch.get_output_blocks():  # arguments keep their shapes
                sch.transform_layout(block, ("write", 0), rng.choice(_LAYOUTS))
        case 14:
            sch.reindex(block, (rng.choice(["read", "write"]), 0))
        case 15:
            sch.storage_align(block, 0, rng.randrange(2), rng.choice([3, 8]), rng.randrange(3))
        case _:
            rng.choice([sch.parallel, sch.vectorize, sch.unroll])(loop)  # type: ignore[operator]


def random_sum_step(sch: Schedule, rng: Random) -> None:
    """Apply a primitive as ``random_step`` does, more often one that parts a reduction from its start."""
    block = rng.choice(sch.get_child_blocks(BlockRV("root")))
    loops = sch.get_loops(block)
    match rng.randrange(20) if loops else 20:
        case 0 | 1 | 2 | 3:
            sch.split(rng.choice(loops), rng.choice(_FACTORS))  # type: ignore[arg-type]
        case 4 | 5:
            sch.decompose_reduction(block, rng.choice(loops))
        case 6:
            sch.reorder(*rng.sample(loops, k=min(len(loops), 3)))
        case _:
            random_step(sch, rng)


def random_block_schedule(
    rng: Random, func: PrimFunc, steps: int = 9, step: Callable[[Schedule, Random], None] = random_step
) -> tuple[Schedule, int]:
    """Return a schedule after up to ``steps`` random steps that were accepted, and how many these are."""
    sch = Schedule(func)
    done = 0
    for _ in range(_TRIES):
        try:
            step(sch, rng)
        except BlockScheduleError:
            continue
        done += 1
        if done == steps:
            break
    return sch, done

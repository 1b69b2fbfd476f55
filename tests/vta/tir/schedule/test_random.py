"""Random primitives in random order: whatever is accepted leaves the numbers as they were."""

import random

import pytest

from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from vta.tir.schedule import BlockScheduleError, Schedule

LAYOUTS = (lambda i, j: [j, i], lambda i, j: [i, j // 2, j % 2])


def random_step(sch: Schedule, rng: random.Random) -> None:
    """Apply one primitive with random arguments."""
    blocks = [b for b in sch.get_child_blocks(sch.get_block("root")) if b.name != "root"]
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
                sch.transform_layout(block, ("write", 0), rng.choice(LAYOUTS))
        case 14:
            sch.reindex(block, (rng.choice(["read", "write"]), 0))
        case 15:
            sch.storage_align(block, 0, rng.randrange(2), rng.choice([3, 8]), rng.randrange(3))
        case _:
            rng.choice([sch.parallel, sch.vectorize, sch.unroll])(loop)  # type: ignore[operator]


@pytest.mark.parametrize("seed", range(100))
def test_random_schedules_compute_the_same(seed: int) -> None:
    rng = random.Random(seed)
    func, inputs, expected = rng.choice([gemm_relu, pipeline])()
    sch = Schedule(func)
    done = 0
    for _ in range(60):
        try:
            random_step(sch, rng)
            done += 1
        except BlockScheduleError:
            continue
        if done == 9:
            break
    assert done >= 3
    check(sch.func, inputs, expected, compiled=seed % 6 == 0)

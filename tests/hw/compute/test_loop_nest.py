# amaranth: UnusedElaboratable=no
"""Steps come in the order of the reference's loops, one a cycle, whatever stalls."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from hw.compute.loop_nest import LoopNest
from hw.sim import compile_design

OPERANDS = {"dst": 6, "src": 5}


def _design() -> tuple[Any, ...]:
    nest = LoopNest(uop_width=4, operands=OPERANDS, meta_width=3)
    return compile_design(nest), nest.job.payload.shape(), nest.steps.payload.shape()


def _jobs(rng: np.random.Generator, count: int) -> Iterator[Any]:
    for _ in range(count):
        begin = int(rng.integers(16))
        yield {
            "uop_bgn": begin,
            "uop_end": int(rng.integers(begin + 1, 17)),
            "iter_out": int(rng.integers(1, 4)),
            "iter_in": int(rng.integers(1, 5)),
            "meta": int(rng.integers(8)),
            **{
                f"{name}_factor_{loop}": int(rng.integers(1 << w))
                for name, w in OPERANDS.items()
                for loop in ("out", "in")
            },
        }


def _expected(job: dict[str, int]) -> Any:
    steps = []
    for i in range(job["iter_out"]):
        for j in range(job["iter_in"]):
            for uop in range(job["uop_bgn"], job["uop_end"]):
                offsets = {
                    name: (i * job[f"{name}_factor_out"] + j * job[f"{name}_factor_in"]) % (1 << width)
                    for name, width in OPERANDS.items()
                }
                steps.append([uop, offsets["dst"], offsets["src"], 0, job["meta"]])
    steps[-1][3] = 1
    return steps


def _run(jobs: list[dict[str, int]], *, stall: float, rng: np.random.Generator) -> tuple[Any, ...]:
    design, job_shape, step_shape = _design()
    waiting = list(jobs)
    steps: list[Any] = []
    cycles = 0
    total = sum(len(_expected(job)) for job in jobs)
    while len(steps) < total:
        design.poke("job__valid", int(bool(waiting)))
        if waiting:
            design.poke("job__payload", int(job_shape.const(waiting[0]).as_bits()))
        ready = int(rng.random() >= stall)
        design.poke("steps__ready", ready)
        if waiting and design.peek("job__ready"):
            waiting.pop(0)
        if ready and design.peek("steps__valid"):
            step = step_shape.from_bits(design.peek("steps__payload"))
            steps.append([step.uop, step.offsets.dst, step.offsets.src, step.last, step.meta])
        design.step()
        cycles += 1
    return steps, cycles


@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_steps_are_those_of_the_three_loops(stall: float) -> None:
    rng = np.random.default_rng(5)
    jobs = list(_jobs(rng, 25))
    steps, _ = _run(jobs, stall=stall, rng=rng)
    assert steps == [step for job in jobs for step in _expected(job)]


def test_jobs_follow_each_other_without_a_gap() -> None:
    rng = np.random.default_rng(6)
    jobs = list(_jobs(rng, 10))
    steps, cycles = _run(jobs, stall=0.0, rng=rng)
    assert cycles == len(steps) + 1


@pytest.mark.parametrize(("outer", "inner"), [(16383, 1), (1, 16383), (8193, 2)])
def test_a_loop_has_as_many_turns_as_its_field_holds(outer: int, inner: int) -> None:
    design, job_shape, step_shape = _design()
    job = {"uop_bgn": 15, "uop_end": 16, "iter_out": outer, "iter_in": inner, "meta": 5}
    factors = {"dst_factor_out": 3, "dst_factor_in": 5, "src_factor_out": 7, "src_factor_in": 11}
    design.poke("job__payload", int(job_shape.const({**job, **factors}).as_bits()))
    design.poke("job__valid", 1)
    design.poke("steps__ready", 1)
    design.step()
    design.poke("job__valid", 0)
    design.step(outer * inner - 2)
    for last in (0, 1):
        step = step_shape.from_bits(design.peek("steps__payload"))
        assert (design.peek("steps__valid"), step.uop, step.last, step.meta) == (1, 15, last, 5)
        assert design.peek("job__ready") == last
        design.step()
    assert step.offsets.dst == ((outer - 1) * 3 + (inner - 1) * 5) % (1 << OPERANDS["dst"])
    assert step.offsets.src == ((outer - 1) * 7 + (inner - 1) * 11) % (1 << OPERANDS["src"])
    assert not design.peek("steps__valid")


def test_a_nest_needs_an_operand() -> None:
    with pytest.raises(ValueError, match=r"^LoopNest needs at least one operand$"):
        LoopNest(uop_width=4, operands={}, meta_width=1)

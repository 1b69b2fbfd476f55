"""All configurations of a sweep, measured: the cheap things of every one, the dear ones of those that are worth it.

Tests: tests/vta/explore/test_study.py.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from vta.cluster import Cluster
from vta.explore.log import Log, digest_of
from vta.explore.measure import Area, Cycles, Request, Wanted, answer
from vta.explore.pareto import by_rank, front
from vta.explore.sweep import Point
from vta.explore.workload import Workload
from vta.relay.backend.workers import in_workers

__all__ = ["Outcome", "Plan", "Progress", "explored", "on_front"]

Progress = Callable[[int, int, str], object]
"""Hears how many measurements of how many are done, and which was the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is measured: where cycles and area come from, whether the clock is, how many points get the dear things.

    ``workers`` processes of this computer measure, or those of the dask cluster at ``scheduler``.
    """

    cycles: Cycles = Cycles.PREDICTED
    area: Area = Area.ESTIMATE
    fmax: bool = False
    device: str = "85k"
    budget: int | None = None
    workers: int = 1
    scheduler: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of a point; ``problems`` says by column why something is not."""

    point: Point
    found: Mapping[str, object] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str) -> float | None:
        """Return what was measured as ``name``; None if it was not."""
        value = self.found.get(name)
        return float(value) if isinstance(value, int | float) else None

    @property
    def costs(self) -> tuple[float, ...] | None:
        """Cycles, and the area as part of a device: what is to be small; None if either is not known."""
        cycles, lut, dsp, bram = (self.number(name) for name in ("cycles", "lut", "dsp", "bram"))
        if cycles is None or lut is None or dsp is None or bram is None:
            return None
        return cycles, lut, dsp, bram


def explored(
    points: Sequence[Point], workload: Workload, plan: Plan, log: Log, progress: Progress | None = None
) -> list[Outcome]:
    """Return an outcome for every point, in their order. What the log has is not measured again."""
    runner = _Runner(workload, plan, log, progress)
    valid = [point for point in points if point.config is not None]
    cheap = runner.measured(valid, (Wanted.PREDICTED, Wanted.ESTIMATE))
    dear = _dear(plan)
    chosen = _chosen(valid, cheap, plan.budget) if dear else valid
    better = runner.measured(chosen, dear)
    return [_outcome(point, cheap.get(point, {}), better.get(point), dear) for point in points]


def _dear(plan: Plan) -> tuple[Wanted, ...]:
    wanted = [Wanted.TSIM] if plan.cycles is Cycles.TSIM else []
    wanted += [Wanted.YOSYS] if plan.area is Area.YOSYS else []
    return (*wanted, Wanted.FMAX) if plan.fmax else tuple(wanted)


Answers = dict[Wanted, Mapping[str, object]]


def _chosen(points: Sequence[Point], cheap: Mapping[Point, Answers], budget: int | None) -> list[Point]:
    """Return the points that get the dear measurements: as many as the budget allows, those that nothing beats first.

    What cannot run is not among them: no cycles are predicted.
    """
    able = [point for point in points if "cycles" in cheap[point][Wanted.PREDICTED]]
    costs = [
        (float(str(cheap[point][Wanted.PREDICTED]["cycles"])), *_area_costs(cheap[point][Wanted.ESTIMATE]))
        for point in able
    ]
    return [able[place] for place in by_rank(costs)[:budget]]


def _area_costs(area: Mapping[str, object]) -> tuple[float, ...]:
    return tuple(float(str(area[name])) for name in ("lut", "dsp", "bram"))


def _outcome(point: Point, cheap: Answers, better: Answers | None, dear: tuple[Wanted, ...]) -> Outcome:
    if point.config is None:
        return Outcome(point, problems={"configuration": point.problem})
    found: dict[str, object] = {}
    problems: dict[str, str] = {}
    for wanted, result in {**cheap, **(better or {})}.items():
        if "error" in result:
            problems[str(wanted)] = str(result["error"])
            continue
        found |= result
        kind = "cycles" if wanted in (Wanted.PREDICTED, Wanted.TSIM) else "mhz" if wanted is Wanted.FMAX else "area"
        found[f"{kind}_by"] = str(wanted)
    if better is None and dear:
        problems[" and ".join(dear)] = "beyond the budget: estimates say that others are better"
    return Outcome(point, found, problems)


def on_front(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes that no other beats in cycles, look-up tables, multipliers and block RAM at once."""
    known = [(outcome, outcome.costs) for outcome in outcomes]
    able = [(outcome, costs) for outcome, costs in known if costs is not None]
    return [able[place][0] for place in front([costs for _, costs in able])]


@dataclass(slots=True)
class _Runner:
    """Measures what the log does not have."""

    workload: Workload
    plan: Plan
    log: Log
    progress: Progress | None

    def measured(self, points: Sequence[Point], wanted: Sequence[Wanted]) -> dict[Point, Answers]:
        """Return the answers for each point; each in a process of its own if there are workers."""
        requests = [Request(point, self.workload, each, self.plan.device) for point in points for each in wanted]
        digests = [digest_of(request) for request in requests]
        missing: dict[str, Request] = {}
        for digest, request in zip(digests, requests, strict=True):
            if digest not in self.log.answers:
                missing.setdefault(digest, request)
        self._ask(missing)
        found: dict[Point, Answers] = {point: {} for point in points}
        for digest, request in zip(digests, requests, strict=True):
            found[request.point][request.wanted] = self.log.answers[digest]
        return found

    def _ask(self, missing: Mapping[str, Request]) -> None:
        """Measure, and keep each answer as soon as it is there."""
        answers: Iterator[tuple[str, Mapping[str, object]]]
        with ExitStack() as stack:
            if self.plan.scheduler is None and (self.plan.workers < 2 or len(missing) < 2):
                answers = ((digest, answer(request)) for digest, request in missing.items())
            else:
                ask, workers = _in_a_process, self.plan.workers
                if self.plan.scheduler is not None:
                    cluster = Cluster(self.plan.scheduler)
                    stack.callback(cluster.close)
                    ask, workers = partial(cluster.ask, _in_a_process), len(cluster)
                pool = stack.enter_context(ThreadPoolExecutor(workers))
                stack.callback(lambda: pool.shutdown(cancel_futures=True))
                futures = {pool.submit(ask, request): digest for digest, request in missing.items()}
                answers = ((futures[future], future.result()) for future in as_completed(futures))
            for number, (digest, result) in enumerate(answers, 1):
                request = missing[digest]
                self.log.keep(digest, request.point.name, request.wanted, result)
                if self.progress is not None:
                    self.progress(number, len(missing), f"{request.wanted} of {request.point.name}")


def _in_a_process(request: Request) -> Mapping[str, object]:
    """Return the answer of a process of its own: what is compiled for one configuration goes when it ends."""
    [result] = in_workers(answer, [request], 1)
    return result

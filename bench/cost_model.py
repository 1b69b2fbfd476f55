"""How far the cost model is from the hardware: random operators with random tiles, predicted and run on ``tsim``.

    python -m bench.cost_model --count 1000
    python -m bench.cost_model --count 30 --seed 7 --hardware 64/1 128/64
    python -m bench.cost_model --count 1000 --log cycles.jsonl

An operator is drawn (convolution, dense layer, batch of products), hardware from ``--hardware`` (bits of the bus,
latency of the memory), then ``--each`` of the tiles that its search looks at; results are compared with numpy. It
prints, for the model of the searches and for the one that follows the instructions, quantiles of the error by kind of
operator and the ten worst; the second rank correlation is that of an operator's schedules, whose order is what a search
needs. A log keeps what was measured, so that a run which was ended goes on from there; predictions are made anew. It
holds for the streams and the hardware that wrote it. The exit status says whether the error of a program is at most
``--limit`` for nine of ten.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

import vta
from bench.setups import hardware_text, setup_of
from runtime.session import Session
from vta.cost import predict
from vta.nd import EXT_DEV, Device, array, empty
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.conv.conv2d_tiling import conv_candidates
from vta.topi.core.epilogue import Bias, Clip, Epilogue, ShiftRight
from vta.topi.core.operator import Compiled, Operator, compile  # noqa: A004
from vta.topi.matmul.batch_matmul import BatchMatmul
from vta.topi.matmul.dense import Dense

HARDWARE = ("64/1", "64/16", "64/64", "128/1", "128/64", "256/16")
"""Bits of the bus, and cycles of latency."""

MODELS = ("search", "program")
"""What the search prices its finalists with, and what follows every instruction."""

QUANTILES = (0.5, 0.9, 0.99, 1.0)
EPILOGUES: tuple[Epilogue, ...] = ((), (ShiftRight(8), Clip(-128, 127)), (ShiftRight(8), Bias(), Clip(0, 127)))
_FEWEST = 4
"""Schedules of an operator that have an order worth comparing."""


@dataclass(frozen=True, slots=True)
class Point:
    """One schedule of operator number ``of``: what the search says, what its instructions say, what it took."""

    of: int
    operator: Operator
    hardware: str
    tiles: object
    quick: int
    followed: int
    measured: int

    def predicted(self, model: str) -> int:
        """Return what a model says."""
        return self.quick if model == "search" else self.followed

    def error(self, model: str) -> float:
        """Return how far a prediction is off: positive where the hardware was faster than predicted."""
        return self.predicted(model) / self.measured - 1


def random_layer(rng: np.random.Generator) -> Operator:
    """Return an operator that takes some thousands of cycles."""
    steps = EPILOGUES[rng.integers(len(EPILOGUES))]
    match int(rng.integers(4)):
        case 0:
            return Dense(int(rng.integers(1, 65)), 16 * int(rng.integers(1, 33)), 16 * int(rng.integers(1, 17)), steps)
        case 1:
            rows, inner, columns = (int(rng.integers(8, 97)) for _ in range(3))
            return BatchMatmul(int(rng.integers(1, 5)), rows, inner, columns, epilogue=steps)
        case _:
            size, kernel, stride = int(rng.integers(5, 29)), int(rng.choice([1, 3])), int(rng.integers(1, 3))
            channels = [16 * int(rng.integers(1, 13)) for _ in range(2)]
            return Conv2d(
                1, channels[0], size, size, channels[1], (kernel, kernel), (stride, stride), (kernel // 2,) * 4,
                epilogue=steps, fold=(1, 1),
            )  # fmt: skip


def tiles_of(operator: Operator, env: vta.Environment) -> list[object]:
    """Return the tiles that the operator's search looks at."""
    match operator:
        case Conv2d():
            return [candidate.tiles for candidate in conv_candidates(operator.shape_on(env))]
        case Dense() | BatchMatmul():
            return [candidate.tiles for candidate in operator.problem(env).candidates()]
        case _:
            raise TypeError(f"no list of tiles for {operator!r}")


@cache
def _session(hardware: str) -> Session:
    return Session(vta.get_env().config, "tsim", setup=setup_of(hardware))


def measured(compiled: Compiled, session: Session) -> int:
    """Return the cycles of one run on the device; exits if the result is not numpy's."""
    operator, env, place = compiled.operator, compiled.env, Device(EXT_DEV, 0, session)
    rng = np.random.default_rng(0)
    plain = [
        rng.integers(-128, 128, operand.shape).astype(operand.dtype)  # values of channels, too, may be as small as that
        for operand in operator.inputs(env)
    ]
    result = compiled.scheduled.args[-1]
    placed = [array(values, place) for values in operator.pack(env, *plain)]
    out = empty(result.shape, str(result.dtype), place)
    session.device.clear_stats()
    compiled.module(*placed, out)
    if not np.array_equal(operator.unpack(env, out.numpy()), operator.reference_on(env, *plain)):
        raise SystemExit(f"{operator} with {compiled.scheduled.tiles}: the hardware's result is not numpy's")
    taken = session.device.stats.cycles
    assert taken is not None
    return taken


@dataclass(slots=True)
class Log:
    """Cycles that were measured, by what they were measured of; a line of JSON each where there is a ``path``."""

    path: Path | None = None
    _cycles: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            text = self.path.read_text(encoding="utf-8")
            whole = text[: text.rfind("\n") + 1]
            if whole != text:  # the run was ended while it wrote
                self.path.write_text(whole, encoding="utf-8")
            self._cycles.update(json.loads(line) for line in whole.splitlines())

    def cycles(self, compiled: Compiled, hardware: str) -> int:
        """Return what a run takes on ``hardware``: from the log, or measured and then noted."""
        of = f"{hardware}: {compiled.operator} with {compiled.scheduled.tiles}"
        if of not in self._cycles:
            self._cycles[of] = measured(compiled, _session(hardware))
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([of, self._cycles[of]]) + "\n")
        return self._cycles[of]


def points(count: int, each: int, seed: int, hardware: Sequence[str], log: Log | None = None) -> Iterator[Point]:
    """Yield ``count`` schedules, ``each`` of an operator; operator ``n`` depends on ``seed`` and ``n`` alone."""
    left, log = count, log or Log()
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        operator, chosen = random_layer(rng), str(rng.choice(list(hardware)))
        env = vta.Environment(vta.get_env().config, hardware=setup_of(chosen))
        choices = tiles_of(operator, env)
        for index in rng.permutation(len(choices))[: min(each, left)]:
            compiled = compile(operator, env, choices[index])
            quick, followed = predict(operator, tiles=choices[index], env=env).cycles, predict(compiled).cycles
            taken = log.cycles(compiled, chosen)
            yield Point(number, operator, chosen, choices[index], quick, followed, taken)
            left -= 1
        if left <= 0:
            return


def rank_correlation(predicted: Sequence[int], taken: Sequence[int]) -> float:
    """Return Spearman's coefficient: that of the places in the two orders; equal numbers share their places."""
    ranks = [_ranks(np.array(numbers, np.float64)) for numbers in (predicted, taken)]
    if any(np.ptp(rank) == 0 for rank in ranks):
        return 1.0 if all(np.ptp(rank) == 0 for rank in ranks) else 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    _, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: npt.NDArray[np.float64] = (ends - (counts - 1) / 2)[inverse]
    return ranks


def report(found: Sequence[Point], limit: float) -> bool:
    """Print quantiles, correlations and the worst; return whether nine of ten programs are within ``limit``."""
    kinds: Mapping[str, list[Point]] = {
        kind: [point for point in found if kind in ("all", type(point.operator).__name__)]
        for kind in ("Conv2d", "Dense", "BatchMatmul", "all")
    }
    for model in MODELS:
        quantiles = "".join(f"{f'{q:.0%} within':>13}" for q in QUANTILES)
        print(f"{model:12}{'schedules':>10}{'bias':>8}{quantiles}   ranks")
        for kind, mine in kinds.items():
            if mine:
                errors = np.array([point.error(model) for point in mine])
                within = "".join(f"{np.quantile(np.abs(errors), q):13.1%}" for q in QUANTILES)
                print(f"{kind:12}{len(mine):10}{np.median(errors):8.1%}{within}   {_order(mine, model)}")
        for point in sorted(found, key=lambda point: -abs(point.error(model)))[:10]:
            taken = f"{point.measured:,} cycles on {point.hardware}"
            print(f"{point.error(model):+.1%}: {taken}, {point.operator}, {point.tiles}")
    return float(np.quantile([abs(point.error(MODELS[-1])) for point in found], 0.9)) <= limit


def _order(found: Sequence[Point], model: str) -> str:
    """Return the rank correlation over all of ``found``, and the median of those within an operator."""
    overall = rank_correlation([point.predicted(model) for point in found], [point.measured for point in found])
    groups = [[point for point in found if point.of == number] for number in sorted({point.of for point in found})]
    inner = [
        rank_correlation([point.predicted(model) for point in group], [point.measured for point in group])
        for group in groups
        if len(group) >= _FEWEST
    ]
    return f"{overall:.4f}" + (f", within an operator {np.median(inner):.3f}" if inner else "")


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="how many schedules, default 1000")
    parser.add_argument("--each", type=int, default=8, help="how many of them an operator has, default 8")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hardware", type=hardware_text, nargs="+", default=list(HARDWARE))
    parser.add_argument("--limit", type=float, default=0.05, help="error that nine of ten keep, default 0.05")
    parser.add_argument("--log", type=Path, help="a file that keeps what was measured")
    arguments = parser.parse_args()
    if min(arguments.count, arguments.each) < 1:
        parser.error("--count and --each are 1 or more")
    found = list(points(arguments.count, arguments.each, arguments.seed, arguments.hardware, Log(arguments.log)))
    return 0 if report(found, arguments.limit) else 1


if __name__ == "__main__":
    sys.exit(main())

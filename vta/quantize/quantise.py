"""Quantising a float ONNX model on data, from beginning to end. Tests: tests/vta/quantize/test_quantise.py."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import onnx

from runtime.executor.operators.types import Array
from vta.quantize.calibrate.collapse import refuse_collapsed, refuse_flat
from vta.quantize.calibrate.observe import Observed, observe
from vta.quantize.calibrate.ranges import Candidate, candidates, clipped_share
from vta.quantize.calibrate.samples import Samples, input_types
from vta.quantize.calibrate.zeros import at_no_cost, on_the_accelerator
from vta.quantize.decide import decided
from vta.quantize.encoding import sqnr_db
from vta.quantize.errors import QuantizeError
from vta.quantize.graph import Graph, name_of
from vta.quantize.improve.bias_correction import corrected_biases
from vta.quantize.improve.equalise import equalised
from vta.quantize.improve.rounding import optimised_weights
from vta.quantize.options import Method, Options
from vta.quantize.plan import Plan, plan
from vta.quantize.prepare import prepared
from vta.quantize.report import LayerReport, Report
from vta.quantize.score import Score, Scorer
from vta.quantize.shares import error_shares
from vta.quantize.write import Numbers, written

__all__ = ["Quantised", "quantise"]

_SCORED, _MOST_SCORED = 8, 32
"""Held samples that decide whether a change pays: at least, and where inputs are small."""
_SCORED_ELEMENTS = 8 * 3 * 224 * 224
"""Numbers of inputs up to which more samples take no time to speak of."""
_GLANCE = 16
"""Samples that decide whether equalisation is worth a calibration of its own."""
_ALL = " for all tensors"
_BETTER_DB = 0.05
"""What a change must bring to be kept: less is chance."""
_CLIPPED_DB = 1.0
"""What ranges that clip must bring if all tensors shall have them: held samples are much like those they come from."""
_PADDED_DB = 1.0
"""What zero points must bring in front of pads: layers with pads then load one more tensor."""
_EQUALISED_DB = 1.0
"""What equalisation must bring at a glance: rounding and biases, improved afterwards, make up for less."""


@dataclass(frozen=True, slots=True)
class Quantised:
    """The int8 network as a standard ONNX model, and what was decided."""

    model: onnx.ModelProto
    report: Report


@dataclass(frozen=True, slots=True)
class _State:
    """A network on its way: its graph, what was seen of it, its numbers, and how close it comes.

    ``closeness`` is what decides between networks: the signal to noise ratio of what the outputs are made of.
    """

    graph: Graph
    plan: Plan
    observed: Mapping[str, Observed]
    chosen: Mapping[str, Candidate]
    numbers: Numbers
    score: Score
    closeness: float
    improvements: tuple[str, ...] = ()


def quantise(model: onnx.ModelProto, data: Mapping[str, Array] | Samples, options: Options | None = None) -> Quantised:
    """Return ``model`` with int8 numbers, calibrated on ``data``: arrays by input whose first axis counts samples.

    Raises ``QuantizeError`` for models that cannot be quantised, ``CalibrationError`` for data that do not fit or that
    make a layer collapse, with its name.
    """
    wanted = options or Options()
    samples = data if isinstance(data, Samples) else Samples(data, input_types(model))
    graph = prepared(model)
    names = {name_of(node) for node in graph.nodes}
    unknown = [name for name in wanted.keep if name not in names]
    if unknown:
        raise QuantizeError(
            f"the model has no node {unknown[0]!r} to keep in float; it has {', '.join(sorted(names)[:20])}"
        )
    work = _Work(graph, samples, wanted)
    state = work.best(tuple(wanted.keep))
    state, kept = work.above_floor(state)
    return Quantised(written(state.graph, state.plan, state.numbers), work.report(state, kept))


class _Work:
    """What stays the same while networks are tried."""

    def __init__(self, graph: Graph, samples: Samples, options: Options) -> None:
        self._graph, self._samples, self._options = graph, samples, options
        _, held = samples.split()
        count = _SCORED_ELEMENTS // max(1, sum(array[0].size for array in samples.arrays.values()))
        self._judges = held.head(min(max(count, _SCORED), _MOST_SCORED))
        self._score = Scorer(graph, self._judges)

    def best(self, keep: tuple[str, ...]) -> _State:
        """Return the best network with the nodes of ``keep`` in float, with more zero points if they pay."""
        fastest, *others = map(self._improved, self._calibrated(*self._equalised(keep), keep))
        return _better(fastest, others[0], "zero points in front of pads", _PADDED_DB) if others else fastest

    def _improved(self, state: _State) -> _State:
        if self._options.optimise_rounding:
            state = self._with_rounding(state)
        if self._options.correct_bias:
            state = self._with_biases(state)
        return state

    def _equalised(self, keep: tuple[str, ...]) -> tuple[Graph, tuple[str, ...]]:
        """Return the graph to go on with, equalised if that pays on a few samples, and what was done to it."""
        other = equalised(self._graph) if self._options.equalise else None
        if other is None:
            return self._graph, ()
        few, scores = self._samples.head(_GLANCE), []
        for graph in (self._graph, other):
            found, observed = self._observed(graph, keep, few)
            by_name = self._ranges(observed, self._symmetric(graph, found)[0])
            scores.append(self._state(graph, found, observed, _first(by_name)).closeness)
        pays = scores[1] >= scores[0] + _EQUALISED_DB
        return (other, ("equalisation across layers",)) if pays else (self._graph, ())

    def _calibrated(self, graph: Graph, done: tuple[str, ...], keep: tuple[str, ...]) -> list[_State]:
        """Return the networks with the ranges that lose least, one for each choice of zero points."""
        found, observed = self._observed(graph, keep, self._samples)
        made = []
        for symmetric in self._symmetric(graph, found):
            by_name = self._ranges(observed, symmetric)
            state = replace(self._state(graph, found, observed, _first(by_name)), improvements=done)
            refuse_collapsed(found, observed, state.chosen)
            made.append(self._with_one_method(state, by_name))
        return made

    def _with_one_method(self, state: _State, by_name: Mapping[str, list[Candidate]]) -> _State:
        """Return the network with the ranges of one method for all tensors, if that is closer."""
        best = state
        for method in self._options.methods if len(self._options.methods) > 1 else ():
            uniform = {name: next(c for c in each if c.method is method) for name, each in by_name.items()}
            other = replace(
                self._state(state.graph, state.plan, state.observed, uniform), improvements=state.improvements
            )
            least = _BETTER_DB if method is Method.MIN_MAX else _CLIPPED_DB
            best = _better(best, other, f"{method}{_ALL}", least)
        return best

    def _observed(self, graph: Graph, keep: tuple[str, ...], samples: Samples) -> tuple[Plan, dict[str, Observed]]:
        """Return what becomes int8 in a graph, and what its tensors look like."""
        found = plan(graph, keep)
        if not found.layers:
            raise QuantizeError(
                "no layer of the model can be quantised: it has no convolution or product with constant weights"
            )
        observed = observe(graph, found, samples)
        refuse_flat(found, observed)
        return found, observed

    def _symmetric(self, graph: Graph, found: Plan) -> tuple[frozenset[str], ...]:
        """Return the points whose zero is cell 0: as was asked for, or several choices, the fastest first."""
        roots = frozenset(found.roots)
        match self._options.symmetric:
            case None:
                choices = (roots - at_no_cost(graph, found), roots - on_the_accelerator(graph, found))
                return tuple(dict.fromkeys(choices))
            case wanted:
                return (roots,) if wanted else (frozenset(),)

    def _ranges(self, observed: Mapping[str, Observed], symmetric: frozenset[str]) -> dict[str, list[Candidate]]:
        """Return all ranges that were found for each tensor, the best one first."""
        return {
            name: candidates(each.seen, each.held, self._options, symmetric=name in symmetric)
            for name, each in observed.items()
        }

    def _state(
        self, graph: Graph, found: Plan, observed: Mapping[str, Observed], chosen: Mapping[str, Candidate]
    ) -> _State:
        encodings = {name: each.encoding for name, each in chosen.items()}
        numbers = decided(graph, found, encodings, self._options)
        return _State(graph, found, observed, chosen, numbers, *self._score(written(graph, found, numbers)))

    def _renumbered(self, state: _State, numbers: Numbers) -> _State:
        score, closeness = self._score(written(state.graph, state.plan, numbers))
        return replace(state, numbers=numbers, score=score, closeness=closeness)

    def _with_biases(self, state: _State) -> _State:
        means = {name: each.means for name, each in state.observed.items() if each.means is not None}
        biases = corrected_biases(state.graph, state.plan, state.numbers.weights, state.numbers.biases, means)
        return _better(state, self._renumbered(state, replace(state.numbers, biases=biases)), "bias correction")

    def _with_rounding(self, state: _State) -> _State:
        calibration, _ = self._samples.split()
        weights = optimised_weights(state.graph, state.plan, state.numbers, calibration)
        return _better(state, self._renumbered(state, replace(state.numbers, weights=weights)), "optimised rounding")

    def above_floor(self, state: _State) -> tuple[_State, tuple[str, ...]]:
        """Keep layers in float, those that cost most first, until the floor is reached; return which."""
        kept = tuple(self._options.keep)
        floor = self._options.floor
        while floor is not None and state.score.cosine < floor:
            shares = self._shares(state)
            worst = max(
                (n for n in shares if state.plan.points[n].made_by), key=lambda name: shares[name], default=None
            )
            if worst is None or not state.plan.layers:
                break
            kept = (*kept, *state.plan.points[worst].made_by)
            if not plan(state.graph, kept).layers:
                raise QuantizeError(
                    f"no network with int8 layers reaches the floor of {floor:g}; lower it, or give more data"
                )
            state = self.best(kept)
        return state, kept

    def _shares(self, state: _State) -> dict[str, float]:
        return error_shares(state.graph, state.plan, state.numbers, self._judges.head(2))

    def report(self, state: _State, kept: tuple[str, ...]) -> Report:
        """Return what was decided, layer by layer."""
        shares = self._shares(state)
        ends = {step: name for name, point in reversed(list(state.plan.points.items())) for step in point.made_by}
        weights: dict[str, list[float]] = {}
        for node in state.plan.layers:
            found = state.numbers.weights[name_of(node)].sqnr(state.graph.constants[node.input[1]])
            weights.setdefault(ends.get(name_of(node), ""), []).append(found)
        rows = []
        for name in state.plan.roots:
            point, candidate, held = state.plan.points[name], state.chosen[name], state.observed[name].held
            values, counts = held.filled()
            signal = float((values**2 * counts).sum() / counts.sum())
            encoding = candidate.encoding
            rows.append(
                LayerReport(
                    point.made_by[-1] if point.made_by else name, name, point.made_by, str(candidate.method),
                    encoding.low, encoding.high, encoding.scale, encoding.zero, sqnr_db(signal, candidate.noise),
                    clipped_share(held, encoding), min(weights.get(name, ()), default=None), shares.get(name, 0.0),
                )
            )  # fmt: skip
        return Report(tuple(rows), kept, state.improvements, state.score, self._samples.count)


def _first(by_name: Mapping[str, list[Candidate]]) -> dict[str, Candidate]:
    """Return the best range of each tensor."""
    return {name: each[0] for name, each in by_name.items()}


def _better(state: _State, other: _State, name: str, least: float = _BETTER_DB) -> _State:
    """Return the other network if it comes closer by ``least`` decibels, with the name of what made it so."""
    if other.closeness < state.closeness + least:
        return state
    return replace(other, improvements=(*other.improvements, name))


def methods_used(report: Report) -> dict[Method, int]:
    """Return how many tensors each method found the range of."""
    return {method: sum(row.method == method for row in report.layers) for method in Method}

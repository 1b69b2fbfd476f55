"""What bounds a launch, and what would change it: each piece of advice with the cycles that it is predicted to save.

Tests: tests/vta/inspect/explain/test_predictions.py, tests/vta/inspect/explain/test_critical_path.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from isa.machine.hardware_config import DATA_WIDTHS
from vta.inspect.explain import changes
from vta.inspect.explain.critical_path import Share, critical_path
from vta.inspect.explain.run_model import RunModel
from vta.inspect.trace import Recorded

__all__ = ["Advice", "Explanation", "explain"]


@dataclass(frozen=True, slots=True)
class Advice:
    """A change: its ``name``, the schedule parameter or configuration key to ``turn``, and the cycles after it.

    ``setting`` is what ``vta run --set`` takes to try it, where it is a size of the hardware that can be tried.
    """

    name: str
    turn: str
    cycles: int
    setting: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """What bounds a launch of ``cycles``: ``bound`` in words, ``because`` in a sentence, and advice, best first.

    ``path`` has the cycles of the critical path by what they went to, most first; they sum to ``cycles``.
    """

    cycles: int
    bound: str
    because: str
    path: Mapping[Share, int]
    advice: tuple[Advice, ...]


_BOUNDS: Mapping[Share, tuple[str, str]] = {
    Share.COMPUTE: ("compute", "products and tensor operations are"),
    Share.LOADS: ("loads", "moving inputs and weights is"),
    Share.ACC_LOADS: ("accumulator loads", "moving data into the accumulator is"),
    Share.UOP_LOADS: ("micro-op loads", "waiting for micro-ops is"),
    Share.STORES: ("stores", "moving results is"),
    Share.TURNS: ("tokens", "modules taking turns, where another buffer would let them overlap, are"),
    Share.LATENCY: ("memory latency", "waiting for memory to answer is"),
    Share.FETCH: ("instruction fetch", "waiting for instructions is"),
    Share.PIPELINES: ("starts and drains", "beginning and emptying pipelines is"),
}
"""What bounds a run whose critical path has most of this, and the beginning of the sentence that says so."""

_TURNS_BOUND = 0.2
"""A run that loses this much by taking turns is bound by that, whatever the turns are full of: the schedule alone wins
it. (Turns can never cost more than the longer of the two modules' work, so they would not be named otherwise.)"""


def explain(launch: Recorded, hardware: Mapping[str, object]) -> Explanation:
    """Explain a recorded launch; ``hardware`` is that of the trace's header.

    Raises ``ExplainError`` for a device without a clock and for a launch that failed.
    """
    width = hardware.get("data_width")
    model = RunModel.of(launch, beat_bytes=width // 8 if isinstance(width, int) else 8)
    cycles, path = model.cycles(), _path(model)
    most = Share.TURNS if path.get(Share.TURNS, 0) >= _TURNS_BOUND * cycles else next(iter(path))
    bound, sentence = _BOUNDS[most]
    advice = [made for made in _advice(model, hardware) if made.cycles < cycles]
    because = f"{sentence} {100 * path[most] / cycles:.0f} % of the critical path"
    return Explanation(cycles, bound, because, path, tuple(sorted(advice, key=lambda made: made.cycles)))


def _path(model: RunModel) -> Mapping[Share, int]:
    """Return what the critical path's cycles went to, most first.

    What further buffers would save is the price of taking turns; the rest is the critical path with these buffers.
    """
    overlapped = changes.stored_aside(changes.buffered_again(model))
    turns = model.cycles() - overlapped.cycles()
    # Loads that come early may keep those of accumulators waiting: then there are no turns to blame.
    shares = {**critical_path(overlapped), Share.TURNS: turns} if turns > 0 else critical_path(model)
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


_WIDER = "memory port twice as wide"

_CHANGES: Sequence[tuple[str, str, Callable[[RunModel], RunModel]]] = (
    (
        _WIDER,
        "HardwareConfig.data_width (WIDTH), or fewer bytes: larger tile_h, tile_w, tile_co reuse what is loaded",
        lambda model: changes.wider_memory(model, 2),
    ),
    (
        "one more buffer for loads",
        "a virtual thread more: oc_nthread or h_nthread, `cthread` in te (needs room for another tile)",
        changes.buffered_again,
    ),
    (
        "one more buffer for results",
        "a virtual thread more: results of one are stored while the other computes",
        changes.stored_aside,
    ),
    (
        "stores for free",
        "the store pragma at an outer axis, so that a STORE moves more; whole rows (tile_w)",
        changes.stores_for_free,
    ),
    (
        "micro-ops always there",
        "tiles of equal shape, so that kernels repeat; LOG_UOP_BUFF_SIZE",
        changes.uops_for_free,
    ),
    (
        "instructions for free",
        "fewer instructions: larger tiles, loads and stores at outer loops; HardwareConfig.fetch_buffer_depth",
        changes.issued_at_once,
    ),
    (
        "a GEMM core twice as large",
        "LOG_BLOCK_OUT, LOG_BATCH",
        changes.double_block,
    ),
)
"""Changes that any run can be asked about: the name of each, what to turn, and what it does to the model."""

_QUICK_MEMORY = (
    "memory that answers in one cycle",
    "memory_latency, or fewer and larger loads: load at an outer loop, larger tile_ci",
)


def _advice(model: RunModel, hardware: Mapping[str, object]) -> list[Advice]:
    """Return every change with its prediction."""
    width, latency = hardware.get("data_width", 64), hardware.get("memory_latency")
    made = [
        Advice(name, turn.replace("WIDTH", str(width)), change(model).cycles(), _setting(name, hardware))
        for name, turn, change in _CHANGES
    ]
    if isinstance(latency, int):
        made.append(Advice(*_QUICK_MEMORY, changes.other_latency(model, 1 - latency).cycles(), "memory_latency=1"))
    return made


def _setting(name: str, hardware: Mapping[str, object]) -> str | None:
    """Return the setting with which a change of the hardware can be tried, None if there is none."""
    width = hardware.get("data_width")
    if name == _WIDER and isinstance(width, int) and 2 * width in DATA_WIDTHS:
        return f"data_width={2 * width}"
    return None

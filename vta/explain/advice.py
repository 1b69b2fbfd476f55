"""What bounds a launch, and what would change it: each piece of advice with the cycles that it is predicted to save.

Imports ``vta.trace`` and what that stands on. Tests: tests/vta/explain/test_predictions.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from runtime.accounting import WORK, CycleAccount
from vta.explain import changes
from vta.explain.run_model import RunModel
from vta.trace import Recorded

__all__ = ["Advice", "Explanation", "explain"]


@dataclass(frozen=True, slots=True)
class Advice:
    """A change: its ``name``, the schedule parameter or configuration key to ``turn``, and the cycles after it."""

    name: str
    turn: str
    cycles: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """What bounds a launch of ``cycles``: ``bound`` in words, ``because`` in a sentence, and advice, best first."""

    cycles: int
    bound: str
    because: str
    advice: tuple[Advice, ...]


_BETWEEN = "the load and the compute module take turns: neither works while the other does"

_REASONS: Mapping[str, tuple[str, str]] = {
    "token_prev": ("loads", "compute waits for loaded data"),
    "token_next": ("stores", "compute waits for the store module to take results away"),
    "uop_load": ("micro-op loads", "compute waits for micro-ops"),
    "memory": ("accumulator loads", "compute waits for data that is loaded into the accumulator"),
    "hazard": ("hazards", "compute waits for its own earlier instructions, which touch the same accumulators"),
    "instruction": ("instruction fetch", "compute has nothing to do: instructions do not come fast enough"),
    "drain": ("drains", "compute waits for pipelines to empty"),
}
"""Cause in the compute module's account -> what bounds the run, and why."""


def explain(launch: Recorded, hardware: Mapping[str, object]) -> Explanation:
    """Explain a recorded launch; ``hardware`` is that of the trace's header.

    Raises ``ValueError`` for a device without a clock and for a launch that failed.
    """
    width = hardware.get("data_width")
    model = RunModel.of(launch, beat_bytes=width // 8 if isinstance(width, int) else 8)
    account = launch.timeline.account
    assert account is not None  # RunModel refuses launches without a clock
    bound, because = _bound(account)
    advice = [made for made in _advice(model, hardware) if made.cycles < model.cycles()]
    return Explanation(model.cycles(), bound, because, tuple(sorted(advice, key=lambda made: made.cycles)))


def _bound(account: CycleAccount) -> tuple[str, str]:
    """Return what most of the compute module's cycles went to, in words."""
    compute, load = account.modules["compute"], account.modules["load"]
    total = account.total("compute")
    cause = max(compute, key=lambda name: compute[name])
    share = f"{100 * compute[cause] / total:.0f} % of the cycles"
    if cause == WORK:
        return "compute", f"the compute module works in {share}"
    bound, reason = _REASONS.get(cause, (cause, f"compute waits: {cause}"))
    if cause != "token_prev":
        return bound, f"{reason} in {share}"
    busy = {name: load[name] for name in (WORK, "memory", "token_next")}
    match max(busy, key=lambda name: busy[name]):
        case "memory":
            return "memory latency", f"{reason} in {share}, and the load module for memory to answer"
        case "token_next":
            return "tokens", f"{reason} in {share}: {_BETWEEN}"
        case _:
            return "memory bandwidth", f"{reason} in {share}, and the load module moves data all the time"


def _advice(model: RunModel, hardware: Mapping[str, object]) -> list[Advice]:
    """Return every change with its prediction."""
    latency = hardware.get("memory_latency")
    faster = 1 - latency if isinstance(latency, int) else 0
    width = hardware.get("data_width", 64)
    tried: list[tuple[str, str, Callable[[RunModel], RunModel]]] = [
        (
            "memory port twice as wide",
            f"HardwareConfig.data_width ({width}), or fewer bytes: larger tile_h, tile_w, tile_co reuse what is loaded",
            lambda m: changes.wider_memory(m, 2),
        ),
        (
            "memory that answers in one cycle",
            "memory_latency, or fewer and larger loads: load at an outer loop, larger tile_ci",
            lambda m: changes.other_latency(m, faster),
        ),
        (
            "one more buffer for loads",
            "a virtual thread more: oc_nthread or h_nthread, `cthread` in te (needs room for another tile)",
            changes.buffered_again,
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
    ]
    return [Advice(name, turn, change(model).cycles()) for name, turn, change in tried]

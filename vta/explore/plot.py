"""A picture of cycles and area, by matplotlib: the points, and those that nothing beats. The ``plot`` extra.

Tests: tests/vta/explore/test_plot.py.
"""

from collections.abc import Sequence
from pathlib import Path

from vta.explore.study import Outcome, on_front
from vta.explore.sweep import ExploreError

__all__ = ["save_plot"]

_NAMED = 24
"""Names that a picture has room for."""


def save_plot(outcomes: Sequence[Outcome], title: str, file: Path) -> None:
    """Write a PNG; ``ExploreError`` without matplotlib, or if no outcome has both cycles and area."""
    try:
        from matplotlib.figure import Figure  # of the extra, and it takes long to load
    except ImportError:
        raise ExploreError(f"{file}: plots need matplotlib: pip install 'vta-toolchain[plot]'") from None
    known = [outcome for outcome in outcomes if outcome.costs is not None]
    if not known:
        raise ExploreError(f"{file}: no configuration has both cycles and area, so that there is nothing to draw")
    best = on_front(outcomes)
    figure = Figure(figsize=(11, 5.5), layout="constrained")
    axes, names = figure.subplots(1, 2, width_ratios=(3, 1.4))
    axes.set(xlabel="look-up tables", ylabel="cycles", title=title, xscale="log", yscale="log")
    axes.grid(visible=True, which="both", alpha=0.25)
    others = [outcome for outcome in known if outcome not in best]
    for chosen, colour, label in ((others, "#98a2b3", "others"), (best, "#d92d20", "nothing is better")):
        if chosen:
            places = [_place(outcome) for outcome in chosen]
            sizes = [20 + (outcome.number("bram") or 0) for outcome in chosen]
            axes.scatter(*zip(*places, strict=True), s=sizes, c=colour, alpha=0.6, label=label)
    for number, outcome in enumerate(best, 1):
        offset = (7, 4 + 9 * (number % 2))
        axes.annotate(str(number), _place(outcome), xytext=offset, textcoords="offset points", fontsize=8)
    axes.legend(title="area of a dot: block RAM", fontsize=8, title_fontsize=8)
    names.axis("off")
    lines = [f"{number}  {outcome.point.name}" for number, outcome in enumerate(best[:_NAMED], 1)]
    lines += [f"and {len(best) - _NAMED} more"] if len(best) > _NAMED else []
    names.text(0, 1, "\n".join(lines), va="top", fontsize=8, linespacing=1.6)
    figure.savefig(file, dpi=120, metadata={"Software": None})


def _place(outcome: Outcome) -> tuple[float, float]:
    return outcome.number("lut") or 0, outcome.number("cycles") or 0

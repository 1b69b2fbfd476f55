"""Calibrations that cannot be right are refused, with the layer and what to try.

Tests: tests/vta/quantize/calibrate/test_collapse.py.
"""

from collections.abc import Mapping

from vta.quantize.calibrate.observe import Observed
from vta.quantize.calibrate.ranges import Candidate
from vta.quantize.encoding import sqnr_db
from vta.quantize.errors import CalibrationError
from vta.quantize.plan import Plan

__all__ = ["refuse_collapsed", "refuse_flat"]

_LEAST_DB = 3.0
"""Less than that, and most of a tensor's energy is lost in int8, whatever its range."""


def refuse_flat(plan: Plan, observed: Mapping[str, Observed]) -> None:
    """Raise ``CalibrationError`` for a tensor that is not finite, or the same number everywhere on all data."""
    for name, each in observed.items():
        where = _where(plan, name)
        if not each.finite:
            raise CalibrationError(
                f"{where}: it has numbers that are not finite (inf or nan) on these data; "
                f"check the preprocessing (--mean, --std), or keep it in float with {_keep(plan, name)}"
            )
        low, high = min(each.seen.low, each.held.low), max(each.seen.high, each.held.high)
        if low == high and each.seen.seen > 1:
            raise CalibrationError(
                f"{where}: every one of its numbers is {low:g} on these data, so that there is no range to find; check "
                f"the preprocessing (--mean, --std), give other data, or keep it in float with {_keep(plan, name)}"
            )


def refuse_collapsed(plan: Plan, observed: Mapping[str, Observed], chosen: Mapping[str, Candidate]) -> None:
    """Raise ``CalibrationError`` for a tensor of which int8 keeps almost nothing."""
    for name, candidate in chosen.items():
        held = observed[name].held
        values, counts = held.filled()
        signal = float((values**2 * counts).sum() / counts.sum())
        found = sqnr_db(signal, candidate.noise)
        if found < _LEAST_DB:
            encoding = candidate.encoding
            raise CalibrationError(
                f"{_where(plan, name)}: its int8 form keeps almost nothing (signal to noise {found:.1f} dB with the "
                f"range {encoding.low:.3g} to {encoding.high:.3g}, while numbers go from {held.low:.3g} to "
                f"{held.high:.3g}); give more data or other ones, try --method percentile or --asymmetric, or keep it "
                f"in float with {_keep(plan, name)}"
            )


def _where(plan: Plan, name: str) -> str:
    made_by = plan.points[name].made_by
    return f"layer {made_by[-1]!r}" if made_by else f"input {name!r}"


def _keep(plan: Plan, name: str) -> str:
    made_by = plan.points[name].made_by
    return f"--keep {made_by[0]}" if made_by else "--keep and the names of the layers that read it"

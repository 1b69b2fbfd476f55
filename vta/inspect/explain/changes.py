"""Changes to a run whose effect a ``RunModel`` predicts: each returns the model of the changed run.

Tests: tests/vta/inspect/explain/test_run_model.py, tests/vta/inspect/explain/test_predictions.py.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from isa.instructions import Alu, Gemm, Load, MemoryId, Store
from isa.tokens import TokenQueue
from vta.inspect.explain.run_model import RunModel

__all__ = [
    "buffered_again",
    "double_block",
    "issued_at_once",
    "other_latency",
    "stored_aside",
    "stores_for_free",
    "uops_for_free",
    "wider_memory",
]

Mask = npt.NDArray[np.bool_]


def wider_memory(model: RunModel, factor: int) -> RunModel:
    """Return the run with a memory port ``factor`` times as wide: transfers need so many fewer beats."""
    return replace(model, beat_bytes=model.beat_bytes * factor)


def other_latency(model: RunModel, change: int) -> RunModel:
    """Return the run with a memory that answers ``change`` cycles later (earlier if negative)."""
    return replace(model, latency=max(model.latency + change, 1))


def buffered_again(model: RunModel) -> RunModel:
    """Return the run with one more buffer for loads: the load module may be one step further ahead.

    This is what a further virtual thread does, or double buffering where there was none.
    """
    return _lending(model, TokenQueue.COMPUTE_TO_LOAD)


def stored_aside(model: RunModel) -> RunModel:
    """Return the run with one more buffer for results: compute may go on while the results before are stored."""
    return _lending(model, TokenQueue.STORE_TO_COMPUTE)


def stores_for_free(model: RunModel) -> RunModel:
    """Return the run in which stores take no time."""
    return _without(model, _mask(model, Store))


def uops_for_free(model: RunModel) -> RunModel:
    """Return the run in which micro-ops are always there."""
    loads = [isinstance(i, Load) and i.memory == MemoryId.UOP for i in model.instructions]
    return _without(model, np.array(loads, np.bool_))


def issued_at_once(model: RunModel) -> RunModel:
    """Return the run in which instructions come one a cycle, as soon as there is room in their module's queue."""
    kept = tuple(transfer for transfer in model.transfers if transfer.owner >= 0)
    return replace(model, waits=tuple(replace(wait, fetch=0) for wait in model.waits), transfers=kept)


def double_block(model: RunModel) -> RunModel:
    """Return the run on a core with twice as many multipliers: GEMM instructions have half as many steps."""
    gemms = _mask(model, Gemm)
    return replace(model, work=np.where(gemms, -(-model.work // 2), model.work))


def _mask(model: RunModel, *kinds: type[Load] | type[Store] | type[Gemm] | type[Alu]) -> Mask:
    return np.array([isinstance(instruction, kinds) for instruction in model.instructions], np.bool_)


def _lending(model: RunModel, queue: TokenQueue) -> RunModel:
    """Return the run with a token more in ``queue`` from the beginning."""
    return replace(model, lent={**model.lent, queue: model.lent[queue] + 1})


def _without(model: RunModel, chosen: Mask) -> RunModel:
    kept = tuple(transfer for transfer in model.transfers if transfer.owner < 0 or not chosen[transfer.owner])
    return replace(model, work=np.where(chosen, 0, model.work), rest=np.where(chosen, 0, model.rest), transfers=kept)

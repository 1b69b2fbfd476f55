"""The critical path of a run: the chain of dependencies that ends with its last cycle, and what its cycles went to.

Every cycle of a launch belongs to one link of the chain, so the shares sum to the launch.
Tests: tests/vta/inspect/explain/test_critical_path.py.
"""

from collections import Counter
from collections.abc import Mapping
from enum import Enum

from isa.instructions import Alu, Gemm, Instruction, Load, MemoryId, Store
from vta.inspect.explain.events import begun, ended
from vta.inspect.explain.run_model import RunModel

__all__ = ["Share", "critical_path"]


class Share(Enum):
    """What cycles of a critical path went to."""

    COMPUTE = "GEMM and ALU"
    LOADS = "loads"
    ACC_LOADS = "accumulator loads"
    UOP_LOADS = "micro-op loads"
    STORES = "stores"
    TURNS = "taking turns"
    LATENCY = "memory latency"
    FETCH = "instruction fetch"
    PIPELINES = "starts and drains"


def critical_path(model: RunModel) -> Mapping[Share, int]:
    """Return the cycles of the critical path by what they went to; they sum to ``model.cycles()``.

    ``Share.TURNS`` is not among them: what taking turns costs is known only by comparison with a run without it.
    """
    times, count = model.times(), len(model.instructions)
    event = max((ended(index) for index in range(count)), key=times.times.__getitem__)
    shares: Counter[Share] = Counter()
    while event >= 0:
        cause = times.causes[event]
        spent = times.times[event] - (times.times[cause] if cause >= 0 else -1)
        busy, rest = _shares_of(model, event)
        work = min(_work(model, event), spent)
        shares.update({busy: work})
        # Further beats were waited for, not the memory, if those of the burst before came just then.
        shares.update({busy if cause >= 3 * count and cause != event - 1 else rest: spent - work})
        event = cause
    return {share: shares[share] for share in Share if shares[share]}


def _work(model: RunModel, event: int) -> int:
    """Return how many cycles of an event's lag are the work of its unit, or beats."""
    count = len(model.instructions)
    if event >= 3 * count:
        number, comes = divmod(event - 3 * count, 2)
        return model.beats(number) if comes else 0
    index = event // 3
    return int(model.work[index]) if event == ended(index) else 0


def _shares_of(model: RunModel, event: int) -> tuple[Share, Share]:
    """Return what the work and the rest of the cycles before an event count as."""
    count = len(model.instructions)
    if event >= 3 * count:
        transfer = model.transfers[(event - 3 * count) // 2]
        if transfer.owner < 0:
            return Share.FETCH, Share.FETCH
        return _shares(model.instructions[transfer.owner])
    index = event // 3
    if event == ended(index):
        return _shares(model.instructions[index])
    share = Share.PIPELINES if event == begun(index) else Share.FETCH
    return share, share


def _shares(instruction: Instruction) -> tuple[Share, Share]:
    """Return what the work and the rest of an instruction's step count as."""
    match instruction:
        case Gemm() | Alu():
            return Share.COMPUTE, Share.PIPELINES
        case Load(memory=MemoryId.UOP):
            return Share.UOP_LOADS, Share.UOP_LOADS
        case Load(memory=MemoryId.ACC):
            return Share.ACC_LOADS, Share.LATENCY
        case Load():
            return Share.LOADS, Share.LATENCY
        case Store():
            return Share.STORES, Share.LATENCY
        case _:
            return Share.PIPELINES, Share.PIPELINES

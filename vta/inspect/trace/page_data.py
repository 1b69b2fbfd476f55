"""The numbers that the HTML page shows, as JSON: launches with instructions, states, bursts, tokens, memories, roofs.

Tests: tests/vta/inspect/trace/test_page_data.py.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from isa.limits import Budget
from isa.text.disassembler import format_instruction
from runtime.observe.timeline import NEVER
from vta.inspect.trace.lanes import instruction_lanes
from vta.inspect.trace.model import Recorded, TraceHeader
from vta.inspect.trace.occupancy import SCRATCHPADS, occupancy
from vta.inspect.trace.roofline import roofline
from vta.inspect.trace.tokens import token_flows

__all__ = ["launch_data", "page_data"]

Json = dict[str, Any]

_INSTRUCTION, _STATE, _BURST = 1024, 64, 256
"""Bytes of memory for each of these on the page, as numbers and as text."""

_REST, _LEAST_REST = 8, 16
"""A failed launch is drawn an eighth longer than anything happened in it, and that is at least so many cycles."""


def page_data(header: TraceHeader, launches: Iterable[Recorded], budget: Budget | None = None) -> Json:
    """Return everything that the page shows; ``LimitError`` if that takes more than is left of ``budget``."""
    return {
        "device": header.device,
        "program": header.program,
        "bitstream": header.config.bitstream,
        "digest": header.config.digest,
        "hardware": dict(header.hardware),
        "versions": dict(header.versions),
        "launches": [launch_data(launch, header, budget) for launch in launches],
    }


def launch_data(launch: Recorded, header: TraceHeader, budget: Budget | None = None) -> Json:
    """Return one launch: columns of numbers, and tables of texts that they index."""
    timeline = launch.timeline
    if budget is not None:
        states = sum(len(states.begins) for states in timeline.states.values())
        cost = _INSTRUCTION * len(launch) + _STATE * states + _BURST * len(timeline.bursts)
        budget.spend(cost, f"launch {launch.number} on the page")
    account = None if timeline.account is None else {m: dict(c) for m, c in timeline.account.modules.items()}
    return {
        "number": launch.number,
        "node": launch.node,
        "duration": timeline.duration,
        "axis": _axis(launch),
        "clock": timeline.cycles is not None,
        "error": timeline.error,
        "account": account,
        "instructions": _instructions(launch),
        "states": {
            module: {"begins": states.begins.tolist(), "causes": list(states.causes)}
            for module, states in timeline.states.items()
        },
        "bursts": _bursts(launch),
        "tokens": _tokens(launch),
        "memories": _memories(launch),
        "roofline": _roofline(launch, header),
    }


def _axis(launch: Recorded) -> int:
    """Return how much of a launch is worth drawing: all of it, but of one that failed not the long wait at its end."""
    timeline = launch.timeline
    if timeline.error is None:
        return timeline.duration
    times = [timeline.begun, timeline.ended, timeline.bursts.begin, timeline.bursts.end]
    times += [column for column in (timeline.issued, timeline.settled) if column is not None]
    times += [states.begins for states in timeline.states.values()]
    last = max((int(column.max()) for column in times if len(column)), default=0)
    return min(timeline.duration, last + max(last // _REST, _LEAST_REST))


def _instructions(launch: Recorded) -> Json:
    timeline = launch.timeline
    origins = list(dict.fromkeys(origin for origin in timeline.origins if origin is not None))
    places = {origin: at for at, origin in enumerate(origins)}
    count = launch.legal
    return {
        "text": [format_instruction(instruction, launch.config) for instruction in launch.instructions],
        "module": [module.name.lower() for module in launch.modules],
        "lane": _lanes(launch),
        "issued": None if timeline.issued is None else timeline.issued[:count].tolist(),
        "begun": timeline.begun[:count].tolist(),
        "ended": timeline.ended[:count].tolist(),
        "origin": [-1 if origin is None else places[origin] for origin in timeline.origins[:count]],
        "origins": [str(origin) for origin in origins],
        "calls": [origin.call for origin in origins],
    }


def _lanes(launch: Recorded) -> list[int]:
    """Return for each instruction the line of its module's track that it is drawn on; -1 if it did not begin."""
    chosen = instruction_lanes(launch)
    return [chosen.get(index, -1) for index in range(launch.legal)]


def _bursts(launch: Recorded) -> Json:
    bursts = launch.timeline.bursts
    done = np.flatnonzero(bursts.end != NEVER)
    columns = {name: getattr(bursts, name)[done].tolist() for name in ("begin", "end", "address", "nbytes", "client")}
    return {"clients": list(bursts.clients), **columns}


def _tokens(launch: Recorded) -> Json:
    flows = list(token_flows(launch))
    return {
        "queue": [flow.queue.value for flow in flows],
        "giver": [flow.giver for flow in flows],
        "taker": [-1 if flow.taker is None else flow.taker for flow in flows],
        "pushed": [int(launch.timeline.pushed(flow.queue)[flow.giver]) for flow in flows],
    }


def _memories(launch: Recorded) -> list[Json]:
    held = occupancy(launch)
    tables = []
    for memory in SCRATCHPADS:
        own = [item for item in held if item.memory == memory]
        columns = {name: [getattr(item, name) for item in own] for name in ("first", "last", "begin", "end", "writer")}
        readers = {"reader": [item.reader for item in own], "reads": [item.reads for item in own]}
        tables.append({"name": memory.name.lower(), "depth": launch.config.depth(memory), **columns, **readers})
    return tables


def _roofline(launch: Recorded, header: TraceHeader) -> Json | None:
    found = roofline(launch, header.hardware)
    if found is None:
        return None
    return {
        "peak": found.peak,
        "bandwidth": found.bandwidth,
        "macs": found.macs,
        "read": found.read,
        "written": found.written,
        "achieved": found.achieved,
        "intensity": found.intensity if found.nbytes else None,
        "attainable": found.attainable,
    }

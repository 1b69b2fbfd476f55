"""A launch in native code: fetch sorts the words into the module queues, run steps the queues in token order.

``fetch`` copies the words first, so a program that overwrites its own instructions runs as it was launched, and
refuses the whole launch if any word is illegal. ``run`` always executes the ready head with the smallest program
index; for a valid program that is program order. Pops happen together before an instruction, pushes after it.
Tests: ``tests/runtime/sim/test_tokens.py``, ``tests/runtime/sim/test_slices.py``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from isa.instructions import Deps, Module, Opcode
from isa.layout import instruction_layouts
from isa.tokens import TokenQueue, pops, pushes
from runtime.sim.decode import Fields
from runtime.sim.emit import I32, Emitter, Flag, Num, Variable
from runtime.sim.failures import Failing
from runtime.sim.geometry import Geometry
from runtime.sim.record import Failure, Status, head_field, token_field
from runtime.sim.slices import leave_no_place

__all__ = ["FETCH", "RUN", "emit_fetch", "emit_run", "token_flags"]

FETCH = "vta_fetch"
"""``fetch(arena, program)``: ``program`` is the host address of the ``count`` words; returns a ``Status``."""

RUN = "vta_run"
"""``run(arena)``: continues with what was fetched until ``stop_at`` instructions have run, or ``budget`` tensor
operations, in the middle of an instruction if need be (``runtime.sim.slices``); returns a ``Status``."""

_FLAGS: Mapping[Module, tuple[str, ...]] = {
    Module.LOAD: ("pop_next", "push_next"),
    Module.COMPUTE: ("pop_prev", "pop_next", "push_prev", "push_next"),
    Module.STORE: ("pop_prev", "push_prev"),
}
"""The flags that each module can have."""


def token_flags(module: Module) -> Iterator[tuple[str, TokenQueue]]:
    """Yield the flags of ``module`` by name, and the queue that each one pops or pushes."""
    for name in _FLAGS[module]:
        deps = Deps(**{name: True})
        (queue,) = (*pops(module, deps), *pushes(module, deps))
        yield name, queue


def emit_fetch(module: Any, geometry: Geometry, functions: Mapping[str, Any]) -> Any:
    """Write ``fetch``; ``functions`` has ``is_illegal`` and ``module_of``."""
    emit = Emitter(module, FETCH, ("arena", "program"), returns=True, exported=True)
    emit.arguments["index"] = emit.num(0)
    failing = Failing(emit)
    count, words, links = (failing.get(name) for name in ("count", "words", "next"))
    layout = instruction_layouts(geometry.config)["FINISH"]
    bad, failure = emit.variable(count), emit.variable()
    heads = {stage: emit.variable(count) for stage in Module}
    with emit.loop(count) as done:
        # From the last word to the first: each becomes the head in front of what follows.
        place = count - 1 - done
        low, high = _word(emit, emit.arguments["program"], place)
        emit.write(words + place * 16, low)
        emit.write(words + place * 16 + 8, high)
        stage = emit.call(functions["module_of"], low)
        for candidate, head in heads.items():
            with emit.when(stage.equals(candidate)):
                emit.write(links + place * 4, head.num, I32)
                head.assign(place)
        is_finish = Fields(layout, (low, high))["opcode"].equals(Opcode.FINISH)
        is_last = place.equals(count - 1)
        for wrong, kind in (
            (is_last & ~is_finish, Failure.NO_FINISH),
            (is_finish & ~is_last, Failure.NOT_LAST),
            (emit.call(functions["is_illegal"], low, high).differs(0), Failure.ILLEGAL_WORD),
        ):
            with emit.when(wrong):
                bad.assign(place)
                failure.assign(int(kind))
    _put_start(failing, heads)
    with emit.when(bad.num < count):
        failing.put("failure", failure.num)
        failing.put("index", bad.num)
        failing.put("limit", count)
        emit.give(Status.FAILED)
    return emit.finish(Status.DONE)


def _put_start(failing: Failing, heads: Mapping[Module, Variable]) -> None:
    """Record the module queues of a launch of which nothing ran yet."""
    for module, head in heads.items():
        failing.put(head_field(module), head.num)
    for queue in TokenQueue:
        failing.put(token_field(queue), 0)
    failing.put("executed", 0)
    leave_no_place(failing)


@dataclass(frozen=True, slots=True)
class _Head:
    """The next instruction of a module: its index, low word, and whether it can go."""

    module: Module
    index: Num
    ready: Flag


def emit_run(module: Any, geometry: Geometry, functions: Mapping[str, Any]) -> Any:
    """Write ``run``; ``functions`` has ``module_of`` and, by ``Opcode`` name, what executes an instruction."""
    emit = Emitter(module, RUN, ("arena",), returns=True, exported=True)
    emit.arguments["index"] = emit.num(0)
    failing = Failing(emit)
    count, words, links, order = (failing.get(name) for name in ("count", "words", "next", "order"))
    executed, last = emit.variable(failing.get("executed")), failing.get("stop_at").minimum(count)
    inside = emit.variable(failing.get("inside"))  # the instruction that was left in the middle, and 1; then 0
    with emit.repeat() as loop:
        loop.stop_unless((executed.num < last) & failing.get("budget").differs(0))
        chosen = count
        for head in _heads(emit, failing, geometry, words, count):
            chosen = (head.ready & (head.index < chosen)).select(head.index, chosen)
        is_new = inside.num.equals(0)
        chosen = is_new.select(chosen, inside.num - 1)
        with emit.when(chosen.equals(count)):
            emit.give(Status.DEADLOCK)
        low, high = _word(emit, words, chosen)
        fields = Fields(instruction_layouts(geometry.config)["LOAD"], (low, high))
        stage = emit.call(functions["module_of"], low)
        with emit.when(is_new):
            _move_tokens(emit, failing, fields, stage, "pop")
        status = _execute(emit, failing, functions, fields["opcode"], chosen, low, high)
        with emit.when(status.differs(Status.DONE)):
            with emit.when(status.equals(Status.PAUSED)):
                failing.put("inside", chosen + 1)
            emit.give(status)
        with emit.when(~is_new):
            leave_no_place(failing)
            inside.assign(0)
        _move_tokens(emit, failing, fields, stage, "push")
        for candidate in Module:
            with emit.when(stage.equals(candidate)):
                failing.put(head_field(candidate), emit.read(links + chosen * 4, I32))
        emit.write(order + executed.num * 4, chosen, I32)
        executed.assign(executed.num + 1)
        failing.put("executed", executed.num)
    return emit.finish(executed.num.equals(count).select(Status.DONE, Status.PAUSED))


def _heads(emit: Emitter, failing: Failing, geometry: Geometry, words: Num, count: Num) -> list[_Head]:
    layout = instruction_layouts(geometry.config)["LOAD"]
    heads = []
    for stage in Module:
        index = failing.get(head_field(stage))
        # The index of a module that is through is the count, where the buffer has room for one more word.
        fields = Fields(layout, _word(emit, words, index))
        ready = index < count
        for flag, queue in token_flags(stage):
            if flag.startswith("pop"):
                ready = ready & (failing.get(token_field(queue)) >= fields[flag])
        heads.append(_Head(stage, index, ready))
    return heads


def _move_tokens(emit: Emitter, failing: Failing, fields: Fields, stage: Num, direction: str) -> None:
    for candidate in Module:
        with emit.when(stage.equals(candidate)):
            for flag, queue in token_flags(candidate):
                if not flag.startswith(direction):
                    continue
                tokens = failing.get(token_field(queue))
                failing.put(token_field(queue), tokens - fields[flag] if direction == "pop" else tokens + fields[flag])


def _execute(
    emit: Emitter, failing: Failing, functions: Mapping[str, Any], opcode: Num, index: Num, low: Num, high: Num
) -> Num:
    status = emit.variable(Status.DONE)
    for name in ("LOAD", "STORE", "GEMM", "ALU"):
        with emit.when(opcode.equals(Opcode[name])):
            status.assign(emit.call(functions[name], emit.arguments["arena"], index, low, high))
    with emit.when(opcode.equals(Opcode.FINISH)):
        failing.count("finish", 1)
    return status.num


def _word(emit: Emitter, words: Num, index: Num) -> tuple[Num, Num]:
    at = words + index * 16
    return emit.read(at), emit.read(at + 8)

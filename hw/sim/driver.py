"""The loop over cycles, and where the regions lie in the one buffer that holds a simulation's whole state.

A cycle: partitions whose inputs have changed settle the design; those that write memories act if they are awake; hooks
run; the next values of the registers of every partition that ran become current, which wakes their readers for the
next cycle. Whoever enters the code wakes everybody, so state may be changed freely in between.
Tests: ``tests/hw/sim/test_design.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from hw.sim.commit import commit_text
from hw.sim.effects import STOP
from hw.sim.layout import Layout, Region
from hw.sim.text import MASK, Function

__all__ = ["CYCLES", "WATCH", "Regions", "module_text"]

CYCLES, WATCH, NOTING = 0, 24, 32
"""Offsets in ``aux``: cycles since power-on; offset in ``io`` of the byte that ends ``run`` when it is not zero; number
of the hooks that take notes."""

_GROUP = 8
"""Partitions behind one test."""

_METADATA = '!0 = !{!"branch_weights", i32 1, i32 1000}\n'


@dataclass(frozen=True, slots=True)
class Regions:
    """Byte offsets in the buffer, and its size.

    io, the inputs as they were last seen, registers, their next values, memories, aux.
    """

    io: int
    seen: int
    state: int
    following: int
    memory: int
    aux: int
    size: int

    @classmethod
    def of(cls, layout: Layout, aux: Region) -> "Regions":
        """Return the regions for these contents, one behind the other."""
        starts: list[int] = []
        size = 0
        for region in (layout.io, layout.io, layout.state, layout.state, layout.memory, aux):
            starts.append(size)
            size += region.total()
        io, seen, state, following, memory, last = starts
        return cls(io, seen, state, following, memory, last, size)


def module_text(
    layout: Layout,
    regions: Regions,
    settle: Sequence[Function],
    edge: Sequence[Function],
    hooks: Sequence[tuple[Function, bool]],
) -> str:
    """Return the module with the entry points ``settle(buffer)`` and ``run(buffer, cycles)``.

    ``run`` returns the cycles it stepped; it ends early before a cycle in which the watched byte is set, and behind one
    that set STOP. Partitions are numbered in the order of ``settle``, then ``edge``; ``hooks`` go with whether they run
    only while notes are taken.
    """
    count = len(settle) + len(edge)
    commits = [commit_text(f"commit_{number}", groups) for number, groups in sorted(layout.register_groups.items())]
    text = "".join(
        (
            *(fn.text() for fn in (*settle, *edge, *(hook for hook, _ in hooks))),
            *commits,
            commit_text("inputs", layout.input_groups),
            _settle_text(regions, settle),
            _run_text(layout, regions, settle, edge, hooks),
            _METADATA,
        )
    )
    return text.replace(MASK, f"i{max(64, -(-count // 64) * 64)}")


_ARGUMENTS = "ptr %io, ptr %cur, ptr %nxt, ptr %mem, ptr %aux"


def _places(regions: Regions) -> str:
    names = {
        "io": regions.io,
        "seen": regions.seen,
        "cur": regions.state,
        "nxt": regions.following,
        "mem": regions.memory,
        "aux": regions.aux,
    }
    return "\n".join(f"  %{name} = getelementptr i8, ptr %buffer, i64 {at}" for name, at in names.items())


def _settle_text(regions: Regions, settle: Sequence[Function]) -> str:
    """Return the function that settles everything, what is only noted included."""
    calls = "\n".join(f"  %r{fn.number} = call {MASK} @{fn.name}({_ARGUMENTS})" for fn in settle)
    return f"""\
define void @settle(ptr %buffer) {{
{_places(regions)}
  %noting_at = getelementptr i8, ptr %aux, i64 {NOTING}
  %noting = load i64, ptr %noting_at
  store i64 1, ptr %noting_at
{calls}
  store i64 %noting, ptr %noting_at
  ret void
}}
"""


def _if_any(partitions: int, variable: str, label: str, body: str) -> str:
    """Return code that runs ``body`` if any of a set of partitions is in the one that ``variable`` points to."""
    return f"""\
  %{label}_set = load {MASK}, ptr %{variable}
  %{label}_bit = and {MASK} %{label}_set, {partitions}
  %{label}_in = icmp ne {MASK} %{label}_bit, 0
  br i1 %{label}_in, label %{label}_do, label %{label}_end
{label}_do:
{body}
  br label %{label}_end
{label}_end:
"""


def _in_groups(numbers: Sequence[int], variable: str, label: str, code: Callable[[int], str]) -> str:
    """Return ``code`` of all partitions, a few behind one test that skips them if all of them sleep."""
    text = ""
    for start in range(0, len(numbers), _GROUP):
        group = numbers[start : start + _GROUP]
        text += _if_any(sum(1 << k for k in group), variable, f"{label}{start}", "".join(map(code, group)))
    return text


def _step(fn: Function) -> str:
    """Return code that runs a partition if it is awake, notes that it has run, and wakes those that must follow."""
    label = f"p{fn.number}"
    bit = 1 << fn.number
    return _if_any(
        bit,
        "awake",
        label,
        f"""\
  %{label}_result = call {MASK} @{fn.name}({_ARGUMENTS})
  %{label}_others = xor {MASK} %{label}_set, {bit}
  %{label}_awake = or {MASK} %{label}_others, %{label}_result
  store {MASK} %{label}_awake, ptr %awake
  %{label}_before = load {MASK}, ptr %ran
  %{label}_ran = or {MASK} %{label}_before, {bit}
  store {MASK} %{label}_ran, ptr %ran""",
    )


def _commit(number: int) -> str:
    """Return code that commits the registers of a partition that has run."""
    label = f"c{number}"
    return _if_any(
        1 << number,
        "ran",
        label,
        f"""\
  %{label}_result = call {MASK} @commit_{number}(ptr %cur, ptr %nxt)
  %{label}_before = load {MASK}, ptr %awake
  %{label}_awake = or {MASK} %{label}_before, %{label}_result
  store {MASK} %{label}_awake, ptr %awake""",
    )


def _hook_calls(hooks: Sequence[tuple[Function, bool]]) -> str:
    """Return the calls of the hooks in order; neighbours that only take notes are skipped together."""
    text = ""
    for number, (sleeps, group) in enumerate(groupby(hooks, key=lambda item: item[1])):
        calls = "".join(f"  call {MASK} @{fn.name}({_ARGUMENTS})\n" for fn, _ in group)
        if sleeps:
            text += f"  br i1 %notes, label %note_{number}, label %noted_{number}\nnote_{number}:\n"
            calls += f"  br label %noted_{number}\nnoted_{number}:\n"
        text += calls
    return text


def _run_text(
    layout: Layout,
    regions: Regions,
    settle: Sequence[Function],
    edge: Sequence[Function],
    hooks: Sequence[tuple[Function, bool]],
) -> str:
    everybody = (1 << (len(settle) + len(edge))) - 1
    steps = {fn.number: _step(fn) for fn in (*settle, *edge)}
    settling = _in_groups([fn.number for fn in settle], "awake", "s", steps.__getitem__)
    writing = _in_groups([fn.number for fn in edge], "awake", "e", steps.__getitem__)
    committing = _in_groups(sorted(layout.register_groups), "ran", "g", _commit)
    return f"""\
define i64 @run(ptr %buffer, i64 %cycles) {{
entry:
{_places(regions)}
  %awake = alloca {MASK}
  %ran = alloca {MASK}
  store {MASK} {everybody}, ptr %awake
  store {MASK} 0, ptr %ran
  %total_at = getelementptr i8, ptr %aux, i64 {CYCLES}
  %stop_at = getelementptr i8, ptr %aux, i64 {STOP}
  %watch_at = getelementptr i8, ptr %aux, i64 {WATCH}
  %watch = load i64, ptr %watch_at
  %watched = getelementptr i8, ptr %io, i64 %watch
  %before = load i64, ptr %total_at
  %noting_at = getelementptr i8, ptr %aux, i64 {NOTING}
  %noting = load i64, ptr %noting_at
  %notes = icmp ne i64 %noting, 0
  call void @llvm.memcpy.p0.p0.i64(ptr %nxt, ptr %cur, i64 {layout.state.total()}, i1 false)
  br label %head
head:
  %done = phi i64 [ 0, %entry ], [ %next, %again ]
  %more = icmp ult i64 %done, %cycles
  br i1 %more, label %begin, label %leave
begin:
  %fresh = call {MASK} @inputs(ptr %seen, ptr %io)
  %sleepers = load {MASK}, ptr %awake
  %woken = or {MASK} %sleepers, %fresh
  store {MASK} %woken, ptr %awake
{settling}
  br label %settled
settled:
  %shown = load i8, ptr %watched
  %high = icmp ne i8 %shown, 0
  br i1 %high, label %leave, label %edge
edge:
{writing}
{_hook_calls(hooks)}
{committing}
  br label %committed
committed:
  store {MASK} 0, ptr %ran
  %next = add i64 %done, 1
  %total = add i64 %before, %next
  store i64 %total, ptr %total_at
  %stop = load i64, ptr %stop_at
  %go = icmp eq i64 %stop, 0
  br i1 %go, label %again, label %leave
again:
  br label %head
leave:
  %stepped = phi i64 [ %done, %head ], [ %done, %settled ], [ %next, %committed ]
  ret i64 %stepped
}}
"""

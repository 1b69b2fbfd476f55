"""The loop over cycles, and where the regions lie in the one buffer that holds a simulation's whole state.

A cycle: partitions whose inputs have changed settle the design; those that write memories act if they are awake; hooks
run; the next values of the registers of every partition that ran become current, which wakes their readers for the
next cycle. Whoever enters the code wakes everybody, so state may be changed freely in between.
Tests: ``tests/hw/sim/run``, ``tests/hw/sim/logs``.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from hw.sim.translate.commit import commit_text
from hw.sim.translate.effects import STOP
from hw.sim.translate.layout import Region, StateLayout
from hw.sim.translate.text import MASK, Function

__all__ = ["CYCLES", "WATCH", "Regions", "module_text"]

CYCLES, WATCH, NOTING = 0, 24, 32
"""Offsets in ``aux``: cycles since power-on; offset in ``io`` of the byte that ends ``run`` when it is not zero; number
of the hooks that take notes."""

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
    def of(cls, layout: StateLayout, aux: Region) -> "Regions":
        """Return the regions for these contents, one after the other."""
        starts: list[int] = []
        size = 0
        for region in (
            layout.io,
            layout.io,
            layout.state,
            layout.state,
            layout.memory,
            aux,
        ):
            starts.append(size)
            size += region.total()
        io, seen, state, following, memory, last = starts
        return cls(io, seen, state, following, memory, last, size)


def module_text(
    layout: StateLayout,
    regions: Regions,
    settle: Sequence[Function],
    edge: Sequence[Function],
    hooks: Sequence[tuple[Function, bool]],
    noting: Collection[int],
) -> str:
    """Return the module with the entry points ``settle(buffer)`` and ``run(buffer, cycles)``.

    ``run`` returns the cycles it stepped; it ends early before a cycle in which the watched byte is set, and after one
    that set STOP. Partitions are numbered in the order of ``settle``, then ``edge``; ``hooks`` go with whether they run
    only while notes are taken, as do the partitions ``noting``.
    """
    count = len(settle) + len(edge)
    commits = [commit_text(f"commit_{number}", groups) for number, groups in sorted(layout.register_groups.items())]
    text = "".join(
        (
            *(fn.text() for fn in (*settle, *edge, *(hook for hook, _ in hooks))),
            *commits,
            commit_text("inputs", layout.input_groups),
            _table("partitions", count, {fn.number: fn.name for fn in (*settle, *edge)}),
            _table(
                "commits",
                count,
                {number: f"commit_{number}" for number in layout.register_groups},
            ),
            _settle_text(regions, settle),
            _run_text(layout, regions, settle, edge, hooks, noting),
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
{calls}
  ret void
}}
"""


def _table(name: str, size: int, functions: Mapping[int, str]) -> str:
    """Return a constant with the address of a function for each partition that has one."""
    entries = ", ".join(f"ptr @{functions[k]}" if k in functions else "ptr null" for k in range(size))
    return f"@{name} = internal unnamed_addr constant [{size} x ptr] [{entries}]\n"


def _loop(label: str, word: int, table: str, arguments: str, taken: str, note: str = "") -> str:
    """Return code that calls the partitions of 64-bit ``word`` that ``taken`` leaves in %LABEL_left, lowest first.

    ``taken`` is evaluated before each call; ``note`` after it, with the partition's bit in %LABEL_bit. Those that a
    call wakes are added to the awake ones. One call in a loop: code that runs in every cycle must fit into a cache.
    """
    return f"""\
  br label %{label}
{label}:
{taken}
  %{label}_none = icmp eq i64 %{label}_left, 0
  br i1 %{label}_none, label %{label}_end, label %{label}_do
{label}_do:
  %{label}_minus = sub i64 0, %{label}_left
  %{label}_bit = and i64 %{label}_left, %{label}_minus
  %{label}_place = call i64 @llvm.cttz.i64(i64 %{label}_left, i1 true)
  %{label}_entry = getelementptr ptr, ptr @{table}, i64 %{label}_place
  %{label}_skip = getelementptr ptr, ptr %{label}_entry, i64 {64 * word}
  %{label}_function = load ptr, ptr %{label}_skip
{note}
  %{label}_woken = call {MASK} %{label}_function({arguments})
  %{label}_before = load {MASK}, ptr %awake
  %{label}_after = or {MASK} %{label}_before, %{label}_woken
  store {MASK} %{label}_after, ptr %awake
  br label %{label}
{label}_end:
"""


def _word(numbers: Iterable[int], word: int) -> int:
    """Return the bits of partitions in a 64-bit word of a set."""
    return sum(1 << (number - 64 * word) for number in numbers if number // 64 == word)


def _chosen(numbers: Sequence[int], noting: Collection[int], words: int) -> str:
    """Return code that leaves the partitions ``noting`` asleep during a whole run, unless notes are taken in it."""
    quiet = [number for number in numbers if number not in noting]
    return "\n".join(
        f"  %chosen_{word} = select i1 %notes, i64 {_word(numbers, word)}, i64 {_word(quiet, word)}"
        for word in range(words)
    )


def _settling(numbers: Sequence[int], words: int) -> str:
    """Return code that runs what is awake of %chosen_WORD, in order; partitions only wake later ones."""
    text = ""
    for word in range(words):
        label = f"s{word}"
        if not _word(numbers, word):
            continue
        taken = f"""\
  %{label}_set = load i64, ptr %awake_{word}
  %{label}_left = and i64 %{label}_set, %chosen_{word}"""
        note = f"""\
  %{label}_others = xor i64 %{label}_set, %{label}_bit
  store i64 %{label}_others, ptr %awake_{word}
  %{label}_ran = load i64, ptr %ran_{word}
  %{label}_run = or i64 %{label}_ran, %{label}_bit
  store i64 %{label}_run, ptr %ran_{word}"""
        text += _loop(label, word, "partitions", _ARGUMENTS, taken, note)
    return text


def _from_set(
    label: str,
    word: int,
    numbers: Sequence[int],
    variable: str,
    table: str,
    arguments: str,
) -> str:
    """Return code that takes partitions out of a set and then calls them, whomever they wake."""
    chosen = _word(numbers, word)
    if not chosen:
        return ""
    begin = f"""\
  %{label}_set = load i64, ptr %{variable}_{word}
  %{label}_all = and i64 %{label}_set, {chosen}
  %{label}_kept = xor i64 %{label}_set, %{label}_all
  store i64 %{label}_kept, ptr %{variable}_{word}
  br label %{label}_begin
{label}_begin:
"""
    taken = f"  %{label}_left = phi i64 [ %{label}_all, %{label}_begin ], [ %{label}_next, %{label}_do ]"
    note = f"  %{label}_next = xor i64 %{label}_left, %{label}_bit"
    return begin + _loop(label, word, table, arguments, taken, note)


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


def _entry_text(count: int, state_bytes: int) -> str:
    """Return how ``run`` begins: all ``count`` partitions are awake, and next values are the current ones."""
    parts = "\n".join(
        f"  %{name}_{word} = getelementptr i64, ptr %{name}, i64 {word}"
        for name in ("awake", "ran")
        for word in range(-(-count // 64))
    )
    return f"""\
  %awake = alloca {MASK}
  %ran = alloca {MASK}
  store {MASK} {(1 << count) - 1}, ptr %awake
  store {MASK} 0, ptr %ran
{parts}
  %total_at = getelementptr i8, ptr %aux, i64 {CYCLES}
  %stop_at = getelementptr i8, ptr %aux, i64 {STOP}
  %watch_at = getelementptr i8, ptr %aux, i64 {WATCH}
  %watch = load i64, ptr %watch_at
  %watched = getelementptr i8, ptr %io, i64 %watch
  %before = load i64, ptr %total_at
  %noting_at = getelementptr i8, ptr %aux, i64 {NOTING}
  %noting = load i64, ptr %noting_at
  %notes = icmp ne i64 %noting, 0
  call void @llvm.memcpy.p0.p0.i64(ptr %nxt, ptr %cur, i64 {state_bytes}, i1 false)"""


def _run_text(
    layout: StateLayout,
    regions: Regions,
    settle: Sequence[Function],
    edge: Sequence[Function],
    hooks: Sequence[tuple[Function, bool]],
    noting: Collection[int],
) -> str:
    """Return the function that passes edges."""
    count = len(settle) + len(edge)
    words = -(-count // 64)
    settling = _settling([fn.number for fn in settle], words)
    chosen = _chosen([fn.number for fn in settle], noting, words)
    at_edge, committed = [fn.number for fn in edge], list(layout.register_groups)
    writing = "".join(_from_set(f"e{w}", w, at_edge, "awake", "partitions", _ARGUMENTS) for w in range(words))
    ends = "ptr %cur, ptr %nxt"
    committing = "".join(_from_set(f"c{w}", w, committed, "ran", "commits", ends) for w in range(words))
    return f"""\
define i64 @run(ptr %buffer, i64 %cycles) {{
entry:
{_places(regions)}
{_entry_text(count, layout.state.total())}
{chosen}
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

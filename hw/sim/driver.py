"""The loop over cycles, and where the regions lie in the one buffer that holds a simulation's whole state.

Tests: ``tests/hw/sim/test_design.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hw.sim.effects import STOP
from hw.sim.layout import Layout, Region
from hw.sim.text import FUNCTION_SIGNATURE

__all__ = ["CYCLES", "WATCH", "Regions", "driver_text"]

CYCLES, WATCH = 0, 24
"""Offsets in ``aux``: cycles since power-on; offset in ``io`` of the byte that ends ``run`` when it is not zero."""

_METADATA = """\
!0 = !{!"branch_weights", i32 1, i32 1000}
"""


@dataclass(frozen=True, slots=True)
class Regions:
    """Byte offsets in the buffer: io, registers, the other copy of the registers, memories, aux; and its size."""

    io: int
    state: int
    shadow: int
    memory: int
    aux: int
    size: int

    @classmethod
    def of(cls, layout: Layout, aux: Region) -> "Regions":
        """Return the regions for these contents, one behind the other."""
        starts: list[int] = []
        size = 0
        for region in (layout.io, layout.state, layout.state, layout.memory, aux):
            starts.append(size)
            size += region.total()
        io, state, shadow, memory, last = starts
        return cls(io, state, shadow, memory, last, size)

    @property
    def state_bytes(self) -> int:
        """Bytes of one copy of the registers."""
        return self.shadow - self.state


def driver_text(regions: Regions, settle: Sequence[str], edge: Sequence[str], after: Sequence[str]) -> str:
    """Return the entry points ``settle(buffer)`` and ``run(buffer, cycles)``, which returns the cycles it stepped.

    ``run`` ends early before a cycle in which the watched byte is set, and behind one that set STOP.
    """

    def calls(names: Sequence[str], current: str, after_edge: str) -> str:
        arguments = f"ptr %io, ptr {current}, ptr {after_edge}, ptr %mem, ptr %aux"
        return "\n".join(f"  call void @{name}({arguments})" for name in names)

    def places() -> str:
        names = {"io": regions.io, "a": regions.state, "b": regions.shadow, "mem": regions.memory, "aux": regions.aux}
        return "\n".join(f"  %{name} = getelementptr i8, ptr %buffer, i64 {at}" for name, at in names.items())

    assert FUNCTION_SIGNATURE.count("ptr") == 5
    return f"""\
define void @settle(ptr %buffer) {{
{places()}
{calls(settle, "%a", "%b")}
  ret void
}}

define i64 @run(ptr %buffer, i64 %cycles) {{
entry:
{places()}
  %total_at = getelementptr i8, ptr %aux, i64 {CYCLES}
  %stop_at = getelementptr i8, ptr %aux, i64 {STOP}
  %watch_at = getelementptr i8, ptr %aux, i64 {WATCH}
  %watch = load i64, ptr %watch_at
  %watched = getelementptr i8, ptr %io, i64 %watch
  %before = load i64, ptr %total_at
  br label %head
head:
  %done = phi i64 [ 0, %entry ], [ %next, %step ]
  %cur = phi ptr [ %a, %entry ], [ %nxt, %step ]
  %nxt = phi ptr [ %b, %entry ], [ %cur, %step ]
  %more = icmp ult i64 %done, %cycles
  br i1 %more, label %settle, label %finish
settle:
{calls(settle, "%cur", "%nxt")}
  %seen = load i8, ptr %watched
  %high = icmp ne i8 %seen, 0
  br i1 %high, label %finish, label %step
step:
{calls(edge, "%cur", "%nxt")}
{calls(after, "%cur", "%nxt")}
  %next = add i64 %done, 1
  %total = add i64 %before, %next
  store i64 %total, ptr %total_at
  %stop = load i64, ptr %stop_at
  %go = icmp eq i64 %stop, 0
  br i1 %go, label %head, label %stopped
stopped:
  br label %leave
finish:
  br label %leave
leave:
  %stepped = phi i64 [ %next, %stopped ], [ %done, %finish ]
  %now = phi ptr [ %nxt, %stopped ], [ %cur, %finish ]
  %moved = icmp ne ptr %now, %a
  br i1 %moved, label %copy, label %return
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %b, i64 {regions.state_bytes}, i1 false)
  br label %return
return:
  ret i64 %stepped
}}
{_METADATA}"""

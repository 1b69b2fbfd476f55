"""LLVM code that makes next values current and tells which partitions must run because of what changed.

Tests: ``tests/hw/sim/translate/test_commit.py``, ``tests/hw/sim/test_random_designs.py``, ``tests/hw/sim/run``.
"""

from collections.abc import Iterable

from hw.sim.translate.layout import Group
from hw.sim.translate.text import MASK

__all__ = ["commit_text"]

_CHUNKS = (8, 4, 2, 1)
"""64-bit words that one access moves."""


def commit_text(name: str, groups: Iterable[Group]) -> str:
    """Return the function ``name(old, new)``: copies groups from ``new`` to ``old``, returns the readers of changes."""
    lines: list[str] = []

    def op(text: str) -> str:
        lines.append(f"  %c{len(lines)} = {text}")
        return f"%c{len(lines) - 1}"

    total = "0"
    for group in groups:
        changed = "0"
        offset = group.offset
        while offset < group.offset + group.size:
            words = next(count for count in _CHUNKS if offset + 8 * count <= group.offset + group.size)
            kind = f"<{words} x i64>" if words > 1 else "i64"
            places = [op(f"getelementptr i8, ptr %{side}, i64 {offset}") for side in ("old", "new")]
            values = [op(f"load {kind}, ptr {place}, align 8") for place in places]
            lines.append(f"  store {kind} {values[1]}, ptr {places[0]}, align 8")
            different = op(f"xor {kind} {values[0]}, {values[1]}")
            if words > 1:
                different = op(f"call i64 @llvm.vector.reduce.or.v{words}i64({kind} {different})")
            changed = op(f"or i64 {changed}, {different}")
            offset += 8 * words
        wakes = sum(1 << reader for reader in group.readers)
        if wakes:
            chosen = op(f"select i1 {op(f'icmp ne i64 {changed}, 0')}, {MASK} {wakes}, {MASK} 0")
            total = op(f"or {MASK} {total}, {chosen}")
    body = "\n".join(lines)
    return (
        f"define internal {MASK} @{name}(ptr noalias %old, ptr noalias %new) noinline nounwind {{\n"
        f"{body}\n  ret {MASK} {total}\n}}\n"
    )

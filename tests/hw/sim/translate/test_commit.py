"""The commit of registers: every word of every group is moved once, in as few accesses as there can be."""

import re

import pytest

from hw.sim.translate.commit import commit_text
from hw.sim.translate.layout import Group

ACCESS = re.compile(r"%c\d+ = getelementptr i8, ptr %(old|new), i64 (\d+)")


def accesses(text: str) -> list[tuple[int, int]]:
    """(offset, words) of everything that is moved from ``new`` to ``old``."""
    lines = [line.strip() for line in text.splitlines()]
    places = {line.split()[0]: (match[1], int(match[2])) for line in lines if (match := ACCESS.match(line))}
    loads = {line.split()[0]: line for line in lines if " = load " in line}
    found = []
    for line in lines:
        if line.startswith("store"):
            kind, value, place = re.fullmatch(r"store (.+) (%c\d+), ptr (%c\d+), align 8", line).groups()  # type: ignore[union-attr]
            side, offset = places[place]
            assert side == "old"
            source = re.search(r"load (.+), ptr (%c\d+), align 8", loads[value])
            assert source is not None
            assert source[1] == kind
            assert places[source[2]] == ("new", offset)
            found.append((offset, 1 if kind == "i64" else int(kind.split()[0][1:])))
    return found


@pytest.mark.parametrize(
    ("size", "chunks"),
    [(8, [1]), (16, [2]), (24, [2, 1]), (32, [4]), (56, [4, 2, 1]), (64, [8]), (72, [8, 1]), (144, [8, 8, 2])],
)
def test_a_group_is_moved_in_its_largest_chunks_and_nothing_beside_it(size: int, chunks: list[int]) -> None:
    groups = [Group(64, size, frozenset({1})), Group(64 + size, 8, frozenset({0, 3})), Group(512, size, frozenset())]
    found = accesses(commit_text("commit", groups))
    assert [words for _, words in found] == [*chunks, 1, *chunks]
    moved = [byte for offset, words in found for byte in range(offset, offset + 8 * words)]
    assert moved == [*range(64, 64 + size + 8), *range(512, 512 + size)]


def test_the_readers_of_a_group_wake_if_it_changes() -> None:
    groups = [Group(0, 8, frozenset({1})), Group(8, 16, frozenset({0, 3})), Group(24, 8, frozenset())]
    text = commit_text("commit", groups)
    assert re.findall(r"select i1 %c\d+, i@ (\d+), i@ 0", text) == ["2", "9"]
    assert text.count("icmp ne i64") == 2
    assert text.count("reduce.or.v2i64") == 1


def test_nothing_to_move_wakes_nobody() -> None:
    assert "ret i@ 0" in commit_text("commit", [])

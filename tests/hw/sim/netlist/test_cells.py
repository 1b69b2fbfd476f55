"""How a value is taken apart: into the longest runs and stretches, against a search that knows only what one is."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from hw.sim.netlist.cells import Run, Value, runs, segments


def net(cell: int, bit: int) -> int:
    return cell << 16 | bit


@st.composite
def values(draw: st.DrawFn) -> Value:
    """Constants, bits of few cells in order and out of it, and bits that are repeated, side by side."""
    value: list[int] = []
    for _ in range(draw(st.integers(0, 6))):
        length = draw(st.integers(1, 5))
        match draw(st.sampled_from(["constant", "run", "repeated", "any"])):
            case "constant":
                value += draw(st.lists(st.integers(0, 1), min_size=length, max_size=length))
            case "run":
                cell, bit = draw(st.integers(1, 2)), draw(st.integers(0, 3))
                value += [net(cell, bit + place) for place in range(length)]
            case "repeated":
                value += [net(draw(st.integers(1, 2)), draw(st.integers(0, 3)))] * length
            case _:
                value += [net(draw(st.integers(1, 2)), draw(st.integers(0, 3))) for _ in range(length)]
    return tuple(value)


def is_run(bits: Value) -> bool:
    return all(bit in (0, 1) for bit in bits) or (
        bits[0] > 1 and all(bit - bits[0] == place for place, bit in enumerate(bits))
    )


def is_segment(bits: Value) -> bool:
    """Whether bits are a run, or one of a cell whose top is there twice more at least."""
    repeats = next((place for place, bit in enumerate(reversed(bits)) if bit != bits[-1]), len(bits)) - 1
    body = bits[: len(bits) - repeats]
    return is_run(bits) or (repeats >= 2 and bits[-1] > 1 and is_run(body))


def longest(value: Value, known: Callable[[Value], bool]) -> list[tuple[int, int]]:
    """Take from the bottom the longest stretch that is ``known``, again and again."""
    found, start = [], 0
    while start < len(value):
        end = max(end for end in range(start + 1, len(value) + 1) if known(value[start:end]))
        found.append((start, end))
        start = end
    return found


def read(run: Run) -> Value:
    if run.cell is None:
        assert run.start >> run.width == 0
        return tuple(run.start >> place & 1 for place in range(run.width))
    return tuple(net(run.cell, run.start + place) for place in range(run.width))


@given(values())
def test_runs_are_the_longest_and_have_every_bit(value: Value) -> None:
    found = list(runs(value))
    assert [(run.position, run.position + run.width) for run in found] == longest(value, is_run)
    assert tuple(bit for run in found for bit in read(run)) == value


@given(values())
def test_segments_are_the_longest_runs_with_their_sign(value: Value) -> None:
    assert list(segments(value)) == longest(value, is_segment)


def test_a_run_does_not_go_on_into_another_cell() -> None:
    assert list(runs((net(1, 0xFFFF), net(2, 0)))) == [Run(0, 1, 1, 0xFFFF), Run(1, 1, 2, 0)]

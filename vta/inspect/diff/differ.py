"""The first architectural difference: of engines that run one program, or of two programs on the reference.

Engines go in step, one instruction at a time; what each instruction may write is compared after it, everything now and
then. If they agree, the program runs at once on each of them, and a difference that only shows there is narrowed down
by running shorter and shorter beginnings. Tests: tests/vta/inspect/diff/test_differ.py.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from isa.errors import VTAError
from isa.program import Program
from isa.progress import counted
from isa.text.disassembler import format_instruction
from runtime.devices.device import DeadlockError, DeviceError, ExecutionError
from runtime.session import DEVICE_NAMES
from vta.inspect.diff.state import SPACES, Mismatch, Space, first_mismatch, space_written
from vta.inspect.diff.stepping import Engine, engine

__all__ = ["Comparison", "DiffError", "Difference", "EngineMaker", "describe", "diff_engines", "engines_by_name"]

_EVERY = 64
"""Instructions between two comparisons of everything."""

EngineMaker = Callable[[], Engine]


class DiffError(VTAError, ValueError):
    """Programs or engines that cannot be compared."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference: after instruction ``index`` (None: before the first one), in words.

    ``details`` are lines on what differs; ``overlapped`` is whether it only shows when modules overlap.
    """

    index: int | None
    instruction: str
    details: tuple[str, ...]
    mismatch: Mismatch | None = None
    overlapped: bool = False

    def __str__(self) -> str:
        """Return the lines of a report."""
        place = "before the first instruction" if self.index is None else f"at instruction {self.index}"
        head = f"first difference {place}{': ' if self.instruction else ''}{self.instruction}"
        note = ("it only shows where modules overlap, not one instruction at a time",) if self.overlapped else ()
        return "\n".join([head, *(f"  {line}" for line in (*self.details, *note))])


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of comparing: the first ``difference``, if any, and why no engine went on to the end, if so."""

    difference: Difference | None
    stopped: str = ""


def diff_engines(program: Program, makers: Sequence[EngineMaker]) -> Comparison:
    """Compare fresh engines on ``program``, the first of which is right."""
    steps = _in_step(program, [make() for make in makers], close_from=len(program.instructions))
    if steps.difference is not None:  # something may have gone wrong before, unseen, since all was compared last
        steps = _in_step(program, [make() for make in makers], close_from=steps.compared)
    if steps.difference is not None or steps.stopped:
        return Comparison(steps.difference, steps.stopped)
    return _at_once(program, makers)


def engines_by_name(program: Program, names: Sequence[str]) -> list[EngineMaker]:
    """Return what makes each engine; ``DiffError`` unless there are two different ones."""
    if len(set(names)) != len(names) or len(names) < 2:
        raise DiffError(
            f"two or more different engines are needed to compare, not {', '.join(names) or 'none'}; "
            f"the engines are {', '.join(DEVICE_NAMES)}"
        )
    return [functools.partial(engine, program, name) for name in names]


@dataclass(frozen=True, slots=True)
class _Steps:
    """How stepping ended; everything was found equal after the first ``compared`` instructions."""

    difference: Difference | None
    stopped: str
    compared: int


def _in_step(program: Program, engines: Sequence[Engine], *, close_from: int) -> _Steps:
    """Step through a program; from instruction ``close_from`` on, everything is compared after each step."""
    compared = 0
    for index, instruction in enumerate(counted(program.instructions, "comparing engines")):
        outcomes = [_outcome(functools.partial(engine.step, index)) for engine in engines]
        if any(outcomes):
            if len(set(outcomes)) == 1:
                return _Steps(None, f"instruction {index}: {outcomes[0]}", compared)
            return _Steps(_refused(program, index, engines, outcomes), "", compared)
        done = index + 1
        everything = index >= close_from or done % _EVERY == 0 or done == len(program.instructions)
        found = _compared(program, index, engines, SPACES if everything else space_written(instruction))
        if found is not None:
            return _Steps(found, "", compared)
        if everything:
            compared = done
    return _Steps(None, "", compared)


def _at_once(program: Program, makers: Sequence[EngineMaker]) -> Comparison:
    """Compare the engines on the whole program at once, then on ever shorter beginnings of it."""
    low, high = 0, len(program.instructions)
    whole = _beginning(program, makers, high)
    found = whole.difference
    if found is None:
        return whole
    while high - low > 1:
        middle = (low + high) // 2
        shorter = _beginning(program, makers, middle).difference
        if shorter is None:
            low = middle
        else:
            high, found = middle, shorter
    return Comparison(replace(found, overlapped=True))


def _beginning(program: Program, makers: Sequence[EngineMaker], count: int) -> Comparison:
    engines = [make() for make in makers]
    outcomes = [_outcome(functools.partial(engine.run, count)) for engine in engines]
    if len(set(outcomes)) > 1:
        return Comparison(_refused(program, count - 1, engines, outcomes))
    if outcomes[0]:  # how far modules got before is an engine's own affair
        return Comparison(None, outcomes[0])
    return Comparison(_compared(program, count - 1, engines, SPACES))


def _outcome(step: Callable[[], None]) -> str:
    """Return what an engine says to a step; nothing if it is done."""
    try:
        step()
    except ExecutionError as error:
        return str(error).partition(": ")[2]  # the place in the launch says nothing here
    except DeadlockError:
        return "deadlock"  # engines differ in what they can say about it
    except DeviceError as error:
        return str(error)
    return ""


def _refused(program: Program, index: int, engines: Sequence[Engine], outcomes: Sequence[str]) -> Difference:
    lines = [f"{e.name}: {outcome or 'goes on'}" for e, outcome in zip(engines, outcomes, strict=True)]
    return Difference(index, describe(program, index), tuple(lines))


def _compared(program: Program, index: int, engines: Sequence[Engine], spaces: Sequence[Space]) -> Difference | None:
    first, *rest = engines
    for space in spaces:
        expected = first.contents(space)
        for other in rest:
            mismatch = first_mismatch(space, expected, other.contents(space), program)
            if mismatch is not None:
                line = mismatch.text(first.name, other.name)
                return Difference(index, describe(program, index), (line,), mismatch)
    return None


def describe(program: Program, index: int) -> str:
    """Return an instruction as a line of assembly, and where it came from."""
    text = format_instruction(program.instructions[index], program.config)
    origin = program.origins[index]
    return text if origin is None else f"{text}  ; {origin}"

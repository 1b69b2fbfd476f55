"""``vta run`` of a program, as text or binary. Tests: tests/vta/cli/test_program_commands.py,
tests/vta/cli/test_program_arrays.py.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import typer

from isa.check.checker import Finding, Severity
from isa.check.checker import check as findings_of
from isa.config import VTAConfig
from isa.files.array_file import exactly, read_arrays
from isa.limits import Limits
from isa.printable import in_one_line, short
from isa.program import MemorySegment, Program
from isa.text.disassembler import disassemble
from runtime.memory.device_memory import FIRST_ADDRESS
from runtime.session import Session
from vta.cli.as_json import array_object
from vta.cli.capsule import packing
from vta.cli.commands.check import finding_objects
from vta.cli.options import given_config
from vta.cli.program_file import read_program_or_text
from vta.cli.reporting import UserError, counted, reported
from vta.cli.runs.statistics import print_statistics, statistics_objects
from vta.cli.runs.wishes import Wishes, save_outputs, trace_file, watched
from vta.cli.sanitizing import sanitized
from vta.cli.style import plain, say

__all__ = ["print_outputs", "run_program"]

Array = npt.NDArray[np.generic]


def run_program(file: Path, wishes: Wishes) -> dict[str, object]:
    """Run a program and print its outputs; return what ``--json`` says of it."""
    wishes.refuse(file, "a program", {" ".join(wishes.arguments): wishes.arguments, "--shape": wishes.shapes})
    wishes.settings.require_no_config(file)
    if wishes.board is None:
        config, asker = given_config(wishes.config), "--config"
    else:
        config, asker = wishes.configuration(), "--board"
    program, is_text = read_program_or_text(file, config=config, limits=wishes.limits, asker=asker)
    if not program.instructions:
        raise UserError(f"{file}: the program has no instructions; it needs FINISH at least, the line `finish`")
    program = _with_inputs(file, program, wishes.inputs, wishes.limits)
    if wishes.trace is not None:
        with trace_file(wishes.trace) as write:
            write(disassemble(program))
    found: Sequence[Finding] = ()
    if wishes.sanitize:
        found = sanitized([program], str(file))[0]
        if any(finding.severity is Severity.ERROR for finding in found):
            raise typer.Exit(1)
    elif wishes.check or (wishes.check is None and is_text):
        found = findings_of(program, first_address=FIRST_ADDRESS)
    with (
        _session(program.config, wishes) as session,
        reported(program=file),
        watched(session, file, wishes),
        packing(session, file, wishes.capsule) as capture,
    ):
        outputs = capture.run_program(program)
    save_outputs(wishes.save, outputs)
    if not wishes.sanitize:
        _note(file, found)
    statistics = session.device.stats
    if not wishes.as_json:
        print_outputs(file, outputs)
        if wishes.stats:
            print_statistics(statistics)
    saved = wishes.save is not None
    return {
        "device": session.device.name,
        "config": program.config.bitstream,
        "outputs": {name: array_object(array, saved=saved) for name, array in outputs.items()},
        **statistics_objects(statistics),
        "findings": finding_objects(0, found),
    }


def _session(config: VTAConfig, wishes: Wishes) -> AbstractContextManager[Session]:
    if wishes.board is not None:
        return wishes.board.session()
    return nullcontext(Session(config, wishes.target or config.target, setup=wishes.settings.setup))


def _note(file: Path, found: Sequence[Finding]) -> None:
    """Say, on stderr, that the checker objects to a program that ran."""
    errors = [finding for finding in found if finding.severity is Severity.ERROR]
    if errors:
        first = str(errors[0]).removeprefix("error: ")
        say(
            f"note: {file}: it ran, and `vta check` finds {counted(len(errors), 'error')} in it"
            f"{'; the first' if len(errors) > 1 else ''}: {first}",
            err=True,
        )


def print_outputs(file: Path, outputs: Mapping[str, Array]) -> None:
    """Print what a program computed."""
    for name, array in outputs.items():
        text = np.array2string(array, max_line_width=100, threshold=256)
        plain(f"{in_one_line(name)}: {array.dtype}{list(array.shape)}\n{text}")
    if not outputs:
        say(f"{file}: finished; the program names no output")


def _with_inputs(file: Path, program: Program, options: Sequence[str], limits: Limits) -> Program:
    """Return the program with the contents of regions replaced by arrays of files."""
    names = [segment.name for segment in program.memory.segments if segment.name]
    given: dict[str, tuple[Array, str]] = {}
    for option in options:
        name, equals, path = option.partition("=")
        if not equals:
            name, path = "", option
        for key, array in _named(path, name, names, limits).items():
            if key not in names:
                there = ", ".join(map(in_one_line, names)) or "none with a name"
                raise UserError(f"{file}: it has no data {short(key)} for --input {option}; its data: {there}")
            given[key] = (array, path)
    segments = tuple(
        _filled(segment, *given[segment.name]) if segment.name in given else segment
        for segment in program.memory.segments
    )
    return replace(program, memory=replace(program.memory, segments=segments)) if given else program


def _named(path: str, name: str, names: Sequence[str], limits: Limits) -> Mapping[str, Array]:
    """Return the arrays of a file by the names of data: that of the option, or their own ones."""
    arrays = read_arrays(path, limits=limits)
    if "" in arrays:
        if not name and len(names) != 1:
            raise UserError(f"{path}: it holds one array without a name; say which data it is, as --input NAME={path}")
        return {name or names[0]: arrays[""]}
    if not name:
        return arrays
    if name not in arrays:
        raise UserError(f"{path}: it has no array {short(name)}; its arrays: {', '.join(map(in_one_line, arrays))}")
    return {name: arrays[name]}


def _filled(segment: MemorySegment, array: Array, path: str) -> MemorySegment:
    if array.shape != segment.shape:
        raise UserError(f"{path}: data {short(segment.name)} has shape {segment.shape}, and the array {array.shape}")
    made = exactly(array, segment.dtype, f"{path}, for data {short(segment.name)},")
    return MemorySegment.from_array(segment.address, made, name=segment.name)

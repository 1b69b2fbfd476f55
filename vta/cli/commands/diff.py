"""``vta diff``: where engines, programs or traces differ first.

Tests: tests/vta/cli/test_diff.py.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from isa.instructions import Finish
from isa.limits import DEFAULT_LIMITS, Limits
from isa.program import Program
from runtime.drivers.built_board import BuiltBoard
from runtime.session import Session
from vta.cli.as_json import JsonOption, print_json
from vta.cli.compared import Compared
from vta.cli.networks import InputOption, ShapeOption, is_network
from vta.cli.options import ConfigOption, LimitsOption
from vta.cli.programs import one_program, programs_of
from vta.cli.reporting import UserError, counted, reported, require_file
from vta.cli.runs.boards import BoardOption, SerialOption, chosen_board, config_for
from vta.cli.style import say_each
from vta.inspect.diff.differ import diff_engines, engines_by_name
from vta.inspect.diff.program_diff import diff_programs
from vta.inspect.diff.trace_diff import diff_traces
from vta.inspect.trace.format import MAGIC
from vta.inspect.trace.reader import read_trace

__all__ = ["diff"]

_ENGINES = ("reference", "sim", "tsim")


def diff(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A program, a script, or a trace.")],
    other: Annotated[
        Path | None, typer.Argument(metavar="[OTHER]", help="A second one, to compare with instead of engines.")
    ] = None,
    engines: Annotated[
        str | None,
        typer.Option(
            "--engines",
            metavar="NAMES",
            help="Engines to compare; the first one is right (default: reference,sim,tsim; with --board, none).",
        ),
    ] = None,
    launch: Annotated[int, typer.Option("--launch", min=0, help="Which launch of two scripts to compare.")] = 0,
    config: ConfigOption = None,
    shape: ShapeOption = None,
    inputs: InputOption = None,
    as_json: JsonOption = False,
    max_memory: LimitsOption = DEFAULT_LIMITS,
    board: BoardOption = None,
    serial: SerialOption = None,
) -> None:
    """Run engines (or two programs) in step and stop at the first difference; exit code 1 if there is one.

    Of an ONNX model, every node is compared: on each engine, and on a board, with the integer graph, and that with
    onnxruntime.
    """
    with reported():
        chosen = chosen_board(board, serial, None)
        names = _ENGINES if engines is None else tuple(name.strip() for name in engines.split(","))
        if other is None and is_network(file):
            require_file(file, "an ONNX model")
            beside = () if engines is None and chosen is not None else names
            kind, found = "network", _network(file, beside, chosen, config, shape, inputs, max_memory)
        elif chosen is not None:
            raise typer.BadParameter(
                f"--board {chosen.folder} is for networks: a board's scratchpads cannot be seen after each instruction"
            )
        elif other is None:
            kind, found = "engines", _engines(file, names, config, max_memory)
        elif _is_trace(file) or _is_trace(other):
            kind, found = "traces", [_traces(file, other, max_memory)]
        else:
            programs = [one_program(each, config, launch, limits=max_memory) for each in (file, other)]
            kind, found = "programs", [_programs(file, programs[0], other, programs[1])]
        same = all(each.same for each in found)
        if as_json:
            comparisons = [each.as_object() for each in found]
            second = None if other is None else str(other)
            print_json(
                "diff", {"file": str(file), "other": second, "kind": kind, "same": same, "comparisons": comparisons}
            )
        else:
            say_each(each.text for each in found)
        if not same:
            raise typer.Exit(1)


def _network(
    file: Path,
    names: Sequence[str],
    board: BuiltBoard | None,
    config: Path | None,
    shapes: Sequence[str] | None,
    inputs: Sequence[str] | None,
    limits: Limits,
) -> list[Compared]:
    """Compare every node of a model on engines and on the board; the reference engine is the integer graph itself."""
    from vta.cli.network_run import diff_network  # and with it ONNX, which takes long to load

    engines: list[str | Session] = [name for name in names if name != "reference"]
    made_for = config_for(board, config, None)
    with ExitStack() as stack:
        if board is not None:
            engines.append(stack.enter_context(board.session()))
        return diff_network(file, made_for, engines, shapes, inputs, limits=limits)


def _engines(file: Path, names: Sequence[str], config: Path | None, limits: Limits) -> list[Compared]:
    """Compare engines on every program of a file, up to the first difference."""
    if _is_trace(file):
        raise UserError(f"{file}: a trace is compared with another trace; name two")
    programs, found = programs_of(file, config, limits=limits), list[Compared]()
    agreed = f"{', '.join(names)} agree"
    for number, program in enumerate(programs):
        what = f"launch {number}"
        place = str(file) if len(programs) == 1 else f"{file}, {what}"
        _require_end(program, place)
        result = diff_engines(program, engines_by_name(program, names))
        if result.difference is not None:
            text = f"{place}: {result.difference}"
            return [*found, Compared(what, same=False, text=text, instruction=result.difference.index)]
        if result.stopped:
            text = f"{place}: {agreed} up to where all of them stop: {result.stopped}"
        else:
            text = f"{place}: {agreed} on {counted(len(program.instructions), 'instruction')}"
        found.append(Compared(what, same=True, text=text))
    return found


def _require_end(program: Program, place: str) -> None:
    """Raise ``UserError`` unless the last instruction, and no other, is FINISH: no engine starts anything else."""
    finishes = [index for index, entry in enumerate(program.instructions) if isinstance(entry, Finish)]
    last = len(program.instructions) - 1
    if finishes != [last]:
        where = ", ".join(map(str, finishes[:3])) or "nowhere"
        raise UserError(f"{place}: no engine runs it: FINISH must be the last instruction, and is at: {where}")


def _programs(file: Path, first: Program, other: Path, second: Program) -> Compared:
    result = diff_programs(first, second)
    if result.difference is not None:
        text = f"{file} (the first) and {other} (the second): {result.difference}"
        return Compared("programs", same=False, text=text, instruction=result.difference.index)
    count = len(result.unequal)
    if not count:
        text = "the same instructions"
    else:
        are = "instructions are" if count > 1 else "instruction is"
        text = f"{count} {are} written differently, the first of them {result.unequal[0]}"
    return Compared("programs", same=True, text=f"{file} and {other} do the same; {text}")


def _traces(file: Path, other: Path, limits: Limits) -> Compared:
    with read_trace(file, limits=limits) as first, read_trace(other, limits=limits) as second:
        found = diff_traces(first, second)
        cut = [name for name, reader in (("first", first), ("second", second)) if not reader.whole]
    place = f"{file} (the first) and {other} (the second)"
    if found is not None:
        return Compared("traces", same=False, text=f"{place}: {found}")
    if len(cut) == 1:
        text = f"{place}: the recording of the {cut[0]} was cut off, the other was not"
        return Compared("traces", same=False, text=text)
    both = ", and both recordings were cut off" if cut else ""
    return Compared("traces", same=True, text=f"{file} and {other} hold the same launches at the same times{both}")


def _is_trace(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC

"""``vta explain``: what bounds a recorded run, and what would make it faster.

Tests: tests/vta/cli/test_explain_command.py.
"""

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from isa.limits import DEFAULT_LIMITS
from isa.printable import in_one_line
from vta.cli.account import account_table
from vta.cli.again import command_with
from vta.cli.as_json import JsonOption, print_json
from vta.cli.capsule import require_trace
from vta.cli.networks import InputOption, ShapeOption, is_network
from vta.cli.options import ConfigOption, LimitsOption, TargetOption
from vta.cli.reporting import UserError, reported, require_file
from vta.cli.runs.boards import BoardOption, SerialOption, chosen_board, config_for
from vta.cli.style import Screen, say
from vta.inspect.explain import ExplainError, Explanation, explain
from vta.inspect.trace import Recorded, TraceReader, read_trace
from vta.inspect.trace.model import TraceHeader

__all__ = ["explain_trace"]


def explain_trace(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A trace of tsim (`vta run --target tsim --record FILE`), or an ONNX model."
        ),
    ],
    launch: Annotated[int | None, typer.Option("--launch", metavar="N", help="Only launch N, counted from 0.")] = None,
    target: TargetOption = None,
    shape: ShapeOption = None,
    inputs: InputOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    max_memory: LimitsOption = DEFAULT_LIMITS,
    board: BoardOption = None,
    serial: SerialOption = None,
) -> None:
    """Say what bounds each launch of a trace, and which parameter would change it, with the predicted gain.

    A launch that failed gets a sentence, the others are explained. Of an ONNX model, say where every node runs, why,
    and what would change it; with --target tsim or --board, also what it costs.
    """
    with reported():
        if is_network(file):
            from vta.cli.network_run import explain_network  # and with it ONNX, which takes long to load

            require_file(file, "an ONNX model")
            chosen = chosen_board(board, serial, target)
            named = config_for(chosen, config, target)
            with nullcontext(target) if chosen is None else chosen.session() as place:
                explain_network(file, named, place, shape, inputs, as_json=as_json, limits=max_memory)
            return
        if board is not None or serial is not None:
            raise typer.BadParameter(f"--board is for networks, and {file} is explained from what was recorded")
        require_trace(file, "a trace that `vta run --target tsim --record FILE` wrote")
        told, refused = _Told(file, launch), list[dict[str, object]]()
        with read_trace(file, limits=max_memory) as reader:
            for recorded in reader:
                if launch is not None and recorded.number != launch:
                    continue
                try:
                    found = explain(recorded, reader.header.hardware)
                except ExplainError as error:
                    sentence = f"{file}: launch {recorded.number}: {error}"
                    if recorded.timeline.error is None:  # a device without a clock: the others say the same
                        raise UserError(sentence) from None
                    say(f"error: {sentence}", err=True)
                    refused.append({"launch": recorded.number, "sentence": str(error)})
                    continue
                told.add(recorded, found, reader.header, as_json=as_json)
            told.end(reader, as_json=as_json, refused=refused)
            if refused:
                raise typer.Exit(1)


class _Told:
    """What was explained so far: printed launch by launch, or kept for ``--json``."""

    def __init__(self, file: Path, launch: int | None) -> None:
        self._file = file
        self._launch = launch
        self._told: list[tuple[str, Explanation]] = []
        self._objects: list[dict[str, object]] = []

    def add(self, recorded: Recorded, found: Explanation, header: TraceHeader, *, as_json: bool) -> None:
        """Take in a launch."""
        self._told.append((recorded.node, found))
        if as_json:
            self._objects.append(_launch_object(recorded, found, header))
        else:
            _tell(Screen(), recorded, found, header)

    def end(self, reader: TraceReader, *, as_json: bool, refused: list[dict[str, object]]) -> None:
        """Say what all launches have in common; ``UserError`` if there was none."""
        if not self._told and not refused:
            raise UserError(
                f"{self._file}: the trace has no launches"
                if self._launch is None
                else f"{self._file}: there is no launch {self._launch}; the trace has {reader.launches}"
            )
        whole = reader.whole or self._launch is not None
        if as_json:
            cycles = sum(found.cycles for _, found in self._told)
            print_json(
                "explain",
                {
                    "file": str(self._file), "kind": "trace", "launches": self._objects, "refused": refused,
                    "nodes": [], "cycles": cycles, "whole": whole,
                },
            )  # fmt: skip
            return
        if len(self._told) > 1:
            Screen().print(_summary(self._told))
        if not whole:
            say(f"{self._file}: the recording was cut off; this is what it had until then", err=True)


def _launch_object(recorded: Recorded, found: Explanation, header: TraceHeader) -> dict[str, object]:
    assert recorded.timeline.account is not None, "what has no clock is not explained"
    return {
        "launch": recorded.number,
        "node": recorded.node,
        "cycles": found.cycles,
        "bound": found.bound,
        "because": found.because,
        "path": {share.value: cycles for share, cycles in found.path.items()},
        "account": {module: dict(causes) for module, causes in recorded.timeline.account.modules.items()},
        "advice": [
            {
                "name": made.name,
                "cycles": made.cycles,
                "turn": made.turn,
                "command": None if made.setting is None else command_with(header, made.setting),
            }
            for made in found.advice
        ],
    }


def _tell(console: Screen, recorded: Recorded, found: Explanation, header: TraceHeader) -> None:
    """Print all about one launch."""
    purpose = f" for {in_one_line(recorded.node)}" if recorded.node else ""
    cycles = f"{found.cycles:,} cycles"
    say(f"launch {recorded.number}{purpose}: {cycles}, bound by {found.bound}: {found.because}")
    assert recorded.timeline.account is not None, "what has no clock is not explained"
    console.print(_path_table(found))
    console.print(account_table(recorded.timeline.account, title="cycles by module and cause"))
    _print_advice(console, found, header)


def _summary(told: Sequence[tuple[str, Explanation]]) -> Table:
    """Return a table with the cycles of all launches, by the node of the graph that they were run for."""
    by_node: dict[str, list[Explanation]] = {}
    for node, found in told:
        by_node.setdefault(node, []).append(found)
    everything = sum(found.cycles for _, found in told)
    table = Table(title="all launches, by graph node", title_justify="left", show_footer=True)
    table.add_column("node", footer="total")
    table.add_column("launches", justify="right", footer=f"{len(told):,}")
    table.add_column("cycles", justify="right", footer=f"{everything:,}")
    table.add_column("share", justify="right", footer="100.0 %")
    table.add_column("mostly bound by")
    for node, launches in by_node.items():
        cycles, bounds = sum(found.cycles for found in launches), Counter[str]()
        for found in launches:
            bounds[found.bound] += found.cycles
        share = f"{100 * cycles / everything:.1f} %"
        bound = bounds.most_common(1)[0][0]
        table.add_row(node or "(none)", f"{len(launches):,}", f"{cycles:,}", share, bound)
    return table


def _path_table(found: Explanation) -> Table:
    table = Table(title="the critical path", title_justify="left")
    table.add_column("went to")
    table.add_column("cycles", justify="right")
    table.add_column("share", justify="right")
    for share, cycles in found.path.items():
        table.add_row(share.value, f"{cycles:,}", f"{100 * cycles / found.cycles:.1f} %")
    return table


def _print_advice(console: Screen, found: Explanation, header: TraceHeader) -> None:
    """Print what would save at least one cycle in a thousand, how to try it, and name the rest in a line."""
    worth = [made for made in found.advice if found.cycles - made.cycles >= found.cycles / 1000]
    table = Table(title="what would change it", title_justify="left")
    table.add_column("if there were")
    table.add_column("cycles", justify="right")
    table.add_column("saved", justify="right", style="green")
    table.add_column("what to turn", overflow="fold")
    for made in worth:
        table.add_row(made.name, f"{made.cycles:,}", f"{100 * (1 - made.cycles / found.cycles):.1f} %", made.turn)
    if worth:
        console.print(table)
    for made in worth:
        if made.setting is not None:
            say(f"to try a {made.name}: {command_with(header, made.setting)}")
    if any(made.setting is not None for made in worth) and not os.path.exists(header.program):
        say(f"(where {in_one_line(header.program)} lies, with its arguments: a trace knows the name of the file alone)")
    others = [made.name for made in found.advice if made not in worth]
    if others:
        console.print(f"saves less than 0.1 %: {', '.join(others)}")

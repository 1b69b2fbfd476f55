"""``vta explain``: what bounds a recorded run, and what would make it faster.

Tests: tests/vta/cli/test_explain_command.py.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from isa.limits import DEFAULT_LIMITS
from isa.printable import in_one_line
from vta.cli.account import account_table
from vta.cli.again import command_with
from vta.cli.capsule import require_trace
from vta.cli.networks import InputOption, ShapeOption, is_network
from vta.cli.options import ConfigOption, LimitsOption, TargetOption, chosen_config
from vta.cli.reporting import UserError, reported, require_file
from vta.cli.style import Screen, say
from vta.inspect.explain import ExplainError, Explanation, explain
from vta.inspect.trace import Recorded, read_trace
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
    max_memory: LimitsOption = DEFAULT_LIMITS,
) -> None:
    """Say what bounds each launch of a trace, and which parameter would change it, with the predicted gain.

    A launch that failed gets a sentence, the others are explained. Of an ONNX model, say where every node runs, why,
    and what would change it; with --target tsim, also what it costs.
    """
    with reported():
        if is_network(file):
            from vta.cli.network_run import explain_network  # and with it ONNX, which takes long to load

            require_file(file, "an ONNX model")
            explain_network(file, chosen_config(config, target), target, shape, inputs, limits=max_memory)
            return
        require_trace(file, "a trace that `vta run --target tsim --record FILE` wrote")
        console, told, refused = Screen(), list[tuple[str, Explanation]](), False
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
                    refused = True
                    continue
                told.append((recorded.node, found))
                _tell(console, recorded, found, reader.header)
            if len(told) > 1:
                console.print(_summary(told))
            if not told and not refused:
                raise UserError(
                    f"{file}: the trace has no launches"
                    if launch is None
                    else f"{file}: there is no launch {launch}; the trace has {reader.launches}"
                )
            if launch is None and not reader.whole:
                say(f"{file}: the recording was cut off; this is what it had until then", err=True)
            if refused:
                raise typer.Exit(1)


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
    others = [made.name for made in found.advice if made not in worth]
    if others:
        console.print(f"saves less than 0.1 %: {', '.join(others)}")

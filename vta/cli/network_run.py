"""``vta run``, ``vta explain`` and ``vta diff`` of networks. Tests: tests/vta/cli/test_network_commands.py."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.table import Table

from isa.config import VTAConfig
from isa.limits import DEFAULT_LIMITS, Limits
from isa.printable import in_one_line
from runtime.executor.runner import NodeRun
from runtime.session import Session
from vta.cli.as_json import array_object, print_json
from vta.cli.compared import Compared
from vta.cli.networks import feed_of, loaded_session, note_of_the_host, shapes_of
from vta.cli.reporting import UserError
from vta.cli.runs.wishes import Wishes, save_outputs
from vta.cli.style import Screen, say
from vta.cli.wide_table import tables_of
from vta.relay.backend.compare import NodeDifference, against_integers, against_onnxruntime
from vta.relay.backend.report import NodeReport, reports
from vta.relay.onnx.loading import load_model
from vta.relay.transform.inline_lets import inline_lets
from vta.relay.transform.plan_memory import plan_memory

__all__ = ["described", "diff_network", "explain_network", "run_network"]

Array = npt.NDArray[np.generic]


def run_network(
    file: Path,
    config: VTAConfig,
    wishes: Wishes,
    board: Session | None = None,
    *,
    around: Callable[[Session], AbstractContextManager[object]],
) -> dict[str, object]:
    """Run a network on its inputs; print what comes out, with ``--stats`` also what every node took.

    ``board`` is where it runs, if there is one. Returns what ``--json`` says of it, which is printed in place of the
    rest.
    """
    limits, hardware = wishes.limits, wishes.settings.setup
    session = loaded_session(file, config, board or wishes.target, shapes_of(wishes.shapes), hardware, limits=limits)
    feed = feed_of(session.get_inputs(), wishes.inputs, limits=limits, preprocessing=wishes.preprocessing)
    if not wishes.inputs:
        say("no --input: random numbers", err=True)
    note_of_the_host(file, session.network)
    with around(session.device):
        results = session.run(None, feed)
    outputs = dict(zip((tensor.name for tensor in session.get_outputs()), results, strict=True))
    save_outputs(wishes.save, outputs)
    if not wishes.as_json:
        for name, value in outputs.items():
            say(described(name, value))
        if wishes.stats:
            Screen().print(_node_table(session.nodes))
    saved = wishes.save is not None
    return {
        "device": session.device.device.name,
        "config": session.network.config.bitstream,
        "outputs": {name: array_object(value, saved=saved) for name, value in outputs.items()},
        "nodes": [
            {"node": node.node, "accelerator": node.on_device, "seconds": node.seconds, "cycles": node.cycles}
            for node in session.nodes
        ],
    }


def described(name: str, value: Array) -> str:
    """Return a line about an output; of a classifier's, the places of the largest numbers too."""
    text = f"{in_one_line(name)}: {value.dtype} of shape {value.shape}"
    if value.ndim == 2 and value.shape[1] > 1:
        best = np.argsort(-value[0], kind="stable")[:3]
        text += "; largest of the first row: " + ", ".join(f"{place} ({value[0][place]:.4g})" for place in best)
    return text


def _node_table(nodes: Sequence[NodeRun]) -> Table:
    table = Table(title="nodes of the network", title_justify="left")
    for name in ("node", "where", "ms", "cycles"):
        table.add_column(name, justify="left" if name in ("node", "where") else "right")
    for node in nodes:
        where = "accelerator" if node.on_device else "host"
        cycles = "" if node.cycles is None else f"{node.cycles:,}"
        table.add_row(in_one_line(node.node), where, f"{1e3 * node.seconds:.2f}", cycles)
    total = sum(node.cycles or 0 for node in nodes)
    table.add_row("all", "", f"{1e3 * sum(node.seconds for node in nodes):.2f}", f"{total:,}" if total else "")
    return table


def explain_network(
    file: Path,
    config: VTAConfig,
    target: str | Session | None,
    shapes: Sequence[str] | None,
    inputs: Sequence[str] | None,
    *,
    as_json: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Print what became of every node of a model: place, rule, what would change it; with a clock, what it costs."""
    session = loaded_session(file, config, target, shapes_of(shapes), limits=limits)
    if session.built is None:
        raise UserError(f"{file}: this is a compiled network, which does not say why; explain the ONNX model")
    runs: Sequence[NodeRun] = ()
    if target is not None:
        session.run(None, feed_of(session.get_inputs(), inputs, limits=limits))
        runs = session.nodes
    found = reports(session.built, runs)
    if as_json:
        print_json("explain", _explained(file, found))
        return
    _print_report(found)
    macs = sum(each.macs for each in found)
    there = sum(each.macs for each in found if each.place == "accelerator")
    say(f"{there:,} of {macs:,} multiplications on the accelerator ({100 * there / max(macs, 1):.2f} %)")
    plan = plan_memory(inline_lets(session.built.function))
    arena = session.network.arena_bytes
    say(f"results take {plan.nbytes:,} bytes, {plan.peak:,} at one time; the accelerator's arena has {arena:,}")
    cycles = sum(each.cycles or 0 for each in found)
    if cycles:
        peak = config.batch * config.block_in * config.block_out
        say(f"{cycles:,} cycles, {100 * there / (cycles * peak):.1f} % of the peak")
    elif target is None:
        say("with --target tsim, cycles, bytes and the share of the peak are counted, too")


def _explained(file: Path, found: Sequence[NodeReport]) -> dict[str, object]:
    nodes = [
        {
            "node": each.name,
            "others": [node for node in each.nodes if node != each.name],
            "place": each.place,
            "by": each.by,
            "rule": each.rule,
            "change": each.change,
            "macs": each.macs,
            "cycles": each.cycles,
            "bytes": each.nbytes,
            "share": each.share,
        }
        for each in found
    ]
    cycles = sum(each.cycles or 0 for each in found) or None
    return {
        "file": str(file), "kind": "network", "launches": [], "refused": [], "nodes": nodes, "cycles": cycles,
        "whole": True,
    }  # fmt: skip


def _print_report(found: Sequence[NodeReport]) -> None:
    """Print places and numbers as a table, and below it in words why, once for all nodes of one reason."""
    columns: tuple[str, ...] = ("node", "where", "MACs")
    rows = [[in_one_line(each.name), each.where, f"{each.macs:,}" if each.macs else ""] for each in found]
    if any(each.cycles is not None for each in found):
        columns += ("cycles", "bytes", "peak")
        for row, each in zip(rows, found, strict=True):
            row += ["" if number is None else f"{number:,}" for number in (each.cycles, each.nbytes)]
            row.append("" if each.share is None else f"{100 * each.share:.0f} %")
    screen = Screen()
    for table in tables_of("where every node runs", columns, rows, width=screen.width):
        screen.print(table)
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in found:
        others = ", ".join(in_one_line(node) for node in each.nodes if node != each.name)
        why = in_one_line(each.rule) + (f"; to change it: {each.change}" if each.change else "")
        why += f"; does the work of {others}, too" if others else ""
        reasons.setdefault((each.place, why), []).append(in_one_line(each.name))
    for place in dict.fromkeys(place for place, _ in reasons):
        say("in onnxruntime:" if place == "onnxruntime" else f"on the {place}:")
        for (there, why), names in reasons.items():
            if there == place:
                say(f"  {', '.join(names)}: {why}")


def diff_network(
    file: Path,
    config: VTAConfig,
    engines: Sequence[str | Session],
    shapes: Sequence[str] | None,
    inputs: Sequence[str] | None,
    *,
    limits: Limits = DEFAULT_LIMITS,
) -> list[Compared]:
    """Compare every node on each engine with the integer graph, and that with onnxruntime; return what was found.

    Engines must have the same bits. Against onnxruntime, every node gets onnxruntime's inputs and may be off by one.
    """
    if file.suffix != ".onnx":
        raise UserError(f"{file}: only an ONNX model is compared, since a compiled network has no integer graph")
    compared = []
    session = None
    for engine in engines:
        session = loaded_session(file, config, engine, shapes_of(shapes), limits=limits)
        assert session.built is not None
        nodes = against_integers(session.built, session.runner, feed_of(session.get_inputs(), inputs, limits=limits))
        first = next((node for node in nodes if node.different), None)
        what = (
            f"{len(nodes)} nodes have the bits of the integer graph"
            if first is None
            else f"{_sentence(first)} (the first)"
        )
        name = engine if isinstance(engine, str) else engine.device.name
        compared.append(Compared(name, same=first is None, text=f"{name}: {what}"))
    assert session is not None
    assert session.built is not None
    nodes = against_onnxruntime(
        session.built.function, load_model(file, limits=limits), feed_of(session.get_inputs(), inputs, limits=limits)
    )
    worst = max(nodes, key=lambda node: node.largest, default=None)
    first = next((node for node in nodes if node.largest > 1), None)
    elements, different = sum(node.elements for node in nodes), sum(node.different for node in nodes)
    share = 100 * (1 - different / max(elements, 1))
    off = "" if worst is None else f", the others off by at most {worst.largest}"
    where = "onnxruntime (no optimisations, each node fed with its inputs)"
    text = f"{where}: {share:.3f} % of {elements:,} numbers are equal{off}"
    if first is not None:
        text += f"\nfirst node that is off by more than one: {_sentence(first)}"
    return [*compared, Compared("onnxruntime", same=first is None, text=text)]


def _sentence(node: NodeDifference) -> str:
    parts = ", ".join(f"{count} by {difference:+d}" for difference, count in list(node.histogram.items())[:6])
    return f"{in_one_line(node.node)} ({node.operator}): {node.different} of {node.elements} numbers differ: {parts}"

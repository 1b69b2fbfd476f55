"""``vta operators``: what schedules, the library and networks may consist of, read from the tables that decide it.

Tests: tests/vta/cli/test_operators_command.py.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import util
from typing import Annotated

import typer
from rich.table import Table

from vta import topi
from vta.cli.as_json import JsonOption, print_json
from vta.cli.reporting import UserError, reported
from vta.cli.style import Screen, say
from vta.passes.alu.kinds import AluKind

__all__ = ["GROUPS", "Supported", "operators", "supported"]

_ACCELERATOR, _HOST, _DEPENDS = "accelerator", "host", "depends"

GROUPS = {
    "te": "what a stage of the accelerator may compute",
    "topi": "the library, vta.topi",
    "network": "what a network's graph consists of",
    "onnx": "operators of ONNX that are imported; `vta explain MODEL` says where each of a model runs, and why",
}


@dataclass(frozen=True, slots=True)
class Supported:
    """One thing that is supported: its ``place`` is accelerator, host, or depends on the model."""

    group: str
    name: str
    place: str
    what: str


def operators(
    group: Annotated[
        str | None, typer.Argument(metavar="[GROUP]", help=f"Only one group: {', '.join(GROUPS)}.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the operators that are supported, and where they run."""
    with reported():
        if group is not None and group not in GROUPS:
            raise UserError(f"{group}: no such group; there are {', '.join(GROUPS)}")
        found = [each for each in supported() if group in (None, each.group)]
        if as_json:
            entries = [
                {"group": each.group, "name": each.name, "place": each.place, "what": each.what} for each in found
            ]
            print_json("operators", {"operators": entries})
            return
        for name, title in GROUPS.items():
            entries_of = [each for each in found if each.group == name]
            if entries_of:
                Screen().print(_table(f"{name}: {title}", entries_of))
        if not _networks() and group in (None, "network", "onnx"):
            say("networks need an extra: pip install 'vta-toolchain[onnx]'", err=True)


def _table(title: str, found: list[Supported]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("name", overflow="fold")
    table.add_column("where")
    table.add_column("what", overflow="fold")
    for each in found:
        table.add_row(each.name, each.place, each.what)
    return table


def supported() -> Iterator[Supported]:
    """Yield everything that is supported, group by group."""
    yield Supported("te", "env.gemm", _ACCELERATOR, "te.sum of products of int8 tiles, tensorized")
    for kind in AluKind:
        yield Supported("te", kind.symbol, _ACCELERATOR, f"{kind.name.lower()} on the tensor ALU, tensor or constant")
    yield Supported("te", "copy", _ACCELERATOR, "between DRAM and a scratchpad, with pads (env.dma_copy)")
    for name in sorted(topi.__all__):
        what = (inspect.getdoc(getattr(topi, name)) or "").split("\n", 1)[0]
        if not inspect.ismodule(getattr(topi, name)):
            yield Supported("topi", name, _ACCELERATOR, what)
    if _networks():
        yield from _of_networks()


def _networks() -> bool:
    """Return whether what networks need is installed."""
    return util.find_spec("onnx") is not None


def _of_networks() -> Iterator[Supported]:
    from runtime.executor.operators.table import OPERATORS
    from vta.relay.backend.heads import ALONE, LAYERS
    from vta.relay.onnx.convert.table import CONVERTERS

    for op in sorted(OPERATORS, key=str):
        takes = ", ".join(OPERATORS[op].inputs)
        place = _ACCELERATOR if op in LAYERS or op in ALONE else _HOST
        yield Supported("network", str(op), place, f"of {takes}" if takes else "of nothing")
    for name in sorted(CONVERTERS):
        yield Supported("onnx", name, _DEPENDS, "imported")

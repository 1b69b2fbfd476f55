"""``vta compile``: an ONNX model as a compiled network. Tests: tests/vta/cli/test_network_commands.py,
tests/vta/cli/test_compile_c.py."""

from pathlib import Path
from typing import Annotated

import typer

from isa.limits import DEFAULT_LIMITS
from runtime.executor.network import Network
from vta.cli.networks import ShapeOption, loaded_session, note_of_the_host, shapes_of
from vta.cli.options import ConfigOption, LimitsOption, TargetOption
from vta.cli.reporting import UserError, reported, require_file, require_outputs
from vta.cli.runs.boards import BoardOption, chosen_board, config_for
from vta.cli.style import say
from vta.relay.c import c_name, write_c

__all__ = ["compile_network"]


def compile_network(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="An ONNX model with quantised layers.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write (default: MODEL.vtam).")
    ] = None,
    shape: ShapeOption = None,
    target: TargetOption = None,
    config: ConfigOption = None,
    max_memory: LimitsOption = DEFAULT_LIMITS,
    c: Annotated[
        Path | None,
        typer.Option("--c", metavar="FOLDER", help="Write it as C with its runtime, for a board without Python."),
    ] = None,
    board: BoardOption = None,
) -> None:
    """Compile an ONNX model; the file runs with `vta run` and holds no code, only checked data.

    With --board, it is compiled for a board's configuration; the board itself is not asked for anything.
    """
    with reported():
        require_file(model, "an ONNX model")
        written = output or (model.with_suffix(".vtam") if c is None else None)
        require_outputs(model, {"--output": written})
        if c is not None and c.exists() and not c.is_dir():
            raise UserError(f"--c {c}: this is a file; name a folder")
        made_for = config_for(chosen_board(board, None, target), config, target)
        place = "sim" if board is not None else target  # nothing is run
        session = loaded_session(model, made_for, place, shapes_of(shape), limits=max_memory)
        if c is not None:
            _write_c(session.network, c, model)
        if written is None:
            return
        session.save(written)
        network = session.network
        kernels = sum(hasattr(step, "launches") for step in network.steps)
        size = written.stat().st_size
        say(
            f"{written}: {kernels} kernels on the accelerator, {len(network.steps) - kernels} steps of the host, "
            f"{len(network.constants):,} bytes of constants, an arena of {network.arena_bytes:,} bytes; {size:,} bytes"
        )
        note_of_the_host(model, network)


def _write_c(network: Network, folder: Path, model: Path) -> None:
    name = c_name(model.name.split(".")[0].lower())
    made = write_c(network, folder, name)
    say(
        f"{folder}: {', '.join(made.files)}; {made.memory_bytes:,} bytes of memory shared with the accelerator, "
        f"{made.host_bytes:,} bytes of the host's own besides constants"
    )

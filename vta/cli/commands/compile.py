"""``vta compile``: an ONNX model as a compiled network. Tests: tests/vta/cli/test_network_commands.py."""

from pathlib import Path
from typing import Annotated

import typer

from isa.limits import DEFAULT_LIMITS
from vta.cli.networks import ShapeOption, loaded_session, note_of_the_host, shapes_of
from vta.cli.options import ConfigOption, LimitsOption, TargetOption, chosen_config
from vta.cli.reporting import reported, require_file, require_outputs
from vta.cli.style import say

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
) -> None:
    """Compile an ONNX model; the file runs with `vta run` and holds no code, only checked data."""
    with reported():
        require_file(model, "an ONNX model")
        place = output or model.with_suffix(".vtam")
        require_outputs(model, {"--output": place})
        session = loaded_session(model, chosen_config(config, target), target, shapes_of(shape), limits=max_memory)
        session.save(place)
        network = session.network
        kernels = sum(hasattr(step, "launches") for step in network.steps)
        size = place.stat().st_size
        say(
            f"{place}: {kernels} kernels on the accelerator, {len(network.steps) - kernels} steps of the host, "
            f"{len(network.constants):,} bytes of constants, an arena of {network.arena_bytes:,} bytes; {size:,} bytes"
        )
        note_of_the_host(model, network)

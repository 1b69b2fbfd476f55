"""The list of commands. Each is a function in a module of its own, loaded when it is asked for; this one names them.

Tests: tests/vta/cli.
"""

import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, TextIO

import typer

from vta.cli.lazy_commands import lazy_group
from vta.cli.progress import shown_progress
from vta.cli.style import plain
from vta.cli.warning_lines import warnings_in_one_line

__all__ = ["app", "main", "run_scripts"]

_COMMANDS = {
    "run": "vta.cli.commands.run:run",
    "quantize": "vta.cli.commands.quantize:quantize",
    "compile": "vta.cli.commands.compile:compile_network",
    "asm": "vta.cli.commands.assembly:asm",
    "disasm": "vta.cli.commands.assembly:disasm",
    "check": "vta.cli.commands.check:check",
    "diff": "vta.cli.commands.diff:diff",
    "debug": "vta.cli.commands.debug:debug",
    "lower": "vta.cli.commands.lower:lower",
    "trace": "vta.cli.commands.trace:trace",
    "explain": "vta.cli.commands.explain:explain_trace",
    "examples": "vta.cli.commands.examples:examples",
    "operators": "vta.cli.commands.operators:operators",
    "doctor": "vta.cli.commands.doctor:doctor",
    "explore": "vta.cli.commands.explore:explore",
    "reduce": "vta.cli.commands.reduce:reduce",
    "serve": "vta.cli.commands.serve:serve",
    "tracker": "vta.cli.commands.tracker:tracker",
    "tune": "vta.cli.commands.tune:tune",
    "verilog": "vta.cli.commands.verilog:verilog",
    "config": "vta.cli.commands.config:config_app",
    "fpga": "vta.cli.commands.fpga:fpga_app",
}
"""Name to place, in the order in which ``vta --help`` lists them."""

app = typer.Typer(
    name="vta",
    cls=lazy_group(_COMMANDS),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        plain(f"vta {version('vta-toolchain')}")
        raise typer.Exit


@app.callback()
def _vta(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Run, inspect and translate programs for VTA, the Versatile Tensor Accelerator."""
    context.with_resource(shown_progress())


def _writable(stream: TextIO | None) -> TextIO:
    """Return a stream that takes any text: a closed one loses it, one that cannot write a character writes its number.

    (File names need not be text, and Python has no stream at all where the caller closed it.)
    """
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors="backslashreplace")
    return stream


def run_scripts(program: str, arguments: Sequence[str] | None = None) -> None:
    """Run ``vta run`` as a command of its own, called ``program``; what follows the script belongs to the script."""
    from vta.cli.commands.run import run

    scripts = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    scripts.command(context_settings={"allow_interspersed_args": False})(run)
    sys.stdout, sys.stderr = _writable(sys.stdout), _writable(sys.stderr)
    with warnings_in_one_line(), shown_progress():
        scripts(args=None if arguments is None else list(arguments), prog_name=program)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ``arguments`` default to the process's own."""
    sys.stdout, sys.stderr = _writable(sys.stdout), _writable(sys.stderr)
    with warnings_in_one_line():
        app(args=None if arguments is None else list(arguments))

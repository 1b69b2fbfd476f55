"""The list of commands. Each is a function in a module of its own; this one only names them.

Tests: tests/vta/cli.
"""

import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, TextIO

import typer

from vta.cli.commands.assembly import asm, disasm
from vta.cli.commands.check import check
from vta.cli.commands.compile import compile_network
from vta.cli.commands.config import config_app
from vta.cli.commands.debug import debug
from vta.cli.commands.diff import diff
from vta.cli.commands.doctor import doctor
from vta.cli.commands.examples import examples
from vta.cli.commands.explain import explain_trace
from vta.cli.commands.explore import explore
from vta.cli.commands.fpga import fpga_app
from vta.cli.commands.lower import lower
from vta.cli.commands.operators import operators
from vta.cli.commands.quantize import quantize
from vta.cli.commands.reduce import reduce
from vta.cli.commands.run import run
from vta.cli.commands.serve import serve
from vta.cli.commands.trace import trace
from vta.cli.commands.tracker import tracker
from vta.cli.commands.tune import tune
from vta.cli.commands.verilog import verilog
from vta.cli.progress import shown_progress
from vta.cli.style import plain
from vta.cli.warning_lines import warnings_in_one_line

__all__ = ["app", "main", "run_scripts"]

app = typer.Typer(
    name="vta",
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


app.command()(run)
app.command()(quantize)
app.command("compile")(compile_network)
app.command()(asm)
app.command()(disasm)
app.command()(check)
app.command()(diff)
app.command()(debug)
app.command()(lower)
app.command()(trace)
app.command("explain")(explain_trace)
app.command()(examples)
app.command()(operators)
app.command()(doctor)
app.command()(explore)
app.command()(reduce)
app.command()(serve)
app.command()(tracker)
app.command()(tune)
app.command()(verilog)
app.add_typer(config_app, name="config")
app.add_typer(fpga_app, name="fpga")


def _writable(stream: TextIO | None) -> TextIO:
    """Return a stream that takes any text: a closed one loses it, one that cannot write a character writes its number.

    (File names need not be text, and Python has no stream at all where the caller closed it.)
    """
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors="backslashreplace")
    return stream


_scripts = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
_scripts.command(context_settings={"allow_interspersed_args": False})(run)


def run_scripts(program: str, arguments: Sequence[str] | None = None) -> None:
    """Run ``vta run`` as a command of its own, called ``program``; what follows the script belongs to the script."""
    sys.stdout, sys.stderr = _writable(sys.stdout), _writable(sys.stderr)
    with warnings_in_one_line(), shown_progress():
        _scripts(args=None if arguments is None else list(arguments), prog_name=program)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ``arguments`` default to the process's own."""
    sys.stdout, sys.stderr = _writable(sys.stdout), _writable(sys.stderr)
    with warnings_in_one_line():
        app(args=None if arguments is None else list(arguments))

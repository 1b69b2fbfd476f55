"""The list of commands. Each is a function in a module of its own; this one only names them.

May import typer. Tests: tests/vta/cli.
"""

from collections.abc import Sequence

import typer

from vta.cli.assembly import asm, disasm
from vta.cli.check import check
from vta.cli.config import config_app
from vta.cli.lower import lower
from vta.cli.run import run
from vta.cli.verilog import verilog

__all__ = ["app", "main"]

app = typer.Typer(
    name="vta",
    help="Run, inspect and translate programs for VTA, the Versatile Tensor Accelerator.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(run)
app.command()(asm)
app.command()(disasm)
app.command()(check)
app.command()(lower)
app.command()(verilog)
app.add_typer(config_app, name="config")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ``arguments`` default to the process's own."""
    app(args=None if arguments is None else list(arguments))

"""``vta lower``: the TIR of what a script compiles, at the end or after any pass.

Tests: tests/vta/cli/test_script_commands.py.
"""

import contextlib
import difflib
import sys
from pathlib import Path
from typing import Annotated

import typer

from isa.printable import printable
from vta.cli.options import ConfigOption, chosen_config
from vta.cli.reporting import UserError, reported, require_file
from vta.cli.script import run_script
from vta.passes.pipelines import PIPELINE, pass_names
from vta.tir.func import PrimFunc
from vta.tir.printer import to_text

__all__ = ["lower"]


def lower(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A script that calls vta.lower or vta.build.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGS]...", help="Arguments of the script.")] = None,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="PASS", help="Print after this pass; 'all': after each that changes."),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Run a script and print the TIR of every function that it lowers. What the script prints goes to stderr."""
    with reported():
        require_file(file, "a script that calls vta.lower or vta.build")
        if file.suffix in (".vta", ".vtab"):
            raise UserError(f"{file}: only scripts are lowered; `vta disasm` prints a program")
        printer = _PassPrinter(_known_pass(after))
        try:
            with contextlib.redirect_stdout(sys.stderr):
                run_script(file, chosen_config(config, None), arguments or [], after_pass=printer.see)
        finally:  # what was lowered before the script failed is still worth reading
            printer.finish()
        if not printer.printed:
            raise UserError(f"{file}: nothing was lowered; the script calls neither vta.lower nor vta.build")


class _PassPrinter:
    """Prints functions on the real stdout as passes finish with them."""

    def __init__(self, after: str | None) -> None:
        self._after = after
        self._out = sys.stdout
        self._last_text = ""
        self._latest: PrimFunc | None = None
        self.printed = False

    def see(self, name: str, func: object) -> None:
        """Take the function that pass ``name`` returned."""
        assert isinstance(func, PrimFunc)
        if self._after is None:
            if name == PIPELINE[0].name:  # another function begins, so the one before is at its end
                self.finish()
            self._latest = func
        elif self._after == "all":
            text = to_text(func)
            if text != self._last_text:
                self._print(f"=== after {name}\n{text}")
            self._last_text = text
        elif name == self._after:
            self._print(to_text(func))

    def finish(self) -> None:
        """Print the function that went through its last pass, if there is one."""
        if self._latest is not None:
            self._print(to_text(self._latest))
        self._latest = None

    def _print(self, text: str) -> None:
        self._out.write(printable(text.rstrip("\n")) + "\n\n")
        self.printed = True


def _known_pass(name: str | None) -> str | None:
    if name is None or name == "all":
        return name
    short = name.rsplit(".", 1)[-1]
    known = pass_names()
    if short not in known:
        close = difflib.get_close_matches(short, known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UserError(f"--after {name}: no such pass; {hint}passes are {', '.join(known)}, and 'all'")
    return short

"""``vta examples``: the tutorials that come with the package.

Tests: tests/vta/cli/test_examples_command.py.
"""

from pathlib import Path
from typing import Annotated

import typer

import vta
from isa.whole_file import write_whole
from vta.cli.reporting import UserError, reported
from vta.cli.style import plain, say

__all__ = ["examples", "examples_folder"]


def examples(
    copy: Annotated[
        Path | None, typer.Option("--copy", metavar="FOLDER", help="Copy them there, to be run and changed.")
    ] = None,
) -> None:
    """List the tutorials of the package, or copy them into a folder of yours."""
    with reported():
        home = examples_folder()
        files = sorted(path for path in home.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        if copy is None:
            for path in files:
                plain(path.relative_to(home).as_posix())
            say("vta examples --copy FOLDER copies them", err=True)
            return
        targets = [copy / path.relative_to(home) for path in files]
        taken = next((target for target in (copy, *targets) if target.exists() and not target.is_dir()), None)
        if taken is not None:
            raise UserError(f"{taken}: there is a file already; name another folder")
        for path, target in zip(files, targets, strict=True):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, path.read_bytes())
        say(f"{copy}: {len(files)} files; `vta run {copy / 'vector_add.py'}` runs the first tutorial")


def examples_folder() -> Path:
    """Return where the tutorials lie: in the installed package, or beside it in a source tree; else ``UserError``."""
    package = Path(vta.__file__).resolve().parent
    for folder in (package / "examples", package.parent / "examples"):
        if (folder / "vector_add.py").is_file():
            return folder
    raise UserError(f"{package}: no examples lie in this installation; install vta-toolchain again")

"""The tutorials, one after the other: what ``make run`` does.

Each runs as a person would run it (``vta run FILE``); the matrix multiply also shows the instructions that the
accelerator executed (``--trace -``). Ends with a green line for each tutorial, or exit code 1.
"""

import subprocess
import sys
from pathlib import Path

from rich.console import Console

HERE = Path(__file__).resolve().parent
TUTORIALS: tuple[tuple[str, list[str]], ...] = (
    ("vector_add.py", []),
    ("matrix_multiply_blocked.py", []),
    ("matrix_multiply.py", ["--trace", "-"]),
    ("convolution.py", []),
    ("networks/fashion_mnist.py", []),
)
"""Script, and options of ``vta run``."""


def main() -> int:
    """Run every tutorial; return the exit code."""
    console = Console(highlight=False)
    results: list[tuple[str, bool]] = []
    for name, options in TUTORIALS:
        console.rule(f"[bold]{name}")
        command = [sys.executable, "-m", "vta.cli", "run", str(HERE / name), *options]
        results.append((name, subprocess.run(command, check=False).returncode == 0))
    console.rule("[bold]results")
    for name, passed in results:
        console.print(f"[green]right[/]   {name}" if passed else f"[bold red]FAILED[/]  {name}")
    return 0 if all(passed for _, passed in results) else 1


if __name__ == "__main__":
    sys.exit(main())

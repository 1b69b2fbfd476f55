"""The ``vta`` command. ``vta.cli.app`` has the list of commands, one module each."""

from collections.abc import Sequence

__all__ = ["main", "run_script_command"]

_INTERRUPTED = 130
"""The exit code of what Ctrl-C ended, as shells have it."""


def run_script_command(program: str) -> None:
    """Run ``vta run`` as a command of its own, called ``program``; what follows the script belongs to the script."""
    try:
        from vta.cli.app import run_scripts
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
    run_scripts(program)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ``arguments`` default to the process's own. Ctrl-C while it loads ends it as later on."""
    try:
        from vta.cli.app import main as run
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
    run(arguments)

"""The ``vta`` command. ``vta.cli.app`` has the list of commands, one module each."""

from vta.cli.app import main

__all__ = ["main"]

"""Options that several commands share, and what they mean.

``--config`` names a configuration file; without it, the environment variable VTA_CONFIG; without that, the default.
Nothing below the command line reads the environment. Tests: tests/vta/cli/test_config_commands.py.
"""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from isa.config import VTAConfig
from isa.limits import Limits

__all__ = ["CONFIG_VARIABLE", "ConfigOption", "LimitsOption", "TargetOption", "chosen_config", "given_config"]

CONFIG_VARIABLE = "VTA_CONFIG"

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help=f"A vta_config.json (default: ${CONFIG_VARIABLE}, else the built-in)."
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target", metavar="NAME", help="The device: sim (native), reference (numpy) or tsim (the hardware)."
    ),
]


def _limits(size: str | Limits) -> Limits:
    """Return the limits of a file for ``512M``, ``4G`` or a number of bytes; what comes by default is that already."""
    if isinstance(size, Limits):
        return size
    match = re.fullmatch(r"([0-9]{1,18})([KMGT]?)(?:i?B)?", size, re.IGNORECASE)
    if match is None:
        raise typer.BadParameter(f"{size!r} is no size such as 512M, 4G or a number of bytes")
    return Limits(int(match[1]) << _SHIFTS[match[2].upper()])


_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}

LimitsOption = Annotated[
    Limits,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        parser=_limits,
        show_default=False,
        help="Memory that a file may take, as 4G (default: what follows from its size).",
    ),
]


def given_config(path: Path | None) -> VTAConfig | None:
    """Return the configuration that the option or the environment variable names, or None if neither does."""
    name = path or os.environ.get(CONFIG_VARIABLE)
    return VTAConfig.from_json(name) if name else None


def chosen_config(path: Path | None, target: str | None) -> VTAConfig:
    """Return the configuration to work with, with ``target`` in place of its own if given."""
    config = given_config(path) or VTAConfig()
    return replace(config, target=target) if target else config

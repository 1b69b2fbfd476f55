"""Options that several commands share, and what they mean.

``--config`` names a configuration file, or a configuration of the package; without it, the environment variable
VTA_CONFIG does; without that, it is the default. Tests: tests/vta/cli/test_config_commands.py.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from isa.config import VTAConfig
from isa.limits import Limits
from isa.named_config import CONFIG_VARIABLE, config_of_variable, named_config

__all__ = ["ConfigOption", "LimitsOption", "SchedulerOption", "TargetOption", "chosen_config", "given_config"]

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE|NAME",
        help=f"A vta_config.json, or a name of `vta config list` (default: ${CONFIG_VARIABLE}, else the built-in).",
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target", metavar="NAME", help="The device: sim (native), reference (numpy) or tsim (the hardware)."
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Measure with the workers of the dask cluster there, as tcp://HOST:8786, instead of processes here.",
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
    return config_of_variable() if path is None else named_config(path)


def chosen_config(path: Path | None, target: str | None) -> VTAConfig:
    """Return the configuration to work with, with ``target`` in place of its own if given."""
    config = given_config(path) or VTAConfig()
    return replace(config, target=target) if target else config

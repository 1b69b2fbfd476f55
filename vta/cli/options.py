"""Options that several commands share, and what they mean.

``--config`` names a configuration file; without it, the environment variable VTA_CONFIG; without that, the default.
Nothing below the command line reads the environment. Tests: tests/vta/cli/test_config_commands.py.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from isa.config import VTAConfig

__all__ = ["CONFIG_VARIABLE", "ConfigOption", "TargetOption", "chosen_config", "given_config"]

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


def given_config(path: Path | None) -> VTAConfig | None:
    """Return the configuration that the option or the environment variable names, or None if neither does."""
    name = path or os.environ.get(CONFIG_VARIABLE)
    return VTAConfig.from_json(name) if name else None


def chosen_config(path: Path | None, target: str | None) -> VTAConfig:
    """Return the configuration to work with, with ``target`` in place of its own if given."""
    config = given_config(path) or VTAConfig()
    return replace(config, target=target) if target else config

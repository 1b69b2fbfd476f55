"""What ``--set``, ``--hardware`` and the short forms of both change for one run.

Tests: tests/vta/cli/test_settings.py.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from isa.config import VTAConfig
from isa.config_file import FIELD_OF_KEY
from isa.machine.hardware_config import HardwareConfig
from isa.printable import short
from runtime.devices.device import HardwareSetup
from runtime.devices.hardware_settings import HARDWARE_KEYS, OF_MEMORY, hardware_setup, read_hardware_keys
from vta.cli.reporting import UserError

__all__ = [
    "DataWidthOption",
    "HardwareOption",
    "LatencyOption",
    "QueueDepthOption",
    "SetOption",
    "Settings",
    "settings",
]

_PANEL = "Configuration and hardware"

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        rich_help_panel=_PANEL,
        help="Change a key of the configuration (LOG_BLOCK=5) or of the hardware (read_beats=256); repeatable.",
    ),
]
HardwareOption = Annotated[
    Path | None,
    typer.Option("--hardware", metavar="FILE", rich_help_panel=_PANEL, help="A JSON file with keys of the hardware."),
]
LatencyOption = Annotated[
    int | None,
    typer.Option("--latency", metavar="CYCLES", rich_help_panel=_PANEL, help="Short for --set memory_latency=CYCLES."),
]
DataWidthOption = Annotated[
    int | None,
    typer.Option("--data-width", metavar="BITS", rich_help_panel=_PANEL, help="Short for --set data_width=BITS."),
]
QueueDepthOption = Annotated[
    int | None,
    typer.Option("--queue-depth", metavar="N", rich_help_panel=_PANEL, help="Short for --set inst_queue_depth=N."),
]


@dataclass(frozen=True, slots=True)
class Settings:
    """Keys of the configuration and of the hardware that one run changes; without any of the latter it has no setup."""

    config: Mapping[str, object] = field(default_factory=dict)
    hardware: Mapping[str, object] = field(default_factory=dict)
    where: str = "--set"

    def applied(self, config: VTAConfig) -> VTAConfig:
        """Return ``config`` with the keys that are changed; ``ConfigError`` if that is not legal."""
        if not self.config:
            return config
        return VTAConfig.from_dict({**config.to_dict(), **self.config}, where="--set")

    @property
    def setup(self) -> HardwareSetup | None:
        """What hardware to simulate, None if nothing was said about it."""
        return hardware_setup(self.hardware, where=self.where) if self.hardware else None

    def built_hardware(self, place: str) -> HardwareConfig:
        """Return the hardware to build; ``UserError`` for a key of the memory that is simulated behind it."""
        for key in OF_MEMORY:
            if key in self.hardware:
                raise UserError(f"--set {key}: this is of a simulated memory, which {place} has none of; leave it out")
        setup = self.setup
        return HardwareConfig() if setup is None else setup.hardware

    def require_no_config(self, file: Path) -> None:
        """Raise ``UserError`` if a key of the configuration would change: a program was made for its own."""
        if self.config:
            raise UserError(
                f"{file}: the program carries its configuration, so --set {next(iter(self.config))} cannot change it; "
                "change it in the text, or assemble it again"
            )


def settings(
    entries: Sequence[str] | None,
    *,
    file: Path | None = None,
    latency: int | None = None,
    data_width: int | None = None,
    queue_depth: int | None = None,
) -> Settings:
    """Return what the options say; the file is read first, then come the short forms, then ``--set`` in its order."""
    config: dict[str, object] = {}
    hardware = dict(read_hardware_keys(str(file))) if file is not None else {}
    if hardware:
        hardware_setup(hardware, where=str(file))  # so that what is wrong with the file names the file
    short_forms = {
        "--latency": ("memory_latency", latency),
        "--data-width": ("data_width", data_width),
        "--queue-depth": ("inst_queue_depth", queue_depth),
    }
    given = {option: pair for option, pair in short_forms.items() if pair[1] is not None}
    hardware |= dict(given.values())
    for entry in entries or ():
        key, equals, text = entry.partition("=")
        if not equals:
            raise UserError(f"--set {entry}: expected KEY=VALUE, such as LOG_BLOCK=5 or data_width=128")
        if key in FIELD_OF_KEY:
            config[key] = text if key in ("TARGET", "HW_VER") else _number(entry, text)
        elif key in HARDWARE_KEYS:
            hardware[key] = _number(entry, text)
        else:
            close = difflib.get_close_matches(key, (*FIELD_OF_KEY, *HARDWARE_KEYS), n=1)
            hint = f"did you mean {close[0]!r}?" if close else "docs/configuration.md lists them"
            raise UserError(f"--set {entry}: no key of configuration or hardware is called {short(key)}; {hint}")
    return Settings(config, hardware, ", ".join([*given, *(["--set"] if entries or not given else [])]))


def _number(entry: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UserError(f"--set {entry}: expected a whole number, found {short(text)}") from None

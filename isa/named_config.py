"""A configuration by what a person writes: the path of a file, or the name of one that the package has.

The command line, the environment variable VTA_CONFIG and ``vta.Environment`` all ask here. Tests:
tests/isa/test_named_config.py.
"""

import difflib
import os
from importlib import resources

from isa.config import VTAConfig
from isa.config_rules import ConfigError
from isa.printable import short

__all__ = ["CONFIG_VARIABLE", "config_of_variable", "named_config", "preset_names"]

CONFIG_VARIABLE = "VTA_CONFIG"
"""The environment variable that names a configuration where nothing else does."""


def preset_names() -> tuple[str, ...]:
    """Return the names of the configurations that come with the package."""
    files = (entry.name for entry in resources.files("isa.presets").iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in files if name.endswith(".json")))


def named_config(name: str | os.PathLike[str]) -> VTAConfig:
    """Return the configuration in the file ``name``, or the one of the package that is called so; a file goes first.

    ``ConfigError`` if it is neither, or not legal.
    """
    text = os.fspath(name)
    known = preset_names()
    if os.path.lexists(text) or os.path.basename(text) != text or text.endswith(".json"):
        return VTAConfig.from_json(text)
    if text not in known:
        close = difflib.get_close_matches(text, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ConfigError(f"{short(text)}: expected a file, or the name of one of {', '.join(known)}{hint}")
    with resources.as_file(resources.files("isa.presets") / f"{text}.json") as path:
        return VTAConfig.from_json(path)


def config_of_variable() -> VTAConfig | None:
    """Return the configuration that the environment variable names, None if it is unset or empty."""
    name = os.environ.get(CONFIG_VARIABLE)
    if not name:
        return None
    try:
        return named_config(name)
    except ConfigError as error:
        raise ConfigError(f"{CONFIG_VARIABLE}={error}") from None

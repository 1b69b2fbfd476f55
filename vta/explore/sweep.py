"""What is varied: keys of the configuration, of the hardware and of the memory, each with its values.

Tests: tests/vta/explore/test_sweep.py.
"""

import difflib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isa.config import VTAConfig
from isa.config_file import FIELD_OF_KEY
from isa.errors import VTAError
from isa.printable import short
from runtime.devices.device import HardwareSetup
from runtime.devices.hardware_settings import HARDWARE_KEYS, hardware_setup

__all__ = ["ExploreError", "Point", "points_of", "swept"]

Value = int | str

_SHORT = {
    "block": "LOG_BLOCK", "block_in": "LOG_BLOCK_IN", "block_out": "LOG_BLOCK_OUT", "batch": "LOG_BATCH",
    "inp": "LOG_INP_BUFF_SIZE", "wgt": "LOG_WGT_BUFF_SIZE", "acc": "LOG_ACC_BUFF_SIZE", "uop": "LOG_UOP_BUFF_SIZE",
}  # fmt: skip
"""Short name -> the key whose value is its logarithm: lanes, and bytes of buffers (128K)."""

_PLAIN = {"bus": "data_width", "latency": "memory_latency"}

_MOST_POINTS = 100_000


class ExploreError(VTAError, ValueError):
    """A sweep or a workload that cannot be."""


@dataclass(frozen=True, slots=True)
class Point:
    """One configuration of a sweep: ``values`` by the names that were given; 128K is a text, as it was given, too.

    ``config`` and ``setup`` are None where ``problem`` says why there is no such accelerator.
    """

    values: tuple[tuple[str, Value], ...]
    config: VTAConfig | None
    setup: HardwareSetup | None
    problem: str = ""

    @property
    def name(self) -> str:
        """The values in one line."""
        return ", ".join(f"{name}={value}" for name, value in self.values) or "as given"


def swept(text: str) -> tuple[str, tuple[Value, ...]]:
    """Return the name and the values of ``block=8,16,32``."""
    name, equals, rest = text.partition("=")
    values = [value.strip() for value in rest.split(",")]
    if not equals or not name or not all(values):
        raise ExploreError(f"--sweep {short(text)}: expected KEY=VALUE,VALUE, such as block=8,16,32")
    known = (*_SHORT, *_PLAIN, *FIELD_OF_KEY, *HARDWARE_KEYS)
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"the short ones are {', '.join((*_SHORT, *_PLAIN))}"
        raise ExploreError(f"--sweep {short(text)}: no key is called {short(name)}; {hint}")
    found = tuple(_value(text, name, value) for value in values)
    if len({_number(value) for value in found}) < len(found):
        raise ExploreError(f"--sweep {short(text)}: a value is given twice; give each once")
    return name, found


def _value(text: str, name: str, value: str) -> Value:
    if name in ("TARGET", "HW_VER"):
        return value
    match = re.fullmatch(r"(-?[0-9]{1,18})([KM]?)", value)
    if match is None:
        raise ExploreError(f"--sweep {short(text)}: expected a whole number such as 16 or 128K, found {short(value)}")
    return value if match[2] else int(value)


def _number(value: Value) -> Value:
    """Return what a value means."""
    match = re.fullmatch(r"(-?[0-9]+)([KM])", value) if isinstance(value, str) else None
    return value if match is None else int(match[1]) << {"K": 10, "M": 20}[match[2]]


def points_of(
    sweeps: Sequence[str], base: VTAConfig | None = None, hardware: Mapping[str, object] | None = None
) -> list[Point]:
    """Return every combination of the values, the last key varying first; what ``base`` has where nothing is swept.

    A combination that is no legal configuration is there, too, with the sentence that says why.
    """
    axes = [swept(text) for text in sweeps]
    names = [name for name, _ in axes]
    keys = [_SHORT.get(name, _PLAIN.get(name, name)) for name in names]
    for key in keys:
        if keys.count(key) > 1:
            given = " and ".join(name for name, other in zip(names, keys, strict=True) if other == key)
            raise ExploreError(f"--sweep: {key} is swept twice, by {given}; give all of its values at once")
    count = 1
    for _, values in axes:
        count *= len(values)
    if count > _MOST_POINTS:
        raise ExploreError(f"--sweep: {count:,} combinations are more than the {_MOST_POINTS:,} that are looked at")
    return [
        _point(tuple(zip(names, values, strict=True)), base or VTAConfig(), hardware or {})
        for values in itertools.product(*(values for _, values in axes))
    ]


def _point(values: tuple[tuple[str, Value], ...], base: VTAConfig, hardware: Mapping[str, object]) -> Point:
    config: dict[str, object] = {}
    setup = dict(hardware)
    try:
        for name, value in values:
            key = _SHORT.get(name, _PLAIN.get(name, name))
            if key in FIELD_OF_KEY:
                config[key] = _logarithm(name, _number(value)) if name in _SHORT else _number(value)
            else:
                setup[key] = _number(value)
        made = VTAConfig.from_dict({**_without_width(base.to_dict(), config), **config}, where="the sweep")
        return Point(values, made, hardware_setup(setup))
    except VTAError as error:
        return Point(values, None, None, str(error))


def _without_width(base: Mapping[str, object], changed: Mapping[str, object]) -> dict[str, object]:
    """Return ``base`` without what follows from LOG_BLOCK where that changes."""
    follows = ("LOG_BLOCK_IN", "LOG_BLOCK_OUT") if "LOG_BLOCK" in changed else ()
    return {key: value for key, value in base.items() if key not in follows}


def _logarithm(name: str, value: Value) -> int:
    assert isinstance(value, int)
    if value < 1 or value & (value - 1):
        raise ExploreError(f"{name} is {value}, but it must be a power of two")
    return value.bit_length() - 1

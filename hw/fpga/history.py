"""What earlier reports found: a file with a line of JSON for each, to see how area and clock went.

Tests: ``tests/hw/fpga/test_history.py``.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from hw.fpga.place import FpgaError
from isa.printable import short

__all__ = ["Entry", "append_entry", "history_lines", "read_history"]

_MOST_BYTES = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A report: when it was made (UTC), of what (name and both digests), for which part, and what was found."""

    when: str
    name: str
    config: str
    hardware: str
    device: str
    speed: int
    seed: int
    mhz: float
    lut: int
    ff: int
    dsp: int
    bram: int

    def is_like(self, other: "Entry") -> bool:
        """Whether both are of the same accelerator on the same part; seeds and the hardware's source may differ."""
        return self._what == other._what

    @property
    def _what(self) -> tuple[str, str, str, int]:
        return self.config, self.hardware, self.device, self.speed


def read_history(file: Path) -> tuple[Entry, ...]:
    """Return the entries of a file, oldest first; none if there is no such file. ``FpgaError`` names a bad line."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise FpgaError(f"{file}: a history has {_MOST_BYTES} bytes at most; name another file")
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise FpgaError(f"{file}: the history cannot be read ({error}); name another file") from None
    return tuple(_entry(line, f"{file}, line {number}") for number, line in enumerate(text.splitlines(), 1))


def append_entry(file: Path, entry: Entry) -> None:
    """Add an entry at the end of a file, which is made if there is none."""
    try:
        with file.open("a", encoding="utf-8") as output:
            output.write(json.dumps(asdict(entry)) + "\n")
    except OSError as error:
        raise FpgaError(f"{file}: the history cannot be written ({error.strerror}); name another file") from None


def history_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield a line for each entry."""
    for entry in entries:
        yield (
            f"  {entry.when}  seed {entry.seed:<3}{entry.mhz:6.1f} MHz  LUT {entry.lut:,}, FF {entry.ff:,}, "
            f"multipliers {entry.dsp:,}, block RAMs {entry.bram:,}"
        )


def _entry(line: str, place: str) -> Entry:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    kinds = {field.name: field.type for field in fields(Entry)}
    if not isinstance(found, dict) or found.keys() != kinds.keys():
        raise FpgaError(f"{place}: expected a report's {', '.join(kinds)}, got {short(line)}")
    for name, kind in kinds.items():
        value = found[name]
        fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)  # type: ignore[arg-type]
        if isinstance(value, bool) or not fits or (isinstance(value, str) and not value.isprintable()):
            raise FpgaError(f"{place}: expected {name} to be a printable {kind.__name__}, got {short(value)}")  # type: ignore[union-attr]
    return Entry(**found)

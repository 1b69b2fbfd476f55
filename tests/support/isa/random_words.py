"""Random legal instruction words in bulk: every field takes any value of its range, corners often."""

import numpy as np
import numpy.typing as npt

from isa.bulk import FieldTable, broken, encode_fields
from isa.config import VTAConfig
from isa.layout import Field, instruction_layouts
from isa.legality import legality_rules

__all__ = ["random_words"]


def random_words(rng: np.random.Generator, config: VTAConfig, count: int) -> npt.NDArray[np.uint64]:
    """Return ``count`` legal words, shape (count, 2), of all kinds in random order."""
    tables = {}
    per_layout = -(-count // 5)
    place = 0
    order = rng.permutation(5 * per_layout)
    for name, layout in instruction_layouts(config).items():
        fields = [field for field in layout.used if field.name != "opcode"]
        kept: list[dict[str, npt.NDArray[np.int64]]] = []
        while sum(len(next(iter(part.values()))) for part in kept) < per_layout:
            columns = {field.name: _column(rng, field, per_layout) for field in fields}
            illegal = np.zeros(per_layout, np.bool_)
            for rule in legality_rules(config)[name]:
                illegal |= broken(rule, columns)
            kept.append({key: column[~illegal] for key, column in columns.items()})
        merged = {field.name: np.concatenate([part[field.name] for part in kept])[:per_layout] for field in fields}
        tables[name] = FieldTable(name, order[place : place + per_layout], merged)
        place += per_layout
    return encode_fields(tables, config)[:count]


def _column(rng: np.random.Generator, field: Field, count: int) -> npt.NDArray[np.int64]:
    """Return values of one field: mostly anything, sometimes zero (pads and flags more often) or the ends."""
    values = rng.integers(field.low, field.high + 1, count)
    choice = rng.random(count)
    zero = 0.6 if field.width in (1, 4) else 0.1
    values[choice < zero] = 0
    values[choice > 0.95] = field.high
    values[choice > 0.97] = field.low
    return values

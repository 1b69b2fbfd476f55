"""``ConfigSpace``: all combinations of a template's knobs, numbered; ``ConfigEntity``: one of them.

Number and choice stand for each other: the first knob is the digit that changes fastest. Filters do not renumber; they
say which numbers are valid. Tests: tests/vta/autotvm/space/test_config_space.py.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from isa.printable import short
from vta.autotvm.space.entities import (
    AnnotateEntity,
    Entity,
    Option,
    OtherOptionEntity,
    ReorderEntity,
    SplitEntity,
    entity_of_json,
    json_of,
    option,
)
from vta.autotvm.space.errors import SpaceError
from vta.autotvm.space.policies import annotations, orders, splits
from vta.tir.expr import IntImm, IterVar

__all__ = ["ConfigEntity", "ConfigSpace", "value_of"]

Axis = int | IterVar


@dataclass(frozen=True, slots=True)
class ConfigEntity:
    """One choice: a value for each knob. In a template, ``define_...`` does nothing with it.

    ``index`` is its number in the space that it comes from, None where it was read from elsewhere.
    """

    index: int | None
    values: Mapping[str, Entity] = field(hash=False)
    is_fallback: bool = False

    def __getitem__(self, name: str) -> Entity:
        if name not in self.values:
            raise SpaceError(f"there is no knob {name!r}{_hint(name, self.values)}")
        return self.values[name]

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def define_split(self, name: str, axis: Axis, policy: str = "factors", **options: object) -> None:
        """Do nothing: the choice is made."""

    def define_reorder(self, name: str, axes: Sequence[IterVar], policy: str, **options: object) -> None:
        """Do nothing: the choice is made."""

    def define_annotate(self, name: str, axes: Sequence[IterVar], policy: str, **options: object) -> None:
        """Do nothing: the choice is made."""

    def define_knob(self, name: str, candidate: Sequence[object]) -> None:
        """Do nothing: the choice is made."""

    def multi_filter(self, accepts: Callable[["ConfigEntity"], bool]) -> None:
        """Do nothing: the choice is made."""

    def add_flop(self, flop: float) -> None:
        """Do nothing: the space knows."""

    def to_json_dict(self) -> dict[str, object]:
        """Return it as records have it."""
        knobs = [[name, *json_of(value)] for name, value in self.values.items()]
        return {"index": self.index, "code_hash": None, "entity": knobs}

    @staticmethod
    def from_json_dict(record: object) -> "ConfigEntity":
        """Return what ``to_json_dict`` gave, or TVM wrote; raises ``SpaceError``."""
        match record:
            case {"index": int() | None as index, "entity": [*knobs]}:
                values: dict[str, Entity] = {}
                for knob in knobs:
                    match knob:
                        case [str(name), kind, value]:
                            values[name] = entity_of_json(name, kind, value)
                        case _:
                            raise SpaceError(f"a knob of a record is [name, kind, value], not {short(knob)}")
                return ConfigEntity(index, values)
            case _:
                raise SpaceError(f"a config of a record has an index and an entity, not {short(record)}")


class ConfigSpace:
    """The knobs that a template defines while it runs, and all choices of their values.

    While it is being defined, ``space[name]`` is the knob's first value, so that the template can go on with it.
    """

    def __init__(self) -> None:
        self.knobs: dict[str, tuple[Entity, ...]] = {}
        self.flop = 0.0
        self.is_fallback = False
        self._filters: list[Callable[[ConfigEntity], bool]] = []

    def define_split(  # TVM's signature
        self,
        name: str,
        axis: Axis,
        policy: str = "factors",
        *,
        num_outputs: int = 2,
        filter: Callable[[SplitEntity], bool] | None = None,  # noqa: A002  # TVM's name
        max_factor: int | None = None,
        no_tail: bool = False,
        candidate: Sequence[Sequence[int]] = (),
    ) -> None:
        """Let loop ``axis``, or one of so many iterations, be split in ``num_outputs``; see ``policies.splits``.

        ``filter`` says which values are left.
        """
        found = splits(
            name, _extent(name, axis), policy, num_outputs, max_factor=max_factor, no_tail=no_tail, candidate=candidate
        )
        values = [SplitEntity(size) for size in found]
        self._define("define_split", name, [value for value in values if filter is None or filter(value)])

    def define_reorder(
        self, name: str, axes: Sequence[IterVar], policy: str, *, candidate: Sequence[Sequence[int | IterVar]] = ()
    ) -> None:
        """Let loops be ordered; see ``policies.orders``. A candidate has the loops, or their places in ``axes``."""
        places = {id(axis): place for place, axis in enumerate(axes)}
        given = [[each if isinstance(each, int) else places.get(id(each), -1) for each in order] for order in candidate]
        found = orders(name, len(axes), policy, candidate=given)
        self._define("define_reorder", name, [ReorderEntity(order) for order in found])

    def define_annotate(self, name: str, axes: Sequence[IterVar], policy: str) -> None:
        """Let loops be unrolled or vectorised; see ``policies.annotations``."""
        found = annotations(name, len(axes), policy)
        self._define("define_annotate", name, [AnnotateEntity(each) for each in found])

    def define_knob(self, name: str, candidate: Sequence[object]) -> None:
        """Let one of ``candidate`` be chosen: numbers, texts, None, or tuples of them."""
        self._define("define_knob", name, [OtherOptionEntity(option(value)) for value in candidate])

    def multi_filter(self, accepts: Callable[[ConfigEntity], bool]) -> None:
        """Let choices be valid only if ``accepts`` says so, all knobs considered."""
        self._filters.append(accepts)

    def add_flop(self, flop: float) -> None:
        """Say how many operations the template does, for records of speed."""
        self.flop += flop

    def _define(self, what: str, name: str, values: Sequence[Entity]) -> None:
        if name in self.knobs:
            raise SpaceError(f"{what} {name!r}: there is a knob of that name")
        if not values:
            raise SpaceError(f"{what} {name!r}: no value is left to choose; widen the candidates or the filter")
        if len(set(values)) < len(values):
            raise SpaceError(f"{what} {name!r}: a value is there twice")
        self.knobs[name] = tuple(values)

    def __getitem__(self, name: str) -> Entity:
        if name not in self.knobs:
            raise SpaceError(f"there is no knob {name!r}{_hint(name, self.knobs)}")
        return self.knobs[name][0]

    def __contains__(self, name: str) -> bool:
        return name in self.knobs

    @property
    def dims(self) -> tuple[int, ...]:
        """How many values each knob has."""
        return tuple(len(values) for values in self.knobs.values())

    def __len__(self) -> int:
        return prod(self.dims)

    def get(self, index: int) -> ConfigEntity:
        """Return choice number ``index``."""
        digits = self.point2knob(index)
        chosen = zip(self.knobs.items(), digits, strict=True)
        return ConfigEntity(index, {name: values[digit] for (name, values), digit in chosen})

    def point2knob(self, point: int) -> tuple[int, ...]:
        """Return the place of each knob's value for choice number ``point``."""
        if not 0 <= point < len(self):
            raise SpaceError(f"this space has {len(self)} choices, numbers 0 to {len(self) - 1}; {point} is none")
        digits = []
        for size in self.dims:
            point, digit = divmod(point, size)
            digits.append(digit)
        return tuple(digits)

    def knob2point(self, knob: Sequence[int]) -> int:
        """Return the number of the choice with these places."""
        dims = self.dims
        if len(knob) != len(dims) or any(not 0 <= digit < size for digit, size in zip(knob, dims, strict=True)):
            raise SpaceError(f"places of a choice are {len(dims)} numbers below {list(dims)}, not {list(knob)}")
        point = 0
        for digit, size in zip(reversed(knob), reversed(dims), strict=True):
            point = point * size + digit
        return point

    def index_of(self, config: ConfigEntity) -> int:
        """Return the number of the choice with the values of ``config``, wherever that comes from."""
        if set(config.values) != set(self.knobs):
            raise SpaceError(f"this space has the knobs {', '.join(self.knobs)}, not {', '.join(config.values)}")
        digits = []
        for name, values in self.knobs.items():
            if config[name] not in values:
                raise SpaceError(f"knob {name!r} cannot be {json_of(config[name])[1]}")
            digits.append(values.index(config[name]))
        return self.knob2point(digits)

    def is_index_valid(self, index: int) -> bool:
        """Return whether there is such a choice and all filters accept it."""
        if not 0 <= index < len(self):
            return False
        if not self._filters:
            return True
        config = self.get(index)
        return all(accepts(config) for accepts in self._filters)

    def valid_indices(self) -> Iterator[int]:
        """Yield the numbers of all valid choices."""
        return (index for index in range(len(self)) if self.is_index_valid(index))

    def fallback(self) -> ConfigEntity:
        """Return what is taken where nobody has tuned: the first value of each knob."""
        return ConfigEntity(0, {name: values[0] for name, values in self.knobs.items()}, is_fallback=True)


def value_of(config: "ConfigEntity | ConfigSpace", name: str) -> Option:
    """Return the value of a knob that was defined by ``define_knob``; the inner extent of a split in two."""
    match config[name]:
        case OtherOptionEntity(val):
            return val
        case SplitEntity((_, inner)):
            return inner
        case other:
            raise SpaceError(f"knob {name!r} is {json_of(other)[1]}, and no single value")


def _extent(name: str, axis: Axis) -> int:
    match axis:
        case int():
            return axis
        case IterVar(dom=dom) if dom is not None and isinstance(dom.extent, IntImm):
            return dom.extent.value
        case _:
            raise SpaceError(f"define_split {name!r}: a loop has a constant number of iterations, not {axis}")


def _hint(name: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(known) or 'none'}"

"""What the attributes of all operators have in common: frozen dataclasses of plain values.

An attribute class is declared beside its operator. Its fields are bool, int, float, string enums, element types, tuples
of these, or None; the printer, the parser and the files of networks need nothing else.
"""

from dataclasses import dataclass

__all__ = ["NO_ATTRS", "Attrs", "NoAttrs"]


@dataclass(frozen=True, slots=True)
class Attrs:
    """The base of the attribute classes."""


@dataclass(frozen=True, slots=True)
class NoAttrs(Attrs):
    """The attributes of an operator that has none."""


NO_ATTRS = NoAttrs()

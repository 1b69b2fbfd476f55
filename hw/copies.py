"""Registers that say the same, each for some of the lanes that wait for it.

Tests: ``tests/hw/test_copies.py``.
"""

from math import gcd

from amaranth.hdl import Module, Signal, Value

__all__ = ["copies_of", "parts_of"]

_WAYS = 4
"""In how many ways registers that say the same can differ."""


def copies_of(m: Module, value: Value, *, lanes: int, name: str) -> list[Value]:
    """Return registers of ``value``, zero at first, one for each of ``parts_of`` something with so many lanes.

    A register that chooses among hundreds of bits is far from most of them, and takes the wires that these need
    themselves. Synthesis makes one register of those that are alike: so every other one keeps the opposite, and the
    first two are not reset, to which none of their users may pay attention.
    """
    copies: list[Value] = []
    for index in range(gcd(lanes, _WAYS)):
        opposite = index % 2
        first = (1 << len(value)) - 1 if opposite else 0
        kept = Signal(len(value), name=f"{name}_{index}", init=first, reset_less=index < 2)
        m.d.sync += kept.eq(~value if opposite else value)
        copies.append(~kept if opposite else kept)
    return copies


def parts_of(value: Value, lanes: int) -> list[Value]:
    """Return ``value``, which has so many lanes, in as many parts as there are copies of what they wait for."""
    count = gcd(lanes, _WAYS)
    size = len(value) // count
    return [value[index * size : (index + 1) * size] for index in range(count)]

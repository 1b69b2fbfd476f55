"""A product made of look-up tables and carry chains, where an FPGA has no multiplier left.

Tests: ``tests/hw/compute/test_logic_product.py``, ``tests/hw/compute/test_alu_lane.py``; costs:
``tests/hw/test_reset.py``.
"""

from amaranth.hdl import Cat, Module, Signal, Value, signed

__all__ = ["logic_terms"]

_Term = tuple[int, Signal]
"""A number, and the bits by which it is shifted to the left."""


def logic_terms(m: Module, a: Value, b: Value, *, width: int, most: int, name: str) -> list[Value]:
    """Return numbers, ``most`` or fewer, whose sum has the low ``width`` bits of ``a * b``, in the same cycle.

    A term for every two bits of ``b`` (the top bit of a signed one counts negative), then trees of adders, none wider
    than what its sum changes. Every sum is kept as it is: yosys would merge additions, and take more look-up tables.
    """
    terms: list[_Term] = []
    top = len(b) - 1 if b.shape().signed else -1
    for low in range(0, min(len(b), width), 2):
        first = _masked(a, b, low)
        if low == top:
            row = -first
        elif low + 1 == len(b):
            row = first
        else:
            second = Cat(0, _masked(a, b, low + 1)).as_signed()
            row = first - second if low + 1 == top else first + second
        terms.append((low, _kept(m, row, width - low, f"{name}_row_{low}")))
    level = 0
    while len(terms) > most:
        pairs = [terms[index : index + 2] for index in range(0, len(terms), 2)]
        terms = [
            pair[0] if len(pair) == 1 else _joined(m, pair[0], pair[1], width, f"{name}_sum_{level}_{index}")
            for index, pair in enumerate(pairs)
        ]
        level += 1
    return [(number << shift)[:width].as_signed() if shift else number for shift, number in terms]


def _masked(a: Value, b: Value, bit: int) -> Value:
    """Return ``a`` where a bit of ``b`` is set, zero elsewhere, as a signed number."""
    masked = a.as_unsigned() & b[bit].replicate(len(a))
    return masked.as_signed() if a.shape().signed else Cat(masked, 0).as_signed()


def _joined(m: Module, low: _Term, high: _Term, width: int, name: str) -> _Term:
    """Return the sum of two neighbours: the lowest bits of the lower one are those of the sum."""
    shift, number = low
    apart = high[0] - shift
    assert apart < len(number), "neighbours overlap: two bits apart, and a row of two bits has three at least"
    upper = _kept(m, number[apart:].as_signed() + high[1], width - high[0], name)
    total = Signal(signed(apart + len(upper)), name=f"{name}_whole")
    m.d.comb += total.eq(Cat(number[:apart], upper))
    return shift, total


def _kept(m: Module, value: Value, width: int, name: str) -> Signal:
    """Return a signal with the low bits of a signed value, no more than ``width``."""
    signal = Signal(signed(min(len(value), width)), name=name, attrs={"keep": 1})
    m.d.comb += signal.eq(value)
    return signal

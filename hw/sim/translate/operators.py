"""LLVM code of the operator cells, with Amaranth's meaning.

Division floors and gives zero for a zero divisor; the remainder has the divisor's sign. Operands of sums and products
arrive extended (Amaranth widens them so that nothing overflows), which is seen here so that the sum keeps its form
without masking. Tests: ``tests/hw/sim/translate``,
``tests/hw/sim/test_random_designs.py``.
"""

from hw.sim.netlist import cells as n
from hw.sim.netlist.plan import WORD
from hw.sim.translate.text import Form, container, mask
from hw.sim.translate.words import HeldValue, Words

__all__ = ["emit_bitwise", "emit_operator", "resize"]

ZERO, SIGN, ANY = Form.ZERO, Form.SIGN, Form.ANY

_SUMS = {"+": "add", "-": "sub", "*": "mul"}
_SHIFTS = {"<<": "shl", "u>>": "lshr", "s>>": "ashr"}
_COMPARISONS = {"<": "lt", ">": "gt", "<=": "le", ">=": "ge"}
_REDUCTIONS = {"b", "r|", "r&", "r^", "==", "!="}
_NO_LIBRARY_CALL = 192
"""LLVM expands divisions inline above 128 bits; between 65 and 128 it would call a library that may not be there."""


def emit_bitwise(words: Words, cell: n.Operator, low: int, high: int) -> HeldValue:
    """Return bits ``low`` to ``high`` (at most 64 of them) of a bitwise operator."""
    fn, width = words.fn, high - low
    bits = container(width)
    if cell.kind == "m":
        chosen, other = (words.get(value[low:high]) for value in cell.inputs[1:])
        name = fn.op(f"select i1 {words.flag(cell.inputs[0][0])}, i{bits} {chosen}, i{bits} {other}")
    elif cell.kind == "~":
        name = fn.op(f"xor i{bits} {words.get(cell.inputs[0][low:high])}, {mask(width)}")
    else:
        left, right = (words.get(value[low:high]) for value in cell.inputs)
        name = fn.op(f"{ {'&': 'and', '|': 'or', '^': 'xor'}[cell.kind] } i{bits} {left}, {right}")
    return HeldValue(name, bits, width, ZERO)


def emit_operator(words: Words, cell: n.Operator, width: int) -> HeldValue:
    """Return the low ``width`` bits of an operator that is not bitwise; above 64 bits ``HeldValue`` has an i<width>."""
    if cell.kind in _REDUCTIONS:
        return HeldValue(_reduction(words, cell), 1, 1, ZERO)
    if cell.kind[0] in "us" and cell.kind[1:] in _COMPARISONS:
        return HeldValue(_comparison(words, cell), 1, 1, ZERO)
    if cell.kind in _SUMS:
        return _sum(words, cell, width)
    if cell.kind in _SHIFTS:
        return _shift(words, cell, width)
    return _division(words, cell)


def _fetch(words: Words, nets: n.Value, form: Form, bits: int) -> str:
    """Return a value of any width in ``i<bits>``."""
    return words.get(nets, form, bits) if bits <= WORD else words.wide(nets, SIGN if form is SIGN else ZERO, bits)


def _type_bits(width: int) -> int:
    """Return the bits of the type that arithmetic of ``width`` bits uses."""
    return container(width) if width <= WORD else width


def _sum(words: Words, cell: n.Operator, width: int) -> HeldValue:
    values = [value[:width] for value in cell.inputs]
    bits = _type_bits(width)
    form, operand = _sum_forms(cell.kind, values, width)
    names = [_fetch(words, value, operand, bits) for value in values]
    if len(names) == 1:
        names.insert(0, "0")
    return HeldValue(words.fn.op(f"{_SUMS[cell.kind]} i{bits} {names[0]}, {names[1]}"), bits, width, form)


def _sum_forms(kind: str, values: list[n.Value], width: int) -> tuple[Form, Form]:
    """Return (form of the result, form that the operands need for it); a result that cannot overflow is exact."""
    if width > WORD:
        return ANY, ZERO
    unsigned, signed = zip(*(_significant(value) for value in values), strict=True)
    if kind == "*":
        if sum(unsigned) <= width:
            return ZERO, ZERO
        return (SIGN, SIGN) if sum(signed) <= width else (ANY, ANY)
    if kind == "+" and max(unsigned) < width:
        return ZERO, ZERO
    return (SIGN, SIGN) if max(signed) < width else (ANY, ANY)


def _significant(value: n.Value) -> tuple[int, int]:
    """Return how many bits the value needs as an unsigned and as a signed number, as far as its nets show."""
    unsigned = len(value)
    while unsigned and value[unsigned - 1] == 0:
        unsigned -= 1
    if unsigned < len(value):
        return unsigned, unsigned + 1
    signed = len(value)
    while signed > 1 and value[signed - 2] == value[-1]:
        signed -= 1
    return unsigned, signed


def _shift(words: Words, cell: n.Operator, width: int) -> HeldValue:
    value, amount = cell.inputs
    fn, kind = words.fn, cell.kind
    if kind == "<<":
        value = value[:width]
    span = len(value)
    bits = _type_bits(span)
    form = {"<<": ANY, "u>>": ZERO, "s>>": SIGN}[kind]
    name = _fetch(words, value, form, bits)
    limit, size = bits - 1, _type_bits(max(len(amount), 1))
    if mask(len(amount)) <= limit:
        count = resize(words, _fetch(words, amount, ZERO, size), size, bits)
        return HeldValue(fn.op(f"{_SHIFTS[kind]} i{bits} {name}, {count}"), bits, span, form)
    size = max(size, bits)
    far = _fetch(words, amount, ZERO, size)
    beyond = fn.op(f"icmp ugt i{size} {far}, {limit}")
    near = fn.op(f"select i1 {beyond}, i{size} {limit}, i{size} {far}")
    shifted = fn.op(f"{_SHIFTS[kind]} i{bits} {name}, {resize(words, near, size, bits)}")
    if kind != "s>>":
        shifted = fn.op(f"select i1 {beyond}, i{bits} 0, i{bits} {shifted}")
    return HeldValue(shifted, bits, span, form)


def resize(words: Words, name: str, held: int, bits: int) -> str:
    """Return an unsigned value in ``i<bits>``."""
    if held == bits:
        return name
    return words.fn.op(f"{'zext' if held < bits else 'trunc'} i{held} {name} to i{bits}")


def _comparison(words: Words, cell: n.Operator) -> str:
    left, right = cell.inputs
    signed = cell.kind[0] == "s"
    form = SIGN if signed else ZERO
    bits = _type_bits(max(len(left), 1))
    names = [_fetch(words, value, form, bits) for value in (left, right)]
    relation = cell.kind[0] + _COMPARISONS[cell.kind[1:]]
    return words.fn.op(f"icmp {relation} i{bits} {names[0]}, {names[1]}")


def _reduction(words: Words, cell: n.Operator) -> str:
    """Return the i1 of an operator that looks at all bits, 64 at a time."""
    fn, kind = words.fn, cell.kind
    width = len(cell.inputs[0])
    total: str | None = None
    size = container(min(width, WORD))
    for low in range(0, width, WORD):
        parts = [words.get(value[low : low + WORD], ZERO, size) for value in cell.inputs]
        part = parts[0]
        if len(parts) == 2:
            part = fn.op(f"xor i{size} {part}, {parts[1]}")
        elif kind == "r&":
            part = fn.op(f"xor i{size} {part}, {mask(min(WORD, width - low))}")
        joint = "xor" if kind == "r^" else "or"
        total = part if total is None else fn.op(f"{joint} i{size} {total}, {part}")
    if total is None:
        return fn.op(f"or i1 {int(kind in ('r&', '=='))}, 0")
    if kind == "r^":
        ones = fn.op(f"call i{size} @llvm.ctpop.i{size}(i{size} {total})")
        return fn.op(f"trunc i{size} {ones} to i1") if size > 1 else ones
    return fn.op(f"icmp {'eq' if kind in ('r&', '==') else 'ne'} i{size} {total}, 0")


def _division(words: Words, cell: n.Operator) -> HeldValue:
    """Floor division or its remainder; in a wider type than its operands, so that nothing overflows."""
    fn = words.fn
    signed, quotient = cell.kind[0] == "s", cell.kind[1:] == "//"
    width = len(cell.inputs[0])
    bits = container(width + 1) if width < WORD else max(width + 1, _NO_LIBRARY_CALL)
    left, right = (_fetch(words, value, SIGN if signed else ZERO, bits) for value in cell.inputs)
    if bits > WORD:
        left, right = _opaque(words, left, bits), _opaque(words, right, bits)
    none = fn.op(f"icmp eq i{bits} {right}, 0")
    divisor = fn.op(f"select i1 {none}, i{bits} 1, i{bits} {right}")
    kind = "s" if signed else "u"
    result = fn.op(f"{kind}{'div' if quotient or signed else 'rem'} i{bits} {left}, {divisor}")
    if signed:
        rest = fn.op(f"sub i{bits} {left}, {fn.op(f'mul i{bits} {result}, {divisor}')}")
        differ = fn.op(f"icmp slt i{bits} {fn.op(f'xor i{bits} {rest}, {divisor}')}, 0")
        inexact = fn.op(f"icmp ne i{bits} {rest}, 0")
        floor = fn.op(f"and i1 {differ}, {inexact}")
        if quotient:
            result = fn.op(f"add i{bits} {result}, {fn.op(f'sext i1 {floor} to i{bits}')}")
        else:
            result = fn.op(f"add i{bits} {rest}, {fn.op(f'select i1 {floor}, i{bits} {divisor}, i{bits} 0')}")
    result = fn.op(f"select i1 {none}, i{bits} 0, i{bits} {result}")
    return HeldValue(result, bits, width, SIGN if signed else ZERO)


def _opaque(words: Words, name: str, bits: int) -> str:
    """Return a value of which LLVM knows nothing, so that it does not narrow a division to 128 bits."""
    frame = words.fn.alloca(-(-bits // WORD) * 8)
    words.fn.do(f"store volatile i{bits} {name}, ptr {frame}")
    return words.fn.op(f"load volatile i{bits}, ptr {frame}")

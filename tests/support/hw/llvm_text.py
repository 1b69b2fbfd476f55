"""Straight-line LLVM text, computed: what the functions of ``hw.sim`` are made of, without compiling them."""

import re
from collections.abc import Iterable

__all__ = ["compute", "kinds"]


def kinds(lines: Iterable[str]) -> list[str]:
    """Return the kind of each instruction, "fshr" for a call of it."""
    found = []
    for line in lines:
        text = line.strip().partition(" = ")[2] or line.strip()
        call = re.search(r"@llvm\.(\w+)", text)
        found.append(call[1] if call else text.split()[0])
    return found


def compute(lines: Iterable[str], memory: bytearray) -> dict[str, int]:
    """Run ``lines`` on ``memory``, which every pointer argument is; return the values by name, unsigned."""
    values: dict[str, int] = {}
    for line in lines:
        name, equals, text = line.strip().partition(" = ")
        if equals:
            values[name] = _value(text, values, memory)
        else:
            _store(name, values, memory)
    return values


def _signed(value: int, bits: int) -> int:
    return value - (value >> (bits - 1) << bits)


def _operand(text: str, values: dict[str, int], bits: int) -> int:
    text = text.strip()
    if text in ("%io", "%cur", "%nxt", "%mem"):
        return 0
    number = values[text] if text.startswith("%") else int(text)
    return number & (1 << bits) - 1


def _value(text: str, values: dict[str, int], memory: bytearray) -> int:
    words = text.replace(",", " ").split()
    kind = words[0]
    if kind == "getelementptr":
        return _operand(words[3], values, 64) + int(words[5])
    if kind == "load":
        bits, at = int(words[1][1:]), _operand(words[3], values, 64)
        assert at % int(words[5]) == 0, f"{text} at {at}"
        return int.from_bytes(memory[at : at + (bits + 7) // 8], "little") & (1 << bits) - 1
    if kind == "call":
        high, low, count = (_operand(part, values, 64) for part in re.findall(r"i64 ([%\w-]+)", text)[-3:])
        assert 0 < count < 64
        return ((high << 64 | low) >> count) & (1 << 64) - 1
    bits = int(words[1][1:])
    if words[3:4] == ["to"]:
        value, wide = _operand(words[2], values, bits), int(words[4][1:])
        assert (wide < bits) == (kind == "trunc"), text
        return (_signed(value, bits) if kind == "sext" else value) & (1 << wide) - 1
    a, b = _operand(words[2], values, bits), _operand(words[3], values, bits)
    return _binary(kind, a, b, bits) & (1 << bits) - 1


def _binary(kind: str, a: int, b: int, bits: int) -> int:
    match kind:
        case "and":
            return a & b
        case "or":
            return a | b
        case "xor":
            return a ^ b
        case "add":
            return a + b
    assert b < bits, f"{kind} by {b} of {bits} bits has no value"
    return {"shl": a << b, "lshr": a >> b, "ashr": _signed(a, bits) >> b}[kind]


def _store(text: str, values: dict[str, int], memory: bytearray) -> None:
    words = text.replace(" atomic", "").replace(" unordered", "").replace(",", " ").split()
    assert words[0] == "store", text
    bits, at = int(words[1][1:]), _operand(words[4], values, 64)
    assert at % int(words[6]) == 0, f"{text} at {at}"
    memory[at : at + (bits + 7) // 8] = _operand(words[2], values, bits).to_bytes((bits + 7) // 8, "little")

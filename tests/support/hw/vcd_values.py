"""Reads a VCD file back as values by cycle."""

import io
from typing import Any

from vcd.reader import TokenKind, tokenize

__all__ = ["Waves", "read_vcd"]

Waves = dict[str, list[int]]


def read_vcd(text: bytes, clock: str) -> Waves:
    """Return the values of each variable just before each rising edge of the clock."""
    scope: list[str] = []
    names: dict[str, list[str]] = {}
    now: dict[str, int] = {}
    waves: Waves = {}
    for token in tokenize(io.BytesIO(text)):
        match token.kind:
            case TokenKind.SCOPE:
                scope.append(token.scope.ident)
            case TokenKind.UPSCOPE:
                scope.pop()
            case TokenKind.VAR:
                name = ".".join((*scope, token.var.reference))
                names.setdefault(token.var.id_code, []).append(name)
            case TokenKind.CHANGE_SCALAR | TokenKind.CHANGE_VECTOR:
                change: Any = token.data
                value = change.value if isinstance(change.value, int) else int(change.value, 2)
                if clock in names[change.id_code] and value and not now[change.id_code]:
                    for code, number in now.items():
                        for name in names[code]:
                            waves.setdefault(name, []).append(number)
                now[change.id_code] = value
            case _:
                pass
    return waves

"""Which well-formed words are illegal, as data: each rule lists the field values that break it.

Encoder, decoder, bulk decoder, checker, documentation and hardware read this one table. Source: `docs/isa.md`, "Illegal
words". Tests: ``tests/isa/test_legality.py``.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from isa.config import VTAConfig
from isa.instructions import FUSED, AluOpcode, MemoryId, numbered

__all__ = ["Condition", "Rule", "broken_rule", "legality_rules"]


@dataclass(frozen=True, slots=True)
class Condition:
    """Holds where ``field`` has one of ``values``, or where it has none of them if ``negated``."""

    field: str
    values: tuple[int, ...]
    negated: bool = False

    def holds(self, fields: Mapping[str, int]) -> bool:
        """Return whether the condition holds for the field values of one word."""
        return (fields[self.field] in self.values) is not self.negated


@dataclass(frozen=True, slots=True)
class Rule:
    """A word of kind ``layout`` is illegal where all ``conditions`` hold; ``message`` may name fields in braces."""

    layout: str
    conditions: tuple[Condition, ...]
    message: str

    def broken(self, fields: Mapping[str, int]) -> bool:
        """Return whether the word with these field values breaks the rule."""
        return all(condition.holds(fields) for condition in self.conditions)

    def explain(self, fields: Mapping[str, int]) -> str:
        """Return the sentence for a word that breaks the rule."""
        return f"{self.layout}: {self.message.format_map(fields)}"


def _is(field: str, *values: int) -> Condition:
    return Condition(field, values)


def _not(field: str, *values: int) -> Condition:
    return Condition(field, values, negated=True)


_PADS = ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1")
_LOADED = (MemoryId.UOP, MemoryId.WGT, MemoryId.INP, MemoryId.ACC, MemoryId.ACC_8BIT)
_UOP = _is("memory", MemoryId.UOP)

_FUSED_RULES: tuple[Rule, ...] = (
    Rule(
        "ALU",
        (_is("fused", 1), _not("alu_opcode", *FUSED)),
        f"fused is set, and the first of two operations is {numbered(FUSED)}, not {{alu_opcode}}",
    ),
    Rule(
        "ALU",
        (_is("fused", 1), _is("use_imm", 1)),
        "fused is set, so that imm is what is shifted by and operands are accumulators, use_imm must be 0",
    ),
)

_RULES: tuple[Rule, ...] = (
    Rule(
        "LOAD",
        (_not("memory", *MemoryId),),
        f"memory {{memory}} is unknown; the memories are {numbered(_LOADED)}",
    ),
    Rule("LOAD", (_is("memory", MemoryId.OUT),), "memory OUT cannot be loaded, only stored"),
    *(
        Rule(
            "LOAD",
            (_is("memory", MemoryId.INP, MemoryId.WGT), _is(flag, 1)),
            f"{flag} is set, but the load module, which runs it, has no module to its left",
        )
        for flag in ("pop_prev", "push_prev")
    ),
    Rule(
        "LOAD",
        (_UOP, _not("x_size", 0), _not("y_size", 1)),
        "a load of micro-ops is flat, y_size must be 1, not {y_size}",
    ),
    *(
        Rule(
            "LOAD",
            (_UOP, _not(pad, 0)),
            f"a load of micro-ops has no padding, {pad} must be 0, not {{{pad}}}",
        )
        for pad in _PADS
    ),
    Rule(
        "STORE",
        (_not("memory", *MemoryId),),
        "memory {memory} is unknown; a store that moves data has memory OUT 4",
    ),
    Rule(
        "STORE",
        (_not("memory", MemoryId.OUT), _not("x_size", 0), _not("y_size", 0)),
        "memory must be OUT 4 where data is moved, not {memory}",
    ),
    *(
        Rule(
            "STORE",
            (_is(flag, 1),),
            f"{flag} is set, but the store module has no module to its right",
        )
        for flag in ("pop_next", "push_next")
    ),
    *(Rule("STORE", (_not(pad, 0),), f"a store has no padding, {pad} must be 0, not {{{pad}}}") for pad in _PADS),
    Rule(
        "ALU",
        (_not("alu_opcode", *AluOpcode),),
        f"operation {{alu_opcode}} is unknown; the operations are {numbered(AluOpcode)}",
    ),
    *(
        Rule("FINISH", (_is(flag, 1),), f"{flag} is set, but nothing runs after FINISH (it may pop)")
        for flag in ("push_prev", "push_next")
    ),
)


@functools.lru_cache(maxsize=64)
def legality_rules(config: VTAConfig) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules by name of layout; a word that breaks none (and has no unused bit set) is legal."""
    rules = _RULES
    if config.inp_width != 8:
        narrow = f"memory ACC_8BIT needs inputs of 8 bits, and this configuration has {config.inp_width}"
        rules += (Rule("LOAD", (_is("memory", MemoryId.ACC_8BIT),), narrow),)
    if config.fused_alu:
        rules += _FUSED_RULES
    names = ("LOAD", "STORE", "GEMM", "FINISH", "ALU")
    return {name: tuple(rule for rule in rules if rule.layout == name) for name in names}


def broken_rule(name: str, fields: Mapping[str, int], config: VTAConfig) -> Rule | None:
    """Return the first rule that a word of layout ``name`` with these field values breaks."""
    for rule in legality_rules(config)[name]:
        if rule.broken(fields):
            return rule
    return None

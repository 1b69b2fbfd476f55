"""Fields of an instruction word in native code, the module that runs it, and whether the word is legal.

Positions come from ``isa.layout``, rules from the table in ``isa.legality``; what a rule says to a person is left
to ``isa.encoding.decode``, which Python calls for a word that was refused here. Tests:
``tests/runtime/sim/test_illegal_words.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

from isa.config import VTAConfig
from isa.instructions import MemoryId, Module, Opcode
from isa.layout import Layout, instruction_layouts
from isa.legality import Condition, Rule, legality_rules
from runtime.sim.emit import Emitter, Flag, Num

__all__ = ["Fields", "emit_is_illegal", "emit_module_of"]

_WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class Fields:
    """Reads fields of the word that ``halves`` hold: one half for a micro-op, low and high for an instruction."""

    layout: Layout
    halves: Sequence[Num]

    def __getitem__(self, name: str) -> Num:
        """Return an unsigned field."""
        field = self.layout.field(name)
        return self._bits(self.layout.offsets[self.layout.fields.index(field)], field.width)

    def signed(self, name: str) -> Num:
        """Return a field of two's complement."""
        return self[name].sign_extended(self.layout.field(name).width)

    def unused_bits(self) -> Num:
        """Return a number that is zero where every unused bit is."""
        masks = [0] * len(self.halves)
        for field, offset in zip(self.layout.fields, self.layout.offsets, strict=True):
            if field.unused:
                masks[offset // _WORD_BITS] |= ((1 << field.width) - 1) << (offset % _WORD_BITS)
        return reduce(or_, (half & mask for half, mask in zip(self.halves, masks, strict=True)))

    def _bits(self, offset: int, width: int) -> Num:
        half = self.halves[offset // _WORD_BITS]
        return (half >> (offset % _WORD_BITS)) & ((1 << width) - 1)


def emit_is_illegal(module: Any, config: VTAConfig) -> Any:
    """Write ``is_illegal(low, high)``: 1 for a word that no engine may execute."""
    emit = Emitter(module, "is_illegal", ("low", "high"), returns=True)
    halves = (emit.arguments["low"], emit.arguments["high"])
    opcode = Fields(instruction_layouts(config)["LOAD"], halves)["opcode"]
    for name, layout in instruction_layouts(config).items():
        with emit.when(opcode.equals(Opcode[name])):
            fields = Fields(layout, halves)
            broken = fields.unused_bits().differs(0)
            for rule in legality_rules(config)[name]:
                broken = broken | _breaks(fields, rule)
            emit.give(broken.as_num())
    return emit.finish(1)


def _breaks(fields: Fields, rule: Rule) -> Flag:
    return reduce(and_, (_holds(fields, condition) for condition in rule.conditions))


def _holds(fields: Fields, condition: Condition) -> Flag:
    field = fields.layout.field(condition.field)
    encoded = [field.encode(value) for value in condition.values]
    found = reduce(or_, (fields[condition.field].equals(value) for value in encoded))
    return ~found if condition.negated else found


def emit_module_of(module: Any, config: VTAConfig) -> Any:
    """Write ``module_of(low)``: the ``Module`` that runs a legal word."""
    emit = Emitter(module, "module_of", ("low",), returns=True)
    low = emit.arguments["low"]
    fields = Fields(instruction_layouts(config)["LOAD"], (low, low))
    with emit.when(fields["opcode"].equals(Opcode.STORE)):
        emit.give(Module.STORE)
    streams = fields["memory"].equals(MemoryId.INP) | fields["memory"].equals(MemoryId.WGT)
    with emit.when(fields["opcode"].equals(Opcode.LOAD) & streams):
        emit.give(Module.LOAD)
    return emit.finish(Module.COMPUTE)

"""Hides index arithmetic that may wrap from LLVM's analysis of loops, which has it wrong.

To vectorise a loop, LLVM assumes that recurrences do not wrap, and checks that once before the loop. It takes the check
of a wide recurrence for that of a narrower one as well (llvm/llvm-project#191382, LLVM 20 to 22; mended in
llvm/llvm-project#191498). ``i & 7`` is a recurrence of 3 bits to it, so that beside a read at ``i + s`` the vectorised
loop reads ``C[i & 7]`` as if it were ``C[i]``::

    B[i] = A[i + s] - C[i & 7]

A value that LLVM knows nothing about is no recurrence. So whatever narrows a number on its way to an address is
followed by an ``and`` with a word of ones that LLVM cannot know: it lies in a global variable that anybody might write.
``freeze`` is no such thing: LLVM moves it to the loop counter, and the recurrence is there again.

Tests: tests/vta/codegen/test_wrapping_indices.py; ``python -m bench.host_fuzz`` looks for what this misses.
"""

from collections import defaultdict
from collections.abc import Iterator

from llvmlite import ir

from vta.codegen.llvm_types import I32, I64, LlvmType, Value

__all__ = ["ONES_SYMBOL", "hide_wrapping_indices"]

ONES_SYMBOL = "__vta_ones"
"""Exported 64-bit global, all ones."""

_INDEX_BITS = 32
"""Recurrences of this width and wider ones are sound, and what reads side by side are recognised by."""


def hide_wrapping_indices(function: Value, entry: ir.IRBuilder) -> None:
    """Follow every narrowing operation that an address in ``function`` comes from by an ``and`` with unknown ones.

    ``entry`` writes at the function's start, where the ones are loaded.
    """
    narrowing = {id(value) for value in _address_arithmetic(function) if _narrows(value)}
    if not narrowing:
        return
    ones = _Ones(function.module, entry)
    hidden: dict[int, Value] = {}
    for block in function.blocks:
        instructions = []
        for value in block.instructions:
            instructions.append(value)
            if id(value) in narrowing:
                operands = (value, ones.of(value.type))
                hidden[id(value)] = ir.Instruction(block, value.type, "and", operands)
                instructions.append(hidden[id(value)])
        block.instructions = instructions
    added = {id(value) for value in hidden.values()}
    for instruction in _instructions(function):
        if id(instruction) not in added:
            _replace_operands(instruction, hidden)


def _instructions(function: Value) -> Iterator[Value]:
    for block in function.blocks:
        yield from block.instructions


def _address_arithmetic(function: Value) -> Iterator[Value]:
    """Yield each instruction that the index of an address may come from, also by way of memory."""
    accesses = _Accesses()
    for instruction in _instructions(function):
        accesses.note(instruction)
    work = [index for address in accesses.addresses() for index in address.indices]
    seen: set[int] = set()
    while work:
        value = work.pop()
        if not isinstance(value, ir.Instruction) or id(value) in seen:
            continue
        seen.add(id(value))
        match value:
            case ir.PhiInstr():
                work += [incoming for incoming, _ in value.incomings]
            case ir.LoadInstr():
                work += accesses.stored.pop(id(_memory(value.operands[0])), [])
            case _:
                work += value.operands
        yield value


class _Accesses:
    """What a function reads and writes where; ``stored`` has the values written to each memory."""

    def __init__(self) -> None:
        self.stored: dict[int, list[Value]] = defaultdict(list)
        self._loaded: set[int] = set()
        self._addresses: list[Value] = []
        self._of_scalars: set[int] = set()

    def note(self, instruction: Value) -> None:
        """Take an instruction down."""
        match instruction:
            case ir.LoadInstr(operands=[pointer]):
                self._loaded.add(id(_memory(pointer)))
                self._use(pointer, instruction.type)
            case ir.StoreInstr(operands=[value, pointer]):
                self.stored[id(_memory(pointer))].append(value)
                self._use(pointer, value.type)
            case ir.GEPInstr():
                self._addresses.append(instruction)
                self._of_scalars.add(id(instruction.pointer))
            case _:
                self._of_scalars.update(map(id, instruction.operands))

    def _use(self, pointer: Value, kind: LlvmType) -> None:
        if not isinstance(kind, ir.VectorType):
            self._of_scalars.add(id(pointer))

    def addresses(self) -> list[Value]:
        """Return the addresses that LLVM may make a vector of.

        A loop with vectors in it is vectorised no further. But what one iteration stores may be handed on to the next
        one's load, by the same analysis.
        """
        both = self._loaded & self.stored.keys()
        return [a for a in self._addresses if id(a) in self._of_scalars or id(_memory(a)) in both]


def _memory(pointer: Value) -> Value:
    """Return what the address of an element was computed from: an argument, an allocation."""
    while isinstance(pointer, ir.GEPInstr):
        pointer = pointer.pointer
    return pointer


def _narrows(value: Value) -> bool:
    """Whether LLVM may see a recurrence of fewer bits than an index has in what an operation gives."""
    match value.opname:
        case "sext" | "zext":
            return _bits(value.operands[0]) < _INDEX_BITS
        case "trunc":
            return 1 < _bits(value) < _INDEX_BITS
        case "and" | "or" | "lshr" | "ashr":
            return _bits(value) > 1
        case "sdiv" | "udiv" | "srem" | "urem":
            return _may_be_a_power_of_two(value.operands[1])
        case _:
            return False


def _may_be_a_power_of_two(divisor: Value) -> bool:
    match divisor:
        case ir.Constant(constant=int(number)):
            return _is_power_of_two(number)
        case ir.Constant(constant=[int(), *_] as numbers):
            return any(map(_is_power_of_two, numbers))
        case _:
            return True


def _is_power_of_two(number: int) -> bool:
    return abs(number).bit_count() == 1


def _bits(value: Value) -> int:
    kind = value.type
    return int(kind.element.width if isinstance(kind, ir.VectorType) else kind.width)


def _replace_operands(instruction: Value, hidden: dict[int, Value]) -> None:
    if isinstance(instruction, ir.PhiInstr):
        instruction.incomings = [(hidden.get(id(value), value), block) for value, block in instruction.incomings]
    elif any(id(operand) in hidden for operand in instruction.operands):
        instruction.operands = tuple(hidden.get(id(operand), operand) for operand in instruction.operands)
        if isinstance(instruction, ir.GEPInstr):  # which keeps its indices a second time
            instruction.indices = instruction.operands[1:]


class _Ones:
    """All ones of any type, loaded at the start of a function, each type once."""

    def __init__(self, module: ir.Module, entry: ir.IRBuilder) -> None:
        variable = module.globals.get(ONES_SYMBOL)
        if variable is None:
            variable = ir.GlobalVariable(module, I64, ONES_SYMBOL)
            variable.initializer = ir.Constant(I64, -1)
        self._entry = entry
        self._word = entry.load(variable, typ=I64)
        self._known: dict[str, Value] = {}

    def of(self, kind: LlvmType) -> Value:
        """Return the value of type ``kind`` with all bits set."""
        name = str(kind)
        if name not in self._known:
            self._known[name] = self._made(kind)
        return self._known[name]

    def _made(self, kind: LlvmType) -> Value:
        if not isinstance(kind, ir.VectorType):
            return self._word if kind == I64 else self._entry.trunc(self._word, kind)
        undefined = ir.Constant(kind, ir.Undefined)
        first = self._entry.insert_element(undefined, self.of(kind.element), ir.Constant(I32, 0))
        everywhere = ir.Constant(ir.VectorType(I32, kind.count), [0] * kind.count)
        return self._entry.shuffle_vector(first, undefined, everywhere)

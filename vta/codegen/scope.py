"""What code generation knows while it writes: the LLVM module (``Unit``) and the function it is in (``FunctionScope``).

Tests: tests/vta/codegen/test_host_*.py.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir

from isa.origin import Origin
from vta.codegen.llvm_types import I1, I8, I32, POINTER, CodegenError, LlvmType, Value
from vta.codegen.runtime_calls import C_LIBRARY, RUNTIME_CALLS, Signature
from vta.codegen.wrapping_indices import hide_wrapping_indices
from vta.tir.expr import Expr, Var

__all__ = ["ORIGIN_SYMBOL", "FunctionScope", "Unit"]

ORIGIN_SYMBOL = "__vta_origin"
"""Exported 32-bit global: index into the origin table of the statement whose runtime call is under way; -1 for none."""


class Unit:
    """One LLVM module being written, with the tables that its metadata will hold.

    ``least_parallel_work``: nodes that a parallel loop computes, from which it is given to the pool of threads;
    ``contracts``: products of floats to which something is added are not rounded by themselves.
    """

    def __init__(self, name: str, *, least_parallel_work: int, contracts: bool) -> None:
        self.module = ir.Module(name)
        self.least_parallel_work = least_parallel_work
        self.contracts = contracts
        self.origins: list[Origin] = []
        self.messages: list[str] = []
        self._origin_index: dict[Origin, int] = {}
        self.origin_global = ir.GlobalVariable(self.module, I32, ORIGIN_SYMBOL)
        self.origin_global.initializer = ir.Constant(I32, -1)
        self._strings: dict[str, Value] = {}

    def origin_index(self, origin: Origin | None) -> int:
        """Return the place of ``origin`` in the table, -1 for none."""
        if origin is None:
            return -1
        if origin not in self._origin_index:
            self._origin_index[origin] = len(self.origins)
            self.origins.append(origin)
        return self._origin_index[origin]

    def failure_code(self, message: str) -> int:
        """Return the result (above zero) with which a function reports ``message``."""
        self.messages.append(message)
        return len(self.messages)

    def extern(self, name: str, signature: Signature | None = None) -> Value:
        """Return the C function ``name``, declared once; ``signature`` where the tables do not know it."""
        known = RUNTIME_CALLS.get(name) or C_LIBRARY.get(name) or signature
        assert known is not None, f"no signature of {name}"
        existing = self.module.globals.get(name)
        if existing is None:
            return ir.Function(self.module, ir.FunctionType(known.result, known.parameters), name)
        if existing.function_type != ir.FunctionType(known.result, known.parameters):
            raise CodegenError(f"{name!r} is called with different argument types: {existing.function_type}")
        return existing

    def string(self, text: str) -> Value:
        """Return the address of ``text`` as a C string."""
        if text not in self._strings:
            data = bytearray(text.encode() + b"\0")
            kind = ir.ArrayType(I8, len(data))
            variable = ir.GlobalVariable(self.module, kind, self.module.get_unique_name("text"))
            variable.linkage, variable.global_constant = "private", True
            variable.initializer = ir.Constant(kind, data)
            self._strings[text] = variable
        return self._strings[text]


class FunctionScope:
    """One LLVM function being written; its result is 0, or the code of a failure.

    ``values`` has the machine value of every TIR variable in reach, ``definitions`` the expression of those that a let
    bound; ``moved_by_dma`` are buffers in device memory, ``distinct`` those that share no memory with any other one;
    ``in_parallel``: the function is a part of a parallel loop; ``result`` is where what it gives goes; ``packed``: it
    takes packed arguments, and gives a status; ``origin`` is that of the statement being written.
    """

    def __init__(self, unit: Unit, name: str, parameters: tuple[LlvmType, ...], *, internal: bool) -> None:
        self.unit = unit
        self.function = ir.Function(unit.module, ir.FunctionType(I32, parameters), name)
        if internal:
            self.function.linkage = "internal"
        self._entry = self.function.append_basic_block("entry")
        body = self.function.append_basic_block("body")
        self.builder = ir.IRBuilder(body)
        self._body = body
        self._exits: list[tuple[Value, Value]] = []
        self._exit = self.function.append_basic_block("exit")
        self._heap: list[tuple[Value, str]] = []
        self.values: dict[Var, Value] = {}
        self.definitions: dict[Var, Expr] = {}
        self.moved_by_dma: frozenset[Var] = frozenset()
        self.distinct: set[Var] = set()
        self.in_parallel = False
        self.result: Value | None = None
        self.packed = False
        self.origin: Origin | None = None
        self._command: Value | None = None
        self._entry_builder = ir.IRBuilder(self._entry)

    @property
    def arguments(self) -> tuple[Value, ...]:
        """The function's parameters."""
        return tuple(self.function.args)

    def value_of(self, var: Var) -> Value:
        """Return the machine value of ``var``; raises ``CodegenError`` if nothing defined it."""
        if var not in self.values:
            raise CodegenError(f"{self.where}: variable {var.name!r} is used, but nothing defines it")
        return self.values[var]

    @property
    def where(self) -> str:
        """The place that is being written, for error messages."""
        function = f"function {self.function.name!r}"
        return function if self.origin is None else f"{function}, {self.origin}"

    @property
    def command(self) -> Value:
        """The runtime's command handle, asked for once at the start of the function."""
        if self._command is None:
            self._command = self._entry_builder.call(self.unit.extern("VTATLSCommandHandle"), [], name="command")
        return self._command

    def call_runtime(self, name: str, *arguments: Value) -> Value:
        """Call a function of the runtime, telling it first which statement is asking."""
        index = ir.Constant(I32, self.unit.origin_index(self.origin))
        self.builder.store(index, self.unit.origin_global)
        return self.builder.call(self.unit.extern(name), list(arguments))

    def stack(self, kind: LlvmType, alignment: int = 0) -> Value:
        """Return memory of type ``kind`` that lives as long as the call (one slot, however often this code runs)."""
        slot = self._entry_builder.alloca(kind)
        slot.type = POINTER  # llvmlite would remember what it points to, and insist on that type
        if alignment:
            slot.align = alignment
        return slot

    def heap_slot(self, free: str) -> Value:
        """Return a pointer variable, null at first; what it points to is released by ``free`` when the call ends."""
        slot = self.stack(POINTER)
        self._entry_builder.store(ir.Constant(POINTER, None), slot)
        self._heap.append((slot, free))
        return slot

    def release(self, slot: Value) -> None:
        """Free what a heap slot points to, and forget it."""
        free = next(function for known, function in self._heap if known is slot)
        self.builder.call(self.unit.extern(free), [self.builder.load(slot, typ=POINTER)])
        self.builder.store(ir.Constant(POINTER, None), slot)

    def fail_unless(self, condition: Value, message: str) -> None:
        """Leave the function with ``message`` unless ``condition`` (one bit) holds."""
        if isinstance(condition, ir.Constant) and condition.type == I1 and condition.constant:
            return
        code = self.unit.failure_code(message)
        go_on = self.function.append_basic_block("checked")
        self._exits.append((self.builder.block, ir.Constant(I32, code)))
        self.builder.cbranch(condition, go_on, self._exit)
        self.builder.position_at_end(go_on)

    def fail_with(self, code: Value) -> None:
        """Leave the function with ``code``, another function's result, unless that is 0."""
        go_on = self.function.append_basic_block("well")
        self._exits.append((self.builder.block, code))
        good = self.builder.icmp_signed("==", code, ir.Constant(I32, 0))
        self.builder.cbranch(good, go_on, self._exit)
        self.builder.position_at_end(go_on)

    def leave(self, status: Value | None = None) -> None:
        """Leave the function, without a failure or with ``status``; what is written after it is never reached."""
        self._exits.append((self.builder.block, ir.Constant(I32, 0) if status is None else status))
        self.builder.branch(self._exit)
        self.builder.position_at_end(self.function.append_basic_block("after"))

    @contextmanager
    def at(self, origin: Origin | None) -> Iterator[None]:
        """Write on behalf of ``origin``; None inherits that of the statement around."""
        outer = self.origin
        self.origin = origin or outer
        yield
        self.origin = outer

    def finish(self) -> None:
        """End the function: result 0, heap memory released on every way out."""
        self._exits.append((self.builder.block, ir.Constant(I32, 0)))
        self.builder.branch(self._exit)
        self.builder.position_at_end(self._exit)
        result = self.builder.phi(I32, "result")
        for block, code in self._exits:
            result.add_incoming(code, block)
        for slot, free in self._heap:
            self._free_if_any(slot, free)
        self.builder.ret(result)
        hide_wrapping_indices(self.function, self._entry_builder)
        self._entry_builder.branch(self._body)

    def _free_if_any(self, slot: Value, free: str) -> None:
        pointer = self.builder.load(slot, typ=POINTER)
        held = self.builder.icmp_unsigned("!=", pointer, ir.Constant(POINTER, None))
        with self.builder.if_then(held):
            self.builder.call(self.unit.extern(free), [pointer])

"""A compiled module: callable functions, saving to and loading from object files.

The runtime functions that host code calls are given to the linker by address, so nothing is registered for the whole
process, and any number of modules and devices live side by side. A function that ran once on a device replays its
instruction stream with the new buffers' addresses, without its host code, unless that code looks at data.
Tests: tests/vta/codegen/test_module.py.
"""

import ctypes
import os
import threading
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.limits import DEFAULT_LIMITS, LimitError, Limits, read_file
from isa.origin import Origin
from isa.whole_file import write_whole
from runtime import c_api, packed_call
from runtime.evaluator import Evaluator
from runtime.memory.array import ElsewhereArray
from runtime.native import thread_pool
from runtime.native.compiling import assembly_of, compile_object
from runtime.native.linking import LinkedObject, link
from runtime.native.target import CodeTarget, host_triple
from runtime.program_run import ProgramRun
from runtime.queue.stream_cache import StreamCache
from runtime.session import Session
from vta.codegen.arguments import Argument, BoundArguments, bind_arguments, c_signature
from vta.codegen.function_table import FunctionTable, ModuleError
from vta.codegen.host import HostProgram
from vta.codegen.imported_code import bitcode_of
from vta.codegen.metadata import FunctionInfo, Metadata, MetadataError
from vta.codegen.results import result_slot
from vta.codegen.scope import ORIGIN_SYMBOL
from vta.codegen.sealed_object import opened, sealed

__all__ = ["Function", "HostCodeError", "Module", "ModuleError", "load_module"]


class HostCodeError(VTAError, RuntimeError):
    """Host code ended with a failure: an assertion of the program, a division by zero, no memory."""


class Function:
    """One function of a module. Arguments are arrays (outputs too) and numbers; it returns what ``tir.ret`` gives."""

    __slots__ = ("_module", "_native", "info")

    def __init__(self, module: "Module", info: FunctionInfo) -> None:
        self._module = module
        self.info = info
        self._native: Any = None

    @property
    def name(self) -> str:
        """The function's name."""
        return self.info.name

    def __call__(self, *arguments: Argument) -> int | float | None:
        """Run on ``arguments``; raises ``ArgumentError`` before anything runs if they do not fit.

        An array that the function writes is no part of another argument, as in TVM; unless the program was lowered
        with the option ``tir.noalias`` switched off.

        A function of the accelerator runs on the device that its arrays are on; ``SessionError`` if that has another
        configuration. With an array of a remote session, it runs there: the module is sent to it, once.
        """
        for argument in arguments:
            if isinstance(argument, ElsewhereArray):
                argument.call_there(self._module, self.name, arguments)
                return None
        bound = bind_arguments(self.info, arguments)
        if not self.info.uses_device:
            return self._run_host_code(bound)
        session = bound.session or Session.current()

        def host_code(run: ProgramRun) -> None:
            if not self._module.replays:
                run.depends_on_host("replay is off for this module")
            with self._module.host_code_lock:
                session.queue.origin = self._module.origin
                self._run_host_code(bound)

        self._module.streams(session, self.name).call((self.name, bound.scalars), bound.buffers, host_code)
        return None

    def _run_host_code(self, bound: BoundArguments) -> int | float | None:
        if self._native is None:
            address = self._module.linked.address[self.name]
            places = [ctypes.c_void_p] if self.info.result else []
            self._native = ctypes.CFUNCTYPE(ctypes.c_int32, *c_signature(self.info), *places)(address)
        slot = result_slot(self.info.result) if self.info.result else None
        packed_call.kept_error()  # one that a caller of compiled code by its C interface left is not this call's
        code = self._native(*bound.values, *([] if slot is None else [ctypes.addressof(slot)]))
        if code:
            error = packed_call.kept_error()
            if error is not None:
                raise error
            messages = self._module.metadata.messages
            known = 0 < code <= len(messages)
            raise HostCodeError(messages[code - 1] if known else f"function {self.name!r} ended with code {code}")
        return None if slot is None else slot.value

    def __repr__(self) -> str:
        return f"<function {self.info}>"


class Module(FunctionTable[Function]):
    """Functions compiled for one configuration.

    Made from a program (``Module.compile``) or a file (``load_module``). ``replays`` may be set to False to run host
    code at every call. ``module(...)`` calls the first function, ``module["name"]`` is the one called so.

    Threads may share a module, on one session or on several. Calls that replay a kept stream go side by side on
    sessions of their own; those that run the accelerator's host code take turns (``host_code_lock``), since that code
    notes in one place of the module where its runtime calls come from.
    """

    def __init__(self, metadata: Metadata, source: str | None, target: CodeTarget, data: bytes | None) -> None:
        super().__init__({info.name: Function(self, info) for info in metadata.functions})
        self.metadata = metadata
        self.replays = True
        self._source = source
        self._target = target
        self._data = data
        self._imported: list[Module] = []
        self.host_code_lock = threading.RLock()
        self._lock = threading.Lock()
        self._linked: LinkedObject | None = None
        self._streams: WeakKeyDictionary[Session, StreamCache] = WeakKeyDictionary()

    @classmethod
    def compile(cls, program: HostProgram, target: CodeTarget | None = None) -> "Module":
        """Return the module of a host program; its code is made when it is first called or saved.

        ``target`` without a processor means: this computer's own for calls, any of its kind for saved objects.
        """
        return cls(program.metadata, program.source, target or CodeTarget(cpu=""), None)

    @property
    def type_key(self) -> str:
        """TVM's name for what made the code."""
        return "llvm"

    @property
    def imported_modules(self) -> "list[Module]":
        """The modules that go with this one."""
        return list(self._imported)

    def import_module(self, module: "Module") -> None:
        """Let another module go with this one, for ``get_function(name, query_imports=True)``; saving leaves it out."""
        if not isinstance(module, Module) or module is self:
            raise ModuleError(f"import_module takes another module, not {module!r}")
        self._imported.append(module)

    def get_function(self, name: str, query_imports: bool = False) -> Function:
        """Return the function called ``name``; with ``query_imports``, of an imported module if this one has none."""
        if query_imports and name not in self.functions:
            for module in self._imported:
                if name in module.functions:
                    return module.functions[name]
        return super().get_function(name)

    def implement_function(self, name: str) -> bool:
        """Whether this module (not one that it imports) has a function of that name."""
        return name in self.functions

    @property
    def config(self) -> VTAConfig:
        """The configuration that it was compiled for."""
        return self.metadata.config

    def __repr__(self) -> str:
        functions = "; ".join(str(info) for info in self.metadata.functions)
        return f"<module for {self.config.bitstream}: {functions}>"

    @property
    def linked(self) -> LinkedObject:
        """The machine code in this process."""
        with self._lock:
            if self._linked is None:
                self._linked = self._link()
            return self._linked

    def _link(self) -> LinkedObject:
        target = self._for_this_computer
        data = self._data if self._data is not None else compile_object(self._program, target)
        exports = [*self.functions, ORIGIN_SYMBOL]
        symbols = {**c_api.symbols(), **packed_call.symbols(), **thread_pool.symbols(data)}
        return link(data, symbols, exports, where=f"module {self.entry_name!r}")

    def origin(self) -> Origin | None:
        """Return where the statement came from whose runtime call is under way."""
        index = ctypes.c_int32.from_address(self.linked.address[ORIGIN_SYMBOL]).value
        return self.metadata.origins[index] if 0 <= index < len(self.metadata.origins) else None

    def streams(self, session: Session, function: str) -> StreamCache:
        """Return the kept instruction streams for ``session``, which go with it.

        Raises ``SessionError`` if the session's device has another configuration than ``function`` was made for.
        """
        with self._lock:
            streams = self._streams.get(session)
            if streams is None:
                session.require_config(self.config, f"function {function!r}")
                streams = self._streams[session] = StreamCache(session)
            return streams

    def get_source(self, fmt: str = "ll") -> str:
        """Return the host program as text: LLVM assembly ("ll") or the machine's ("s")."""
        match fmt:
            case "ll":
                return self._program
            case "s" | "asm":
                return assembly_of(self._program, self._for_saving)
            case _:
                raise ModuleError(f"source format {fmt!r} is unknown; there are 'll' and 's'")

    def save(self, path: str | os.PathLike[str], fmt: str = "") -> None:
        """Write the module to a file, all or nothing; the suffix (or ``fmt``) says how.

        "o": an object file, which ``load_module`` reads and whose runtime functions are undefined symbols; "ll": LLVM
        assembly; "bc": LLVM's bitcode; "s" or "asm": the machine's assembly.
        """
        target = Path(path)
        match fmt or target.suffix.removeprefix("."):
            case "o" | "obj":
                data = self._data if self._data is not None else self._sealed()
            case ("ll" | "s") as text:
                data = self.get_source(text).encode()
            case "asm":
                data = self.get_source("s").encode()
            case "bc":
                data = bitcode_of(self.get_source("ll"))
            case other:
                raise ModuleError(
                    f"{target}: cannot save as {other or 'a file without suffix'!r}; use .o, .ll, .bc or .s"
                )
        write_whole(target, data)

    def export_library(self, path: str | os.PathLike[str], *args: object, **options: object) -> None:
        """Write the module to a file of any suffix that ``load_module`` reads: TVM's name for ``save`` as an object.

        What TVM hands to a linker (``args`` and ``options``) is refused: there is none.
        """
        if args or options:
            raise ModuleError(f"{path}: export_library takes a path alone; nothing is linked")
        self.save(path, "o")

    def time_evaluator(
        self,
        func_name: str,
        dev: object = None,  # noqa: ARG002  # TVM's signature
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
    ) -> Evaluator:
        """Return what calls a function ``repeat`` times ``number`` times and gives the seconds of each call.

        ``dev`` is TVM's: the device follows from the arguments.
        """
        return Evaluator(self.get_function(func_name), number=number, repeat=repeat, min_repeat_ms=min_repeat_ms)

    def _sealed(self) -> bytes:
        """Return the object file."""
        try:
            return sealed(compile_object(self._program, self._for_saving))
        except MetadataError as error:
            raise ModuleError(str(error)) from None

    @property
    def _program(self) -> str:
        if self._source is None:
            raise ModuleError("the module was loaded from an object file; it has no source any more")
        return self._source

    @property
    def _for_this_computer(self) -> CodeTarget:
        target = self._target
        if target.triple not in ("", host_triple()):
            raise ModuleError(f"the module is for {target.triple}; it can be saved here, but not called")
        return target if target.cpu else CodeTarget(target.triple, "native", target.features, target.level)

    @property
    def _for_saving(self) -> CodeTarget:
        target = self._target
        if target.cpu:
            return target
        features = target.features
        if (target.triple or host_triple()).startswith("x86_64") and "half" in self._program:
            # Without it, conversions of float16 become calls into the compiler's own library, which is not here.
            features = ",".join(part for part in (features, "+f16c") if part)
        return CodeTarget(target.triple, "generic", features, target.level)


def load_module(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Module:
    """Read an object file that ``Module.save`` wrote; raises ``ModuleError`` for anything else, and for a damaged one.

    A module is native code: calling one of its functions runs whatever whoever made the file put there. ``limits`` are
    about the file alone, not about what its code takes.
    """
    target = Path(path)
    try:
        data = read_file(target, limits)
    except OSError as error:
        raise ModuleError(f"{target}: cannot be read: {error.strerror}") from None
    except LimitError as error:
        raise ModuleError(str(error)) from None
    try:
        metadata = opened(data, str(target), limits.budget(len(data)))
    except MetadataError as error:
        raise ModuleError(str(error)) from None
    if not data.startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\x64\x86")):
        raise ModuleError(f"{target}: is not an object file; save the module with the suffix .o to load it")
    return Module(metadata, None, CodeTarget(metadata.triple), data)

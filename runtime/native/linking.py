"""An object file into this process.

The functions that an object needs are given by address when it is linked, so nothing is registered for the whole
process. Tests: tests/runtime/native/test_linking.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import binding as llvm

from runtime.native.target import NativeError, host_triple

__all__ = ["LinkedObject", "link"]


class LinkedObject:
    """An object in this process; ``address[name]`` of what was asked for. Code lives as long as this Python object."""

    __slots__ = ("_jit", "_tracker", "address")

    def __init__(self, jit: Any, tracker: Any, address: Mapping[str, int]) -> None:
        self._jit = jit
        self._tracker = tracker
        self.address = address


def link(data: bytes, symbols: Mapping[str, int], exports: Sequence[str], *, where: str) -> LinkedObject:
    """Link an object: undefined symbols come from ``symbols``, then from this process; look up ``exports``.

    ``where`` names the object in a ``NativeError``.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(host_triple())
    jit = llvm.create_lljit_compiler(target.create_target_machine(jit=True), use_jit_link=True, suppress_errors=True)
    library = llvm.JITLibraryBuilder().add_object_img(data)
    for name, address in symbols.items():
        library.import_symbol(name, address)
    for name in exports:
        library.export_symbol(name)
    try:
        tracker = library.add_current_process().link(jit, "host")
    except RuntimeError as error:
        text = str(error).strip()
        if "materialize" in text:  # LLVM does not say which symbol it missed
            text = "a function that it calls is neither the runtime's nor in this process"
        raise NativeError(f"{where}: cannot be linked: {text}") from None
    return LinkedObject(jit, tracker, {name: tracker[name] for name in exports})

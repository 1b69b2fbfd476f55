"""Writes a network as C beside the runtime that it needs. Tests: tests/vta/relay/c/test_export.py."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import runtime
from isa.whole_file import write_whole
from runtime.executor.network import Network
from vta.relay.c.host_steps import CExportError, host_code
from vta.relay.c.memory_image import MemoryImage
from vta.relay.c.pointers import Pointers
from vta.relay.c.source import header_text, source_text

__all__ = ["CSources", "c_sources", "write_c"]

_RUNTIME = ("vta_runtime.h", "vta_runtime.c")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class CSources:
    """Texts by file name, the bytes of memory that the network shares with the accelerator, and those of the host."""

    files: Mapping[str, str]
    memory_bytes: int
    host_bytes: int


def c_sources(network: Network, name: str) -> CSources:
    """Return ``name.h``, ``name.c`` and the runtime; raises ``CExportError`` for what cannot be C."""
    if not _NAME.fullmatch(name) or name.startswith("vta_"):
        raise CExportError(f"{name!r} cannot name a network in C; use a letter, then letters, digits and underscores")
    code = host_code(network)
    pointers = Pointers.of(network, MemoryImage.of(network), code)
    folder = Path(runtime.__path__[0]) / "c"
    files = {file: (folder / file).read_text("utf-8") for file in _RUNTIME}
    files |= {f"{name}.h": header_text(pointers, name), f"{name}.c": source_text(pointers, name, code)}
    return CSources(files, pointers.image.nbytes, code.workspace + pointers.nbytes)


def write_c(network: Network, folder: str | os.PathLike[str], name: str) -> CSources:
    """Write ``c_sources`` into ``folder``, which is made if need be, and return them."""
    sources = c_sources(network, name)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for file, text in sources.files.items():
        write_whole(place / file, text.encode())
    return sources

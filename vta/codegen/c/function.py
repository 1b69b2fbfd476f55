"""A lowered function as a C function: pointers for its arrays, a workspace for what it keeps in between.

Compile it as ISO C (``-std=c99``): compilers may fuse products into sums otherwise, which rounds once instead of twice.
Tests: tests/vta/codegen/c/test_function.py.
"""

import re
from dataclasses import dataclass

from vta.codegen.c.block import Writer
from vta.codegen.c.expressions import Scope
from vta.codegen.c.statements import emit_stmt
from vta.codegen.c.types import c_type, memory_type
from vta.tir.func import PrimFunc
from vta.tir.stmt import BufferStore
from vta.tir.traverse import walk

__all__ = ["PRELUDE", "CFunction", "emit_c"]

PRELUDE = "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n"
"""What stands before functions."""


@dataclass(frozen=True, slots=True)
class CFunction:
    """The text of ``static void name(parameters..., unsigned char *workspace)``; the workspace has so many bytes.

    It begins where any type may lie.
    """

    name: str
    text: str
    workspace: int


def emit_c(function: PrimFunc, name: str) -> CFunction:
    """Return ``function``, lowered for a CPU, as C called ``name``; raises ``CodegenError`` for what has none.

    Scalars are passed by value; arrays are of constant sizes.
    """
    writer = Writer()
    scope = Scope(writer, f"function {name!r}")
    written = {node.buffer.data for node in walk(function.body) if isinstance(node, BufferStore)}
    parameters: dict[str, str] = {}
    for param in function.params:
        buffer = function.buffer_map.get(param)
        if buffer is None:
            c = scope.names[param] = writer.named_like(param.name)
            parameters[c] = f"const {c_type(param.dtype)} {c}"
            continue
        c = scope.names[buffer.data] = writer.named_like(buffer.name)
        constant = "" if buffer.data in written else "const "
        parameters[c] = f"{constant}{memory_type(buffer.dtype)} *restrict {c}"
    parameters["workspace"] = "unsigned char *workspace"
    workspace = emit_stmt(scope, function.body, 0)
    used = set(re.findall(r"\w+", "\n".join(writer.lines)))
    lines = [*(f"    (void){c};" for c in parameters if c not in used), *writer.lines]
    head = f"static void {name}({', '.join(parameters.values())})"
    return CFunction(name, "\n".join([head, "{", *lines, "}", ""]), workspace)

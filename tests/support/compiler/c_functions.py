"""C functions compiled by the machine's compiler, warnings being errors, and called with numpy's arrays."""

import ctypes
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.hw.c_board import built
from vta.codegen.c import PRELUDE, CFunction

__all__ = ["CCalls"]


class CCalls:
    """Calls functions by their numbers; arrays go by address, Python's integers as int32."""

    def __init__(self, functions: Sequence[CFunction]) -> None:
        texts = [function.text.replace("static void", "void", 1) for function in functions]
        prototypes = [text.split("\n{", 1)[0] + ";" for text in texts]
        with tempfile.TemporaryDirectory() as folder:
            source = "\n".join([PRELUDE, *prototypes, *texts])
            self._library = built({"functions.c": source}, Path(folder))
        self._functions = functions

    def __call__(self, number: int, *arguments: Any) -> None:
        """Call a function; its workspace is filled with rubbish."""
        function = self._functions[number]
        native: Callable[..., Any] = getattr(self._library, function.name)
        workspace = np.full(function.workspace + 64, 0x5A, np.uint8)
        begin = -workspace.ctypes.data % 64
        given = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_int32(a) for a in arguments]
        native(*given, ctypes.c_void_p(workspace.ctypes.data + begin))

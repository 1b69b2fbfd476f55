"""Passes of TVM's that have no work here: what they lower is not in this toolchain's programs, or another pass does it.

Each leaves a program unchanged in which there is nothing for it, and refuses any other in a sentence: it never leaves
undone what it was called for. Tests: tests/vta/front/test_tir_passes_elsewhere.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from isa.errors import VTAError
from vta.instrument import PassInfo
from vta.pass_objects import FunctionPass
from vta.tir.expr import IterVar
from vta.tir.func import IRModule, PrimFunc
from vta.tir.stmt import Allocate, AttrKey, AttrStmt, Block
from vta.tir.traverse import TirNode, walk
from vta.transform import PassContext

__all__ = ["ElsewhereError", "passes_elsewhere"]


class ElsewhereError(VTAError, NotImplementedError):
    """A program with something that a pass of TVM's lowers, and this toolchain does not."""


@dataclass(frozen=True, slots=True)
class _Absent:
    """What a pass would lower, how it is found, and what to do about it."""

    subject: str
    is_in: Callable[[TirNode], bool]
    advice: str


def _is_gpu_thread(node: TirNode) -> bool:
    return (
        isinstance(node, AttrStmt)
        and node.key == AttrKey.THREAD_EXTENT
        and isinstance(node.node, IterVar)
        and "Idx." in node.node.thread_tag
    )


def _is_in(*scopes: str) -> Callable[[TirNode], bool]:
    return lambda node: isinstance(node, Allocate) and node.scope in scopes


_THREADS = _Absent("threads of a GPU", _is_gpu_thread, "there is no GPU here: do not bind loops to its threads")
_BLOCKS = _Absent("blocks", lambda node: isinstance(node, Block), "LowerBlocks() lowers all of a block at once")
_WARP = _Absent("memory of a warp", _is_in("warp"), "there is no GPU here: use 'local' memory")
_TEXTURE = _Absent("textures", _is_in("global.texture", "texture"), "there is no GPU here: use 'global' memory")
_VTCM = _Absent("memory 'global.vtcm'", _is_in("global.vtcm"), "there is no Hexagon here: use 'global' memory")
_SHARED = _Absent("shared memory of a GPU", _is_in("shared.dyn"), "there is no GPU here: use 'local' memory")
_NOTHING = _Absent("types that are not here", lambda node: False, "")  # noqa: ARG005  # no type is

_PASSES: Mapping[str, _Absent] = {
    **dict.fromkeys(
        ("ThreadSync", "InferFragment", "LowerThreadAllreduce", "LowerCrossThreadReduction", "UnifyThreadBinding"),
        _THREADS,
    ),
    **dict.fromkeys(("SplitHostDevice", "DecorateDeviceScope"), _THREADS),
    **dict.fromkeys(
        ("LowerInitBlock", "PlanAndUpdateBufferAllocationLocation", "ConvertBlocksToOpaque", "LowerMatchBuffer",
         "LowerOpaqueBlock", "FlattenBuffer", "InjectSoftwarePipeline",
         "RemoveWeightLayoutRewriteBlock", "TransformMmaBufferLayout"),
        _BLOCKS,
    ),
    **dict.fromkeys(
        ("BF16Legalize", "BF16Promote", "BF16CastElimination", "BF16TypeLowering", "LowerCustomDatatypes"), _NOTHING
    ),
    "LowerWarpMemory": _WARP,
    "TextureFlatten": _TEXTURE,
    "LowerVtcmAlloc": _VTCM,
    "MergeDynamicSharedMemoryAllocations": _SHARED,
}  # fmt: skip


def passes_elsewhere() -> dict[str, Callable[..., FunctionPass]]:
    """Return, by TVM's name, functions that give the passes; whatever arguments a pass has there mean nothing here."""
    return {name: _maker(name, absent) for name, absent in _PASSES.items()}


def _maker(name: str, absent: _Absent) -> Callable[..., FunctionPass]:
    def transform(func: PrimFunc, mod: IRModule, context: PassContext) -> PrimFunc:  # noqa: ARG001  # a pass's
        if any(map(absent.is_in, walk(func.body))):
            raise ElsewhereError(f"{name}: function {func.name!r} has {absent.subject}; {absent.advice}")
        return func

    def make(*_arguments: object) -> FunctionPass:
        return FunctionPass(transform, PassInfo(0, f"tir.{name}"))

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"Refuse {absent.subject}; nothing else changes."
    return make

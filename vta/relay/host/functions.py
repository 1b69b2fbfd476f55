"""Recipes to native code, kept on disk by content, and to functions that stand for a network's steps.

Code is kept under the recipe, the sources of the toolchain, LLVM and the processor.
Tests: tests/vta/relay/host/test_functions.py.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.errors import VTAError
from runtime import c_api
from runtime.executor.fused import FusedSteps
from runtime.native import thread_pool
from runtime.native.cache import cached
from runtime.native.compiling import compile_object
from runtime.native.linking import LinkedObject, link
from runtime.native.target import CodeTarget, host_key
from vta import te
from vta.codegen import emit_host
from vta.passes import pipelines
from vta.passes.pipelines import PassScope
from vta.relay.host.groups import Group
from vta.relay.host.recipe import Recipe
from vta.relay.host.stages import staged

__all__ = ["HostFunctionError", "compiled", "functions"]

Array = npt.NDArray[Any]

_KIND = "host-operators"
_NAME = "host_operator"
_CONFIG = VTAConfig()
"""Code of the host is the same for every accelerator."""


class HostFunctionError(VTAError, RuntimeError):
    """A function of the host that ended with a failure: it found no memory."""


def compiled(recipe: Recipe) -> bytes:
    """Return the object code of a recipe for this computer: a function of addresses, the result's last."""
    made = staged(recipe)
    func = te.schedule_to_func(made.schedule, made.args, _NAME)
    program = emit_host([pipelines.run(func, _CONFIG, scope=PassScope.ANY)], _CONFIG)
    return compile_object(program.source, CodeTarget())


def functions(
    groups: Sequence[Group],
    sources: str,
    *,
    cache: bool = True,
    compile_all: Callable[[Sequence[Recipe]], Sequence[bytes]] = lambda recipes: [*map(compiled, recipes)],
) -> list[FusedSteps]:
    """Return a function for every group; equal recipes are compiled once.

    ``sources`` is a digest of what decides how they are compiled; ``compile_all`` compiles those that are not kept.
    """
    objects = _objects(list(dict.fromkeys(group.recipe for group in groups)), sources, compile_all, cache=cache)
    natives = {recipe: _Native.of(recipe, code) for recipe, code in objects.items()}
    return [FusedSteps(group.steps, group.inputs, group.output, natives[group.recipe]) for group in groups]


class _NotKeptError(VTAError):
    """Nothing is kept."""


def _objects(
    recipes: Sequence[Recipe],
    sources: str,
    compile_all: Callable[[Sequence[Recipe]], Sequence[bytes]],
    *,
    cache: bool,
) -> dict[Recipe, bytes]:
    keys = {recipe: f"{recipe!r}\n{sources}\n{host_key()}" for recipe in recipes}
    found: dict[Recipe, bytes] = {}
    for recipe in recipes if cache else ():
        kept = _kept(keys[recipe])
        if kept is not None:
            found[recipe] = kept
    missing = [recipe for recipe in recipes if recipe not in found]
    for recipe, code in zip(missing, compile_all(missing), strict=True):
        found[recipe] = cached(_KIND, keys[recipe], lambda code=code: code) if cache else code  # type: ignore[misc]
    return found


def _kept(key: str) -> bytes | None:
    def missing() -> bytes:
        raise _NotKeptError

    try:
        return cached(_KIND, key, missing)
    except _NotKeptError:
        return None


@dataclass(frozen=True, slots=True, eq=False)
class _Native:
    """Native code, called with arrays; ``linked`` keeps it in memory."""

    recipe: Recipe
    call: Any
    extra: tuple[Array, ...]
    linked: LinkedObject

    @classmethod
    def of(cls, recipe: Recipe, code: bytes) -> "_Native":
        """Return the function of a recipe's object code."""
        symbols = {**c_api.symbols(), **thread_pool.symbols(code)}
        linked = link(code, symbols, [_NAME], where="a function of host operators")
        extra = staged(recipe).extra if recipe.is_head else ()
        count = len(recipe.leaves) + len(extra) + 1
        function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * count)(linked.address[_NAME])
        return cls(recipe, function, extra, linked)

    def __call__(self, arrays: Sequence[Array]) -> npt.NDArray[np.generic]:
        """Return the result for the leaves' arrays, of any strides."""
        flat = [*map(np.ascontiguousarray, arrays), *self.extra]
        result = np.empty(self.recipe.shape, self.recipe.nodes[-1].dtype)
        if self.call(*(array.ctypes.data for array in flat), result.ctypes.data):
            raise HostFunctionError("a function of host operators found no memory for what it keeps in between")
        return result

"""``tvm.topi``: the accelerator's operators and the CPU's, under one tree of names.

Where both have a name, it is the accelerator's, which runs on the CPU too; pools choose by the layout of the image.
Tests: tests/vta/compat/test_topi_names.py.
"""

from types import ModuleType

from vta import te, topi
from vta.compat.answer import Tree
from vta.topi import cpu

__all__ = ["topi_names"]

_PLAIN_RANK = 4
"""Dimensions of an image that is not packed for the accelerator."""


def topi_names() -> Tree:
    """Return the tree of names below ``tvm.topi``."""
    flat = {
        **_names(cpu.elementwise), **_names(cpu.pairs), **_names(cpu.reductions), **_names(cpu.rearrange),
        "matmul": cpu.nn.matmul,
    }  # fmt: skip
    layers = {**_names(cpu.nn), **_names(cpu.convolution), **_names(cpu.pooling)}
    generic = _names(cpu.schedules)
    return {
        **flat,
        **_names(topi),
        "nn": {**layers, **_names(topi.nn), "pool2d": _pool2d, "global_pool": _global_pool},
        "generic": generic,
        "x86": generic,
        "cpp": {"generic": generic},
    }


def _names(module: ModuleType) -> dict[str, object]:
    values = {name: getattr(module, name) for name in module.__all__}
    return {name: value for name, value in values.items() if not isinstance(value, ModuleType)}


def _pool2d(data: te.Tensor, *args: object, **options: object) -> te.Tensor:
    """Return a pool of a plain image, or of one that is packed for the accelerator."""
    pool = cpu.pooling.pool2d if data.ndim == _PLAIN_RANK else topi.nn.pool2d
    return pool(data, *args, **options)  # type: ignore[arg-type]  # they check their arguments


def _global_pool(data: te.Tensor, *args: object, **options: object) -> te.Tensor:
    """Return a pool of whole plain images, or of packed ones."""
    pool = cpu.pooling.global_pool if data.ndim == _PLAIN_RANK else topi.nn.global_pool
    return pool(data, *args, **options)  # type: ignore[arg-type]  # they check their arguments

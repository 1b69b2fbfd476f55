"""What ``import tvm`` gives to a script: TVM's names, answered by this toolchain.

Tests: tests/vta/compat/test_tvm_names.py.
"""

from collections.abc import Callable
from types import ModuleType

import numpy as np
import numpy.typing as npt

from vta import build_module, nd, rpc, target, te, topi, transform
from vta.codegen import Module, load_module
from vta.compat.answer import Tree
from vta.compat.tempdir import TempDirectory, tempdir
from vta.tir import buffer, dtype, expr, func, ops, stmt

__all__ = ["tvm_names"]

_VERSION = "0.9.0"
"""The TVM whose names and semantics these are."""


def tvm_names() -> Tree:
    """Return the tree of names below ``tvm``."""
    devices: dict[str, Callable[..., nd.Device]] = {
        "cpu": nd.cpu,
        "ext_dev": nd.ext_dev,
        "device": nd.device,
        "context": nd.device,
    }
    return {
        "__version__": _VERSION,
        "te": _public(te),
        "tir": _tir_names(),
        "topi": _public(topi),
        "nd": _public(nd),
        "rpc": _public(rpc),
        "target": {**_public(target), "create": target.Target},
        "transform": {"PassContext": transform.PassContext},
        "runtime": _runtime(devices),
        "contrib": {
            "utils": {"tempdir": tempdir, "TempDirectory": TempDirectory},
            "util": {"tempdir": tempdir, "TempDirectory": TempDirectory},
        },
        "testing": {"assert_allclose": _assert_allclose},
        "ir": {"IRModule": func.IRModule, "Range": expr.Range, "transform": {"PassContext": transform.PassContext}},
        "lower": build_module.lower_generic,
        "build": build_module.build_generic,
        "IRModule": func.IRModule,
        "DataType": dtype.DType,
        **devices,
    }


def _public(module: ModuleType) -> dict[str, object]:
    """Return what a module of ours exports, modules below it as trees of their own."""
    names: dict[str, object] = {}
    for name in module.__all__:
        value = getattr(module, name)
        inner = isinstance(value, ModuleType) and hasattr(value, "__all__")
        names[name] = _public(value) if inner else value
    return names


def _tir_names() -> Tree:
    nodes: dict[str, object] = {}
    for module in (ops, expr, stmt, buffer, func):
        nodes.update({name: getattr(module, name) for name in module.__all__})
    return nodes


def _runtime(devices: dict[str, Callable[..., nd.Device]]) -> Tree:
    return {
        "enabled": _enabled,
        "load_module": load_module,
        "Module": Module,
        "module": {"load_module": load_module, "Module": Module, "enabled": _enabled},
        "ndarray": _public(nd),
        **devices,
    }


def _enabled(name: str) -> bool:
    """Whether this toolchain has the part of TVM that is called so."""
    return name in ("llvm", "cpu", "ext_dev", "vta")


def _assert_allclose(
    actual: npt.NDArray[np.number], desired: npt.NDArray[np.number], rtol: float = 1e-7, atol: float = 1e-7
) -> None:
    """Compare as TVM's testing module does."""
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol)

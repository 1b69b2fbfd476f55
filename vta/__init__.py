"""A toolchain for VTA, the Versatile Tensor Accelerator: from tensor expressions to simulated hardware.

The names are TVM's and TVM-VTA's: ``te``, ``topi``, ``lower``, ``build``, ``build_config``, ``get_env``, ``nd``,
``rpc``, ``target``, ``testing.simulator``. They are imported when they are first used, so that a tool that needs a
part of the toolchain does not wait for all of it. A user's file with the name of a package of ours is told at once.
"""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from vta import uncaught
from vta.own_packages import require_own_packages

if TYPE_CHECKING:
    from runtime.observe.graph_node import graph_node
    from vta import auto_scheduler, autotvm, cost, nd, relay, rpc, target, te, testing, tir, top, topi, transform
    from vta.build_module import BuildError, build, build_config, lower
    from vta.codegen import Module, load_module
    from vta.environment import Environment, get_env
    from vta.relay.backend.session import InferenceSession
    from vta.relay.front import graph_executor
    from vta.relay.front import graph_executor as graph_runtime
    from vta.rpc.hardware import get_bitstream_path, module_loader, program_fpga, reconfig_runtime
    from vta.transform import PassContext

__all__ = [
    "BuildError", "Environment", "InferenceSession", "Module", "PassContext", "auto_scheduler", "autotvm",
    "build", "build_config", "cost", "get_bitstream_path", "get_env", "graph_executor", "graph_node",
    "graph_runtime", "load_module", "lower", "module_loader", "nd", "program_fpga", "reconfig_runtime", "relay",
    "rpc", "target", "te", "testing", "tir", "top", "topi", "transform",
]  # fmt: skip

_MODULES = (
    "auto_scheduler", "autotvm", "cost", "nd", "relay", "rpc", "target", "te", "testing", "tir", "top", "topi",
    "transform",
)  # fmt: skip

_GRAPHS = ("graph_executor", "graph_runtime")
"""TVM's new and old name for what runs a compiled graph."""

_HOME: Mapping[str, str] = {
    "BuildError": "vta.build_module",
    "Environment": "vta.environment",
    "InferenceSession": "vta.relay.backend.session",
    "Module": "vta.codegen",
    "PassContext": "vta.transform",
    "build": "vta.build_module",
    "build_config": "vta.build_module",
    "get_bitstream_path": "vta.rpc.hardware",
    "get_env": "vta.environment",
    "graph_node": "runtime.observe.graph_node",
    "load_module": "vta.codegen",
    "lower": "vta.build_module",
    "module_loader": "vta.rpc.hardware",
    "program_fpga": "vta.rpc.hardware",
    "reconfig_runtime": "vta.rpc.hardware",
}
"""Name -> the module that defines it."""

uncaught.install()
require_own_packages()


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f"vta.{name}")
    if name in _GRAPHS:
        return importlib.import_module("vta.relay.front.graph_executor")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'vta' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

"""The library's own templates: which operators have one, under which name and arguments, and what their knobs are.

``tvm_named`` has those that TVM-VTA has too, ``described`` the one for all other operators, ``choices`` the knobs.
"""

from collections.abc import Mapping

from vta.autotvm.library import described, tvm_named
from vta.autotvm.library.choices import index_of_tiles, model_of, tiles_of
from vta.autotvm.made import Template
from vta.autotvm.workload import Value
from vta.environment import Environment
from vta.topi.core.operator import Operator

__all__ = ["TEMPLATES", "index_of_tiles", "model_of", "tiles_of", "workload_of"]

TEMPLATES: Mapping[str, Template] = {**tvm_named.TEMPLATES, **described.TEMPLATES}
"""Name -> template."""


def workload_of(operator: Operator, env: Environment) -> tuple[Value, ...] | None:
    """Return the template and the arguments that stand for ``operator`` on ``env``; None if no template does."""
    return tvm_named.workload_of(operator, env) or described.workload_of(operator)

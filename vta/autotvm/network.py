"""The layers of a network that tasks are made of: of a graph, an ONNX model, or what was compiled of one.

Tests: tests/vta/autotvm/test_network.py.
"""

import os
from collections.abc import Mapping, Sequence

import numpy.typing as npt

from vta import nd
from vta.autotvm.errors import TuningError
from vta.environment import Environment
from vta.relay.backend.build import Built
from vta.relay.backend.kernel import Kernel
from vta.relay.backend.layers import Layer, layers
from vta.relay.front.build import Factory, bind_params_by_name
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import Function

__all__ = ["layers_of"]

Params = Mapping[str, npt.ArrayLike | nd.NDArray]
Shapes = Mapping[str, int | Sequence[int]]


def layers_of(
    network: object, env: Environment, *, params: Params | None = None, shapes: Shapes | None = None
) -> list[Layer]:
    """Return the layers that the accelerator of ``env`` computes of a network, each different one once.

    ``network`` is a graph (a function or a module of relay, with ``params``), an ONNX model or its path (``shapes``
    settles what it leaves open), or a network that was compiled here; raises ``TuningError`` for anything else.
    """
    match network:
        case IRModule():
            return layers(bind_params_by_name(network["main"], params or {}), env)
        case Function():
            return layers(bind_params_by_name(network, params or {}), env)
        case Built():
            return _built(network)
        case Factory(built=Built() as built):
            return _built(built)
        case str() | os.PathLike():
            return layers(_imported(network, shapes), env)
        case _:
            return _of_other(network, env, shapes)


def _built(built: Built) -> list[Layer]:
    found: dict[object, Layer] = {}
    for item in built.items:
        if isinstance(item, Kernel):
            old = found.get(item.operator, Layer(item.operator, ()))
            found[item.operator] = Layer(item.operator, (*old.names, item.name))
    return list(found.values())


def _of_other(network: object, env: Environment, shapes: Shapes | None) -> list[Layer]:
    """Return the layers of what ONNX, an extra, is needed for."""
    built = getattr(network, "built", None)  # an InferenceSession's
    if isinstance(built, Built):
        return _built(built)
    if type(network).__name__ == "ModelProto":
        return layers(_imported(network, shapes), env)
    raise TuningError(
        "a network whose layers are tuned is a graph of relay, an ONNX model, its path, or what was compiled of one "
        f"here, not {type(network).__name__}; of a file of a compiled network, take the model that it was made of"
    )


def _imported(model: object, shapes: Shapes | None) -> Function:
    from vta.relay.backend.session import imported_model  # and with it ONNX, an extra

    return imported_model(model, shapes)  # type: ignore[arg-type]  # one of the two

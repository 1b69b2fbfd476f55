"""Relay: networks as graphs of typed operators, under TVM's names.

What others build on:

- ``ir.nodes``: ``Var``, ``Constant``, ``Call``, ``Tuple``, ``TupleGetItem``, ``Let``, ``Function``, ``GlobalVar``;
  ``ir.module.IRModule``. Nodes compare by identity, and every node has its ``type`` from the beginning.
- ``runtime.executor.operators``, which the compiled network runs as well: ``types`` (``TensorType``, of static shape,
  ``TupleType``, ``RelayError``), ``names.Op`` with every operator's name, ``table.OPERATORS`` with its inputs,
  attributes, type relation, fusion pattern and numpy meaning. Attribute classes are frozen dataclasses in the
  operator's own file.
- ``call(Op.CONV2D, (data, weight), Conv2dAttrs(...), origins=(Origin("conv1", "Conv"),))`` makes a call and infers its
  type; a mistake is a ``RelayError`` that names the operator and the origins. ``constant`` makes constants.
- ``ir.traverse``: ``post_order``, ``calls``, ``users``, ``free_vars``; ``ops.rewrite``: ``rewrite``, ``replace_nodes``.
  Both are iterative: a network may be deeper than Python's stack.
- ``interpreter.run(function, inputs)``: the result in numpy; for integer operators it is what every engine must give,
  bit for bit.
- ``integer.to_integers``: float graphs between quantise and dequantise as integer operators.
- TVM's names, among them ``var``, ``const``, ``nn.conv2d``, ``build``, ``transform.FoldConstant``,
  ``frontend.from_onnx`` and every operator, come from ``front`` when they are first used.
- ``to_text``, ``text_and_constants``: text. Passes are functions from ``Function`` to ``Function`` in ``transform``.
"""

import importlib
from collections.abc import Mapping
from typing import Any

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import AnyDim, RelayError, TensorType, TupleType, Type
from vta.relay.interpreter import evaluate, run
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import (
    Call,
    Constant,
    Expr,
    Function,
    FunctionAttrs,
    GlobalVar,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    constant,
)
from vta.relay.ir.origin import Origin
from vta.relay.ops.call import call, call_function, call_global
from vta.relay.text.printer import text_and_constants, to_text

__all__ = [
    "AnyDim", "Attrs", "Call", "Constant", "Expr", "Function", "FunctionAttrs", "GlobalVar", "IRModule", "Let", "Op",
    "Origin", "RelayError", "TensorType", "Tuple", "TupleGetItem", "TupleType", "Type", "Var", "call", "call_function",
    "call_global", "constant", "evaluate", "run", "text_and_constants", "to_text",
]  # fmt: skip

_FRONT: Mapping[str, str] = {
    "Any": "values", "TupleWrapper": "values", "bind_params_by_name": "build", "build": "build", "const": "values",
    "create_executor": "build", "image": "operators", "load_module": "build", "nn": "operators", "qnn": "operators",
    "var": "values",
}  # fmt: skip
"""TVM's name -> the module of ``front`` that has it."""

_FRONT_MODULES = ("frontend", "graph_executor", "quantize")


def __getattr__(name: str) -> Any:  # TVM's names, whatever they are
    if name in _FRONT:
        return getattr(importlib.import_module(f"vta.relay.front.{_FRONT[name]}"), name)
    if name in _FRONT_MODULES:
        return importlib.import_module(f"vta.relay.front.{name}")
    if name in tuple(Op):
        return importlib.import_module("vta.relay.front.operators").FUNCTIONS[name]
    raise AttributeError(f"module 'vta.relay' has no attribute {name!r}")

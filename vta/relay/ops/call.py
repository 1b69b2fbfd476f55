"""Making calls: the type of the result is inferred, and what does not fit is refused by the node's name.

Tests: tests/vta/relay/ops/test_call.py.
"""

from collections.abc import Sequence
from dataclasses import replace

from runtime.executor.operators.attributes import NO_ATTRS, Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import RelayError, TensorType, TupleType, Type, unknown_dims
from vta.relay.ir.nodes import Call, Callee, Expr, Function, GlobalVar, Var
from vta.relay.ir.origin import Origin, where

__all__ = ["call", "call_function", "call_global", "infer_type", "with_args"]


def call(op: Op, args: Sequence[Expr], attrs: Attrs | None = None, origins: tuple[Origin, ...] = ()) -> Call:
    """Return ``op`` applied to ``args``; raises ``RelayError``, naming operator and origins.

    Without ``attrs``, every attribute has its default value.
    """
    try:
        settled = operator(op).attrs_type() if attrs is None else attrs
    except TypeError:
        raise RelayError(f"{where(op, origins)}: its attributes have no defaults; give them") from None
    return Call(op, tuple(args), settled, infer_type(op, args, settled, origins), origins)


def infer_type(op: Op, args: Sequence[Expr], attrs: Attrs, origins: tuple[Origin, ...] = ()) -> Type:
    """Return the type of ``op`` applied to ``args``; raises ``RelayError``, naming operator and origins."""
    types = [_tensor(expr, op, index, origins) for index, expr in enumerate(args)]
    try:
        return operator(op).infer(types, attrs)
    except RelayError as error:
        raise RelayError(f"{where(op, origins)}: {error}") from None


def _tensor(expr: Expr, op: Op, index: int, origins: tuple[Origin, ...]) -> TensorType:
    """Return the type of an argument: a tensor with known dimensions."""
    inputs = operator(op).inputs
    name = inputs[index] if index < len(inputs) and len(inputs) > 1 else f"input {index}"
    if isinstance(expr.type, TupleType):
        raise RelayError(f"{where(op, origins)}: {name} is a tensor, not a tuple, {expr.type}; take one of its values")
    if unknown := unknown_dims(expr.type):
        what = f"{expr.name!r}" if isinstance(expr, Var) else "it"
        raise RelayError(
            f"{where(op, origins)}: {name}, {expr.type}, has the unknown dimension {unknown[0]}; give {what} a shape"
        )
    return expr.type


def call_function(function: Function, args: Sequence[Expr], origins: tuple[Origin, ...] = ()) -> Call:
    """Return the call of ``function``; raises ``RelayError`` if ``args`` are not what its parameters are."""
    given, expected = [arg.type for arg in args], [param.type for param in function.params]
    if given != expected:
        name = function.attrs.name or "a function"
        raise RelayError(
            f"{where(name, origins)}: expected ({', '.join(map(str, expected))}), got ({', '.join(map(str, given))})"
        )
    return Call(function, tuple(args), NO_ATTRS, function.type, origins)


def call_global(name: GlobalVar, function: Function, args: Sequence[Expr], origins: tuple[Origin, ...] = ()) -> Call:
    """Return the call of ``function``, which the module has under ``name``."""
    return replace(call_function(function, args, origins), callee=name)


def with_args(old: Call, args: Sequence[Expr]) -> Call:
    """Return ``old`` with other arguments, itself if they are the same objects; the type is inferred anew."""
    if len(args) == len(old.args) and all(a is b for a, b in zip(args, old.args, strict=True)):
        return old
    if [arg.type for arg in args] == [arg.type for arg in old.args]:
        return replace(old, args=tuple(args))
    callee: Callee = old.callee
    match callee:
        case Op():
            return call(callee, args, old.attrs, old.origins)
        case Function():
            return call_function(callee, args, old.origins)
        case GlobalVar():
            raise RelayError(f"{where(f'@{callee.name}', old.origins)}: the types of its arguments changed")

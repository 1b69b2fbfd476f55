"""Operators as functions under TVM's names, made of the table: ``relay.add(x, y)``, ``relay.nn.conv2d(x, w, ...)``.

A function takes the operator's inputs, then its attributes, by position or name. A number where there are two is both,
lists are tuples, pads may be one, two or four numbers. What TVM lets one say although it follows from the types
(``channels``, ``kernel_size``, ``units``) is checked against them. Tests: tests/vta/relay/front/test_operators.py.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import fields
from types import SimpleNamespace
from typing import TypeAlias, get_args, get_origin, get_type_hints

import numpy as np

from runtime.executor.operators.attribute_values import made
from runtime.executor.operators.names import Op
from runtime.executor.operators.selection import SplitAttrs
from runtime.executor.operators.table import OPERATORS, operator
from runtime.executor.operators.types import RelayError, TensorType, TupleType
from vta.relay.front.values import TupleWrapper, expr_of
from vta.relay.ir.nodes import Call, Expr, Tuple, tensor_type
from vta.relay.ops.call import call

__all__ = ["FUNCTIONS", "image", "nn", "qnn"]

Made: TypeAlias = "Expr | TupleWrapper"
Function: TypeAlias = Callable[..., Made]

_RENAMED = {
    "coordinate_transformation_mode": "coordinates", "rounding_method": "rounding", "bicubic_alpha": "cubic_alpha",
    "bicubic_exclude": "exclude_outside", "extrapolation_value": "extrapolation",
}  # fmt: skip
"""TVM's name of an attribute -> ours."""

_IGNORED: Mapping[Op, tuple[str, ...]] = {
    Op.DROPOUT: ("rate",),
    Op.BATCH_NORM: ("center", "scale"),
    Op.LAYER_NORM: ("center", "scale"),
    Op.TAKE: ("batch_dims", "mode"),
}
"""What says nothing about inference, or must have the value that is meant here (``_DEFAULTS``)."""

_DEFAULTS: Mapping[str, tuple[object, ...]] = {
    "center": (True,), "scale": (True,), "batch_dims": (0,), "mode": ("clip",), "out_layout": ("", None),
    "out_dtype": ("", None),
}  # fmt: skip
"""Attributes of TVM's that may have these values alone."""


def _function(op: Op) -> Function:
    row = operator(op)
    names = [name.removeprefix("*") for name in row.inputs]
    own = [each.name for each in fields(row.attrs_type)]

    def make(*args: object, **given: object) -> Made:
        positions = [*names, *own]
        if len(args) > len(positions):
            raise RelayError(f"{op}: it takes {', '.join(positions)}, not {len(args)} arguments")
        values = dict(zip(positions, args, strict=False))
        for name, value in given.items():
            known = _RENAMED.get(name, name)
            if known in values:
                raise RelayError(f"{op}: {name} is given twice")
            values[known] = value
        inputs = [values.pop(name) for name in names if name in values]
        operands = _operands(op, inputs, variadic=row.inputs[0].startswith("*"))
        checked = {name: values.pop(name) for name in [*values] if name not in own}
        hints = get_type_hints(row.attrs_type)
        try:
            attrs = made(row.attrs_type, {name: _settled(value, hints[name], name) for name, value in values.items()})
        except RelayError as error:
            raise RelayError(f"{op}: {error}") from None
        result = call(op, operands, attrs)
        _check(op, result, checked)
        return TupleWrapper(result) if isinstance(result.type, TupleType) else result

    make.__name__ = make.__qualname__ = str(op).rpartition(".")[2]
    make.__doc__ = f"Return ``{op}({', '.join(row.inputs)})``; attributes: {', '.join(own) or 'none'}."
    return make


def _operands(op: Op, inputs: list[object], *, variadic: bool) -> list[Expr]:
    if not variadic:
        return [expr_of(value) for value in inputs]
    if len(inputs) != 1:
        raise RelayError(f"{op}: it takes a tuple of tensors")
    whole = inputs[0]
    if isinstance(whole, TupleWrapper):
        return list(whole)
    if isinstance(whole, Tuple):
        return list(whole.fields)
    return [expr_of(each) for each in whole] if isinstance(whole, tuple | list) else [expr_of(whole)]


def _settled(value: object, hint: object, name: str) -> object:
    """Return an attribute's value in the form that ``made`` takes."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        value = tuple(_settled(each, None, "") for each in value)
    tuples = [each for each in (hint, *get_args(hint)) if get_origin(each) is tuple]
    if not tuples or value is None:
        return value
    count = len(get_args(tuples[0]))
    wide = get_args(tuples[0])[1:] != (...,)
    if not isinstance(value, tuple):
        return (value,) * (count if wide else 1)
    if name == "padding" and wide and count == 4 and len(value) in (1, 2):
        return (value * 4)[:4]
    return value


def _check(op: Op, result: Call, given: Mapping[str, object]) -> None:
    """Refuse what contradicts the types, and attributes that there are not."""
    for name, value in given.items():
        facts = _facts(op, result)
        if name in _IGNORED.get(op, ()) and name not in _DEFAULTS:
            continue
        if name in facts:
            found = tuple(value) if isinstance(value, list) else value
            found = (found,) * 2 if name == "kernel_size" and isinstance(found, int) else found
            if found is not None and found != facts[name]:
                raise RelayError(f"{op}: {name} is {facts[name]} by the types, not {value}")
        elif name in _DEFAULTS:
            dtype = {"out_dtype": str(result.type.dtype)} if isinstance(result.type, TensorType) else {}
            if value not in (*_DEFAULTS[name], dtype.get(name, "")):
                raise RelayError(f"{op}: {name} is {_DEFAULTS[name][0]!r} here, not {value!r}")
        else:
            names = ", ".join(each.name for each in fields(operator(op).attrs_type))
            raise RelayError(f"{op}: there is no attribute {name!r}; there are {names or 'none'}")


def _facts(op: Op, result: Call) -> dict[str, object]:
    """Return what TVM lets one say although the types say it."""
    if op is Op.DENSE:
        return {"units": tensor_type(result).shape[-1]}
    if op not in (Op.CONV2D, Op.CONV2D_TRANSPOSE):
        return {}
    attrs, kernel = result.attrs, tensor_type(result.args[1]).shape
    data_layout, kernel_layout = (str(getattr(attrs, name)) for name in ("data_layout", "kernel_layout"))
    if len(kernel_layout) != 4 or len(data_layout) != 4:
        return {}
    size = tuple(kernel[kernel_layout.index(letter)] for letter in "HW")
    return {"kernel_size": size, "channels": tensor_type(result).shape[data_layout.index("C")]}


def _batch_norm(
    data: object, gamma: object, beta: object, moving_mean: object, moving_var: object, axis: int = 1,
    epsilon: float = 1e-5, **rest: object,
) -> tuple[Made]:  # fmt: skip
    """Return ``nn.batch_norm`` for inference, as TVM does: the first of a tuple, which has no others here."""
    inputs = (data, gamma, beta, moving_mean, moving_var)
    return (_function(Op.BATCH_NORM)(*inputs, axis=axis, epsilon=epsilon, **rest),)


def _split(data: object, indices_or_sections: int | tuple[int, ...] | list[int], axis: int = 0) -> TupleWrapper:
    """Return parts of ``data``: so many equal ones, or those that begin at these indices."""
    whole = expr_of(data)
    kind = tensor_type(whole)
    if not -kind.rank <= axis < kind.rank:
        raise RelayError(f"split: axis is from {-kind.rank} to {kind.rank - 1}, not {axis}")
    extent = kind.shape[axis]
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1 or extent % indices_or_sections:
            raise RelayError(f"split: {extent} elements are not {indices_or_sections} equal parts")
        sizes = (extent // indices_or_sections,) * indices_or_sections
    else:
        edges = [0, *indices_or_sections, extent]
        sizes = tuple(end - begin for begin, end in itertools.pairwise(edges))
    return TupleWrapper(call(Op.SPLIT, [whole], SplitAttrs(sizes, axis)))


def _quantize(
    data: object, output_scale: object, output_zero_point: object, axis: int = -1, out_dtype: str = "int8"
) -> Made:
    """Return ``qnn.quantize``."""
    return _function(Op.QUANTIZE)(data, output_scale, _as_type(output_zero_point, out_dtype), out_dtype, axis)


def _dequantize(data: object, input_scale: object, input_zero_point: object, axis: int = -1) -> Made:
    """Return ``qnn.dequantize``."""
    dtype = str(tensor_type(expr_of(data)).dtype)
    return _function(Op.DEQUANTIZE)(data, input_scale, _as_type(input_zero_point, dtype), axis)


def _as_type(value: object, dtype: str) -> Expr:
    """Return a zero point of the type of its integers: TVM has it as int32."""
    expr = expr_of(value)
    if tensor_type(expr).dtype == dtype:
        return expr
    cast = _function(Op.CAST)(expr, dtype)
    assert isinstance(cast, Call)
    return cast


_OWN: Mapping[Op, Function] = {Op.SPLIT: _split, Op.BATCH_NORM: _batch_norm}  # type: ignore[dict-item]  # a tuple of one

FUNCTIONS: Mapping[str, Function] = {
    str(op): _OWN.get(op, _function(op)) for op in OPERATORS if not str(op).startswith(("qnn.", "onnx."))
}
"""Operator's name -> what makes a call of it."""


def _room(prefix: str) -> SimpleNamespace:
    found = {name.removeprefix(prefix): make for name, make in FUNCTIONS.items() if name.startswith(prefix)}
    return SimpleNamespace(**found)


nn = _room("nn.")
"""``relay.nn``."""
image = _room("image.")
"""``relay.image``."""
qnn = SimpleNamespace(op=SimpleNamespace(quantize=_quantize, dequantize=_dequantize))
"""``relay.qnn``."""

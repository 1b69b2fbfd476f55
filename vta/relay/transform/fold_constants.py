"""Compute what is known before the graph runs.

Before::

    %0 = add(const<float32>(1.0), const<float32>(2.0));
    %1 = shape_of(%x);
    %2 = multiply(%x, %0);

After::

    %0 = multiply(%x, const<float32>(3.0));

Shapes are static, so ``shape_of`` is always known. A result that is large, and larger than all it is made of, is left
to be computed. Tests: tests/vta/relay/transform/test_fold_constants.py.
"""

import numpy as np

from runtime.executor.operators.names import Op
from runtime.executor.operators.rearrange import ShapeOfAttrs
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import RelayError, TensorType, Type
from vta.relay.ir.nodes import Call, Constant, Expr, Function, Tuple, TupleGetItem, tensor_type
from vta.relay.ir.origin import where
from vta.relay.ops.rewrite import rewrite_function

__all__ = ["fold_constants", "fold_real_constants"]

_LARGE = 1 << 26
"""Bytes from which on a result may not be larger than what it is made of."""


def fold_constants(function: Function) -> Function:
    """Return ``function`` with calls of operators on constants replaced by their results.

    Raises ``RelayError``, naming the node, for one that has no result (an index beyond its data).
    """
    return rewrite_function(function, _folded)


def fold_real_constants(function: Function) -> Function:
    """Return the same, but integers with scales stay what they are: weights of quantised layers are known by them."""
    return rewrite_function(function, lambda expr: expr if _is_dequantised(expr) else _folded(expr))


def _is_dequantised(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.callee is Op.DEQUANTIZE


def _folded(expr: Expr) -> Expr:
    match expr:
        case TupleGetItem(value=Tuple(fields=items)):
            return items[expr.index]
        case Call(callee=Op.SHAPE_OF, attrs=ShapeOfAttrs()):
            return Constant(np.array(tensor_type(expr.args[0]).shape, np.dtype(tensor_type(expr).dtype)))
        case Call(callee=Op() as op, args=args) if all(isinstance(arg, Constant) for arg in args):
            known = [arg for arg in args if isinstance(arg, Constant)]
            return expr if _is_too_large(expr.type, known) else _computed(op, expr, known)
        case _:
            return expr


def _bytes(of: Type) -> int:
    return of.nbytes if isinstance(of, TensorType) else sum(_bytes(each) for each in of.fields)


def _is_too_large(result: Type, operands: list[Constant]) -> bool:
    return _bytes(result) > max(_LARGE, sum(each.type.nbytes for each in operands))


def _computed(op: Op, call: Call, operands: list[Constant]) -> Expr:
    try:
        result = operator(op).evaluate([each.value for each in operands], call.attrs)
    except RelayError as error:
        raise RelayError(f"{where(op, call.origins)}: {error}") from None
    if isinstance(result, tuple):
        return Tuple(tuple(Constant(each) for each in result))
    return Constant(result)

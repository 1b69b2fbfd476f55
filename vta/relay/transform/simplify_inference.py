"""Replace what only training needs by what inference computes.

Before::

    %0 = nn.batch_norm(%x, %gamma, %beta, %mean, %var, epsilon=1e-05);
    %1 = nn.dropout(%0);

After::

    %0 = divide(%gamma, sqrt(add(%var, const<float32>(1e-05))));
    %1 = subtract(%beta, multiply(%mean, %0));
    %2 = add(multiply(%x, expand_dims(%0)), expand_dims(%1));

``%0`` and ``%1`` are constants after ``fold_constants``. Tests: tests/vta/relay/transform/test_simplify_inference.py.
"""

from runtime.executor.operators.names import Op
from runtime.executor.operators.normalise import BatchNormAttrs
from runtime.executor.operators.rearrange import ExpandDimsAttrs
from vta.relay.ir.nodes import Call, Expr, Function, constant, tensor_type
from vta.relay.ops.call import call
from vta.relay.ops.rewrite import rewrite_function

__all__ = ["simplify_inference"]


def simplify_inference(function: Function) -> Function:
    """Return ``function`` without batch normalisation and dropout."""
    return rewrite_function(function, _simplified)


def _simplified(expr: Expr) -> Expr:
    match expr:
        case Call(callee=Op.DROPOUT):
            return expr.args[0]
        case Call(callee=Op.BATCH_NORM, attrs=BatchNormAttrs() as attrs):
            return _scaled_and_shifted(expr, attrs)
        case _:
            return expr


def _scaled_and_shifted(norm: Call, attrs: BatchNormAttrs) -> Expr:
    data, gamma, beta, mean, variance = norm.args
    kind = tensor_type(data)
    origins = norm.origins
    deviation = call(Op.SQRT, [call(Op.ADD, [variance, constant(attrs.epsilon, kind.dtype)])], origins=origins)
    scale = call(Op.DIVIDE, [gamma, deviation], origins=origins)
    shift = call(Op.SUBTRACT, [beta, call(Op.MULTIPLY, [mean, scale], origins=origins)], origins=origins)
    behind = kind.rank - attrs.axis % kind.rank - 1
    spread = [call(Op.EXPAND_DIMS, [each], ExpandDimsAttrs(1, behind), origins) for each in (scale, shift)]
    product = call(Op.MULTIPLY, [data, spread[0]], origins=origins)
    return call(Op.ADD, [product, spread[1]], origins=origins)
